"""The measuring half of scripts/bench, which prepares the programs and passes them here.

Every case runs its programs in turn (A B C A B C ...), so that a slow spell of the machine meets
all of them, after a warm-up round that does not count. A program is measured from the outside as a
whole process: wall time, user and system time and peak memory as the kernel counts them (wait4),
and the length of the file it leaves behind. Ratios are taken within each round.
"""

import argparse
import csv
import datetime
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

# The cases

# In commands, {input} is the CSV file and {output} the database file; both are paths relative to
# the folder the programs run in. The first word names a program of `PROGRAMS`.

IMPORT = {
    "sheaf": ["sheaf", "import", "{input}", "--into", "{output}", "--batch-size", "1000",
              "--quiet"],
    "sqlite3": ["sqlite3", "{output}", ".import --csv {input} t"],
    "duckdb": ["duckdb", "{output}", "-c", "create table t as select * from read_csv('{input}')"],
    "duckdb (Python)": [
        "python",
        "-c",
        "import duckdb; c = duckdb.connect('{output}'); "
        "c.execute(\"create table t as select * from read_csv('{input}')\"); c.close()",
    ],
}

COMPACT = {
    "sheaf": ["sheaf", "compact", "{output}", "--quiet"],
    "sqlite3": ["sqlite3", "{output}", "vacuum"],
}

EXPORT = {
    "sheaf": ["sheaf", "export", "{output}", "--output", "out.csv"],
    "sqlite3": ["sqlite3", "-csv", "-header", "{output}", ".once out.csv", "select * from t"],
    "duckdb": ["duckdb", "{output}", "-c", "copy t to 'out.csv'"],
}

# name: rows and shape of the input; the commands measured; those that come before each, not
# measured; what sheaf has to reach (wall ratio to each peer, peak memory and file in bytes).
CASES = {
    "import-47472": dict(
        title="Import of 47,472 rows", rows=47_472, shape="apps", commands=IMPORT,
        goals=dict(ratio=1.0, file=3_000_000)),
    "import-1000000": dict(
        title="Import of 1,000,000 rows", rows=1_000_000, shape="apps", commands=IMPORT,
        goals=dict(ratio=1.0, memory=128_000_000)),
    "compact-1000000": dict(
        title="Compaction after the import of 1,000,000 rows", rows=1_000_000, shape="apps",
        commands=COMPACT, before=IMPORT),
    "export-1000000": dict(
        title="Export of 1,000,000 rows", rows=1_000_000, shape="apps", commands=EXPORT,
        before=IMPORT),
    "import-numbers": dict(
        title="Import of 500,000 rows of 20 numbers", rows=500_000, shape="numbers",
        commands=IMPORT),
    "import-text": dict(
        title="Import of 100,000 rows of prose", rows=100_000, shape="text", commands=IMPORT),
}
STANDARD = ["import-47472", "import-1000000"]
OURS = "sheaf"

# Running


