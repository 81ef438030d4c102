"""summary.md: the table of what is to be reached, then each case with its commands."""

import datetime
import statistics

from . import goals, process
from .runner import SCRIPTS, shown_word
from .cases import OURS, PEERS


def spread(values, form="{:.3f}"):
    return f"{form.format(min(values))}–{form.format(max(values))}"


def peak_text(count):
    smallest = process.floor_bytes() * 1.05
    return ("≤ " if count <= smallest else "") + goals.megabytes(count)


def case_table(results, case):
    name_of = case.name
    compared = any(name in PEERS for name in case.commands) and OURS in case.commands
    counted = any(command.rows for command in case.commands.values())
    told = [key for key in ("count", "told_seconds_per_pair", "told_lookup_p50_ns",
                            "told_lookup_p99_ns", "told_lookup_max_ns", "told_read_ns",
                            "told_rows", "told_wall_ns", "told_processor_ns",
                            *(key for key, _ in goals.SERIAL if case.name == "serial"))
            if any(results.values(name_of, program, key) for program in case.commands)]
    yield ("| | wall | range | user + system | peak memory | file | written |"
           + (" µs per object |" if counted else "")
           + (" sheaf's wall / its wall |" if compared else "")
           + "".join(f" {key.removeprefix('told_').replace('_', ' ')} |" for key in told))
    yield "|---|---|---|---|---|---|---|" + "---|" * (counted + compared + len(told))
    for name, command in case.commands.items():
        wall = results.values(name_of, name, "wall")
        if not wall:
            continue
        written = results.median(name_of, name, "written")
        line = (f"| {name} | {statistics.median(wall):.3f} s | {spread(wall)} "
                f"| {results.median(name_of, name, 'cpu'):.3f} s "
                f"| {peak_text(results.median(name_of, name, 'peak'))} "
                f"| {goals.megabytes(results.median(name_of, name, 'file'))} "
                f"| {'' if written is None else goals.megabytes(written)} |")
        if counted:
            each = statistics.median(wall) / command.rows * 1e6 if command.rows else None
            line += " |" if each is None else f" {each:.3f} |"
        if compared:
            found = results.ratios(name_of, OURS, name)
            line += " |" if name not in PEERS or not found else (
                f" {statistics.median(found):.2f} ({spread(found, '{:.2f}')}) |")
        for key in told:
            value = results.median(name_of, name, key)
            line += " |" if value is None else f" {value:.6g} |"
        yield line


def commands(case):
    """Every command as it is run, with those that prepare it."""
    made = {}

    def make(source):
        for other in source.needs:
            make(other)
        if source.text is not None:
            lines = source.text.splitlines()
            made[source.name] = [f"# {source.name}:"] + [f"#   {line}" for line in lines[:7]] + [
                f"#   ... {len(lines)} lines"]
        else:
            made[source.name] = [shown(source.words)]

    for command in case.commands.values():
        for source in (command.input or case.input, *command.needs):
            make(source)
    for lines in made.values():
        yield from lines
    shown_bases = set()
    for name, command in case.commands.items():
        values = dict(input=(command.input or case.input).name,
                      output="base.db" if command.base and not command.changes_base
                      else "measured.db")
        for words in command.base:
            line = shown(words, **values) + "  # before, not measured"
            if line not in shown_bases:
                shown_bases.add(line)
                yield line
        for words in command.meanwhile:
            yield shown(words, **values) + " &"
        yield " ".join((*command.environment, shown(command.words, **values))) + f"  # {name}"


def shown(words, **values):
    def quoted(word):
        if word == "|" or all(letter.isalnum() or letter in "-_./,:" for letter in word):
            return word
        return "'" + word.replace("'", "'\\''") + "'"
    words = [shown_word(word, **values) for word in words]
    return " ".join(quoted(word).replace(SCRIPTS, "scripts/benchmark") for word in words)


def lines(results, cases, facts, runs, load, scale):
    yield f"# {datetime.date.today().isoformat()}"
    yield ""
    if scale != 1:
        yield (f"**A trial of the benchmark with {scale:g} of the rows: its figures say nothing "
               "about what is to be reached.**\n")
    yield from goals.table(results)
    yield ""
    yield "| | |\n|---|---|"
    for key, value in facts:
        yield f"| {key} | {value} |"
    yield f"| load | {load[0]:.2f} before, {load[1]:.2f} after |"
    yield (f"| runs | {runs} of each (2 of those for memory alone), in turn, after one that does "
           "not count |")
    yield ""
    yield ("Whole processes, medians. Ratios are taken within each round: median (range); below 1 "
           "sheaf is faster. Files and inputs are in the page cache. *Written* is what the "
           "process gave to write calls, as the kernel counts it (`wchar`): temporary files and "
           "logs too. Peaks marked ≤ are no larger than the measuring "
           "program's own, below which none can be told. A miss is given as a multiple of what is "
           "allowed. All data is in [raw.csv](raw.csv).")
    yield ""
    yield "![chart](chart.svg)"
    for case in cases:
        yield f"\n## {case.title}\n"
        if case.name in results.failures:
            yield f"Not measured: {results.failures[case.name]}."
        else:
            yield from case_table(results, case)
        if case.note:
            yield f"\n{case.note}"
        yield ""
        for line in commands(case):
            yield f"    {line}"