def peak_bytes(usage):
    """Peak memory: ru_maxrss counts kilobytes on Linux, bytes on macOS."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def floor_bytes():
    """A process begins as a copy of this one, so no smaller peak can be told."""
    return peak_bytes(resource.getrusage(resource.RUSAGE_SELF))


class Bench:
    def __init__(self, options):
        self.programs = {
            "sheaf": options.sheaf,
            "sqlite3": options.sqlite3,
            "duckdb": options.duckdb,
            "python": options.duckdb_python,
        }
        self.work = Path(options.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        os.chdir(self.work)

    def input(self, case):
        """The case's CSV file, made once."""
        path = Path(f"{case['shape']}-{case['rows']}.csv")
        if not path.exists():
            self.run(["sheaf", "sample", "--rows", str(case["rows"]), "--shape", case["shape"],
                      "--output", str(path)])
        return path

    def run(self, words):
        """Runs to the end and returns wall seconds, user + system seconds, and peak bytes."""
        sys.stdout.flush()
        path = self.programs[words[0]]
        null = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)]
        began = time.perf_counter()
        child = os.posix_spawn(path, [path] + words[1:], os.environ, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - began
        os.close(null)
        if status != 0:
            sys.exit(f"{' '.join(words)} failed (wait status {status})")
        return wall, usage.ru_utime + usage.ru_stime, peak_bytes(usage)

    def measure(self, case, runs, record):
        source = self.input(case)
        for turn in range(runs + 1):
            for name, words in case["commands"].items():
                output = f"{name.split()[0]}.db"
                self.remove(output)
                values = dict(input=source, output=output)
                if "before" in case:
                    self.run([word.format(**values) for word in case["before"][name]])
                wall, cpu, peak = self.run([word.format(**values) for word in words])
                if turn > 0:
                    record(turn, name, wall, cpu, peak, os.path.getsize(output))
                print(f"  {'warm-up' if turn == 0 else turn} {name}: {wall:.3f} s", file=sys.stderr)
                self.remove(output)

    @staticmethod
    def remove(output):
        for name in (output, output + "-lock", output + ".wal", output + "-journal", "out.csv"):
            Path(name).unlink(missing_ok=True)


# What the machine is


def first_line(words):
    try:
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return text.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def from_file(path, key):
    try:
        for line in Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.split(":" if ":" in line else "=", 1)[1].strip().strip('"')
    except OSError:
        pass
    return "unknown"


def machine(options):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    revision = first_line(["git", "rev-parse", "--short", "HEAD"])
    changed = first_line(["git", "status", "--porcelain", "Sources", "Package.swift"])
    return [
        ("processor", f"{from_file('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, "
                      f"{platform.machine()}"),
        ("memory", f"{memory / 2**30:.1f} GiB"),
        ("system", f"{from_file('/etc/os-release', 'PRETTY_NAME')}, "
                   f"{platform.system()} {platform.release()}"),
        ("sheaf", f"{first_line([options.sheaf, '--version'])}, revision {revision}"
                  + ("" if changed == "unknown" else " with changes")),
        ("swift", first_line(["swift", "--version"])),
        ("sqlite3", first_line([options.sqlite3, "--version"]).split(" ")[0]),
        ("duckdb", first_line([options.duckdb, "--version"])),
        ("duckdb (Python)",
         first_line([options.duckdb_python, "-c",
                     "import duckdb, platform; "
                     "print(duckdb.__version__, 'on Python', platform.python_version())"])),
    ]


# Writing


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


def peak_text(count):
    return f"≤ {megabytes(count)}" if count <= floor_bytes() * 1.05 else megabytes(count)


def spread(values, form="{:.3f}"):
    return f"{form.format(min(values))}–{form.format(max(values))}"


def column(rows, case, name, key):
    return [row[key] for row in rows if row["case"] == case and row["program"] == name]


def ratios(rows, case, peer):
    """Our wall time by the peer's, round by round."""
    pairs = zip(column(rows, case, OURS, "wall"), column(rows, case, peer, "wall"))
    return [ours / theirs for ours, theirs in pairs]


def table(rows, case):
    names = list(CASES[case]["commands"])
    yield "| | wall | range | user + system | peak memory | file | sheaf's wall / its wall |"
    yield "|---|---|---|---|---|---|---|"
    for name in names:
        wall = column(rows, case, name, "wall")
        compared = "" if name == OURS else "{:.2f} ({})".format(
            statistics.median(ratios(rows, case, name)),
            spread(ratios(rows, case, name), "{:.2f}"))
        yield (f"| {name} | {statistics.median(wall):.3f} s | {spread(wall)} "
               f"| {statistics.median(column(rows, case, name, 'cpu')):.3f} s "
               f"| {peak_text(statistics.median(column(rows, case, name, 'peak')))} "
               f"| {megabytes(statistics.median(column(rows, case, name, 'file')))} "
               f"| {compared} |")


def goals(rows, case):
    wanted = CASES[case].get("goals", {})
    if "ratio" in wanted:
        for name in CASES[case]["commands"]:
            if name == OURS:
                continue
            found = statistics.median(ratios(rows, case, name))
            yield found <= wanted["ratio"], f"not slower than {name}: {found:.2f} of its time"
    if "memory" in wanted:
        found = max(column(rows, case, OURS, "peak"))
        yield (found <= wanted["memory"],
               f"peak memory {megabytes(found)}, at most {megabytes(wanted['memory'])}")
    if "file" in wanted:
        found = max(column(rows, case, OURS, "file"))
        yield found <= wanted["file"], f"file {megabytes(found)}, at most {megabytes(wanted['file'])}"


def summary(rows, cases, facts, runs, load):
    yield f"# {datetime.date.today().isoformat()}"
    yield ""
    yield "| | |\n|---|---|"
    for key, value in facts:
        yield f"| {key} | {value} |"
    yield f"| load | {load[0]:.2f} before, {load[1]:.2f} after |"
    yield f"| runs | {runs} of each, in turn, after one that does not count |"
    yield ""
    yield ("Whole processes, medians. Ratios are taken within each round: median (range); below 1 "
           "sheaf is faster. Python's own start is in the times of duckdb (Python). Peaks marked ≤ "
           "are no larger than the measuring program's own, below which none can be told. "
           "All data is in [raw.csv](raw.csv).")
    yield ""
    yield "![chart](chart.svg)"
    for case in cases:
        source = f"{CASES[case]['shape']}-{CASES[case]['rows']}.csv"
        yield f"\n## {CASES[case]['title']}\n"
        yield from table(rows, case)
        reached = list(goals(rows, case))
        if reached:
            yield ""
        for is_reached, what in reached:
            yield f"- {'reached' if is_reached else '**missed**'}: {what}"
        yield "\n    " + shown(["sheaf", "sample", "--rows", str(CASES[case]["rows"]), "--shape",
                                CASES[case]["shape"], "--output", source])
        for name, words in CASES[case]["commands"].items():
            values = dict(input=source, output=f"{name.split()[0]}.db")
            if "before" in CASES[case]:
                before = CASES[case]["before"][name]
                yield "    " + shown([word.format(**values) for word in before]) + "  # not measured"
            yield "    " + shown([word.format(**values) for word in words])


def shown(words):
    def quoted(word):
        if all(letter.isalnum() or letter in "-_./," for letter in word):
            return word
        return "'" + word.replace("'", "'\\''") + "'"
    return " ".join(quoted(word) for word in words)


def chart(rows, cases):
    """Bars for each case and program: wall time (with its range), peak memory, file."""
    panels = [("wall", "seconds", 1), ("peak", "peak memory, MB", 1e6), ("file", "file, MB", 1e6)]
    left, width, bar, gap = 120, 210, 16, 6
    parts = []
    y = 30
    for case in cases:
        names = list(CASES[case]["commands"])
        parts.append(f'<text class="title" x="10" y="{y}">{CASES[case]["title"]}</text>')
        y += 18
        for panel, (key, label, unit) in enumerate(panels):
            x = left + panel * (width + 60)
            parts.append(f'<text class="label" x="{x}" y="{y}">{label}</text>')
            top = max(max(column(rows, case, name, key)) for name in names) / unit
            for index, name in enumerate(names):
                values = [value / unit for value in column(rows, case, name, key)]
                middle, line = statistics.median(values), y + 10 + index * (bar + gap)
                long = middle / top * (width - 45)
                kind = "ours" if name == OURS else "other"
                if panel == 0:
                    parts.append(f'<text x="{left - 8}" y="{line + 12}" text-anchor="end">'
                                 f"{name}</text>")
                parts.append(f'<rect class="{kind}" x="{x}" y="{line}" width="{long:.1f}" '
                             f'height="{bar}" rx="2"/>')
                low, high = (x + edge / top * (width - 45) for edge in (min(values), max(values)))
                if panel == 0:
                    parts.append(f'<path class="range" d="M{low:.1f} {line + bar / 2}H{high:.1f}"/>')
                text = f"{middle:.2f}" if panel == 0 else f"{middle:.1f}"
                if key == "peak" and peak_text(middle * unit).startswith("≤"):
                    text = f"≤ {text}"
                parts.append(f'<text x="{max(x + long, high if panel == 0 else 0) + 5:.1f}" '
                             f'y="{line + 12}">{text}</text>')
        y += 10 + len(names) * (bar + gap) + 26
    total = left + 3 * (width + 60) - 30
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {y - 16}" \
width="{total}" height="{y - 16}" role="img" aria-label="Times, memory and file sizes">
<style>
  svg {{ background: #ffffff; font: 12px system-ui, sans-serif }}
  text {{ fill: #24292f }} .title {{ font-weight: 600; font-size: 14px }} .label {{ fill: #57606a }}
  .ours {{ fill: #1a7f5a }} .other {{ fill: #afb8c1 }} .range {{ stroke: #24292f; stroke-width: 1.5 }}
  @media (prefers-color-scheme: dark) {{
    svg {{ background: #0d1117 }} text {{ fill: #e6edf3 }} .label {{ fill: #8d96a0 }}
    .ours {{ fill: #3fb98a }} .other {{ fill: #545d68 }} .range {{ stroke: #e6edf3 }}
  }}
</style>
{chr(10).join(parts)}
</svg>
"""


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measures sheaf beside sqlite3 and DuckDB.")
    parser.add_argument("--runs", type=int, default=7, help="measured runs of each (7)")
    parser.add_argument("--case", action="append", choices=[*CASES, "all"],
                        help=f"may be repeated; default: {', '.join(STANDARD)}")
    parser.add_argument("--host", default=f"{platform.machine()}-{os.cpu_count()}cores",
                        help="names the machine in the folder of results (%(default)s)")
    parser.add_argument("--out", help="folder of results (bench-results/DATE-HOST)")
    parser.add_argument("--work", default=".build-bench/work", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="list the cases and end")
    for name in ("--sheaf", "--sqlite3", "--duckdb", "--duckdb-python"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        for name, case in CASES.items():
            print(f"{name:<16} {case['title']}")
        return
    if options.runs < 5:
        print("fewer than 5 runs say little", file=sys.stderr)
    cases = options.case or STANDARD
    if "all" in cases:
        cases = list(CASES)
    out = Path(options.out or f"bench-results/{datetime.date.today().isoformat()}-{options.host}")
    out = out.resolve()
    facts = machine(options)
    rows, before = [], os.getloadavg()[0]
    bench = Bench(options)
    for case in cases:
        print(CASES[case]["title"], file=sys.stderr)

        def record(turn, name, wall, cpu, peak, size):
            rows.append(dict(case=case, run=turn, program=name, wall=wall, cpu=cpu, peak=peak,
                             file=size, load=os.getloadavg()[0]))

        bench.measure(CASES[case], options.runs, record)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with open(out / "raw.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "run", "program", "wall_seconds", "user_and_system_seconds",
                         "peak_memory_bytes", "file_bytes", "load"])
        for row in rows:
            writer.writerow([row["case"], row["run"], row["program"], f"{row['wall']:.4f}",
                             f"{row['cpu']:.4f}", row["peak"], row["file"], f"{row['load']:.2f}"])
    load = (before, os.getloadavg()[0])
    (out / "summary.md").write_text(
        "\n".join(summary(rows, cases, facts, options.runs, load)) + "\n")
    (out / "chart.svg").write_text(chart(rows, cases))
    print((out / "summary.md").read_text())


if __name__ == "__main__":
    main()
