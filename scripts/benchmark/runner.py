"""Runs the cases: inputs made once, programs in turn, each from the same state.

The programs of a case run in turn (A B C A B C ...), so that a slow spell of the machine meets
all of them, after a round that does not count. Inputs are read once before a case, and what was
prepared is flushed before what is measured begins.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from . import process
from .process import Failure

SCRIPTS = str(Path(__file__).resolve().parent)


class Runner:
    def __init__(self, programs, work):
        self.programs = programs
        self.work = Path(work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        os.chdir(self.work)
        self.bases = {}

    def words(self, words, **values):
        """A command as it is run."""
        formatted = [shown_word(word, **values) for word in words]
        starts = {0} | {at + 1 for at, word in enumerate(formatted) if word == "|"}
        return [self.programs.get(word, word) if at in starts else word
                for at, word in enumerate(formatted)]

    def make(self, source):
        """Makes an input and what it needs, once."""
        for other in source.needs:
            self.make(other)
        if source.text is not None:
            Path(source.name).write_text(source.text)
        elif not Path(source.name).exists():
            try:
                process.run(self.words(source.words))
            except Failure:
                Path(source.name).unlink(missing_ok=True)
                raise

    def base(self, command, values):
        """The database that a command begins with, made once for all that begin with the same."""
        key = repr([[shown_word(word, **{**values, "output": ""}) for word in words]
                    for words in command.base])
        if key not in self.bases:
            path = f"base-{len(self.bases)}.db"
            remove_database(path)
            for words in command.base:
                process.run(self.words(words, **{**values, "output": path}))
            flush(path)
            self.bases[key] = path
        return self.bases[key]

    def measure(self, case, runs, record):
        """Calls `record` for every run that counts.

        - Raises: Failure, when a program cannot do what it is asked for.
        """
        inputs = [source for command in case.commands.values()
                  for source in (command.input or case.input, *command.needs)]
        for source in dict.fromkeys(inputs):
            self.make(source)
            warm(source.name)
        rounds = min(runs, case.most_runs or runs)
        for turn in range(0 if case.warm_up else 1, rounds + 1):
            for name, command in case.commands.items():
                for _ in range(command.repeats):
                    values = self.once(case, command)
                    if turn > 0:
                        record(turn, name, values)
                    print(f"  {turn or 'warm-up'} {name}: {values['wall']:.3f} s", file=sys.stderr)

    def once(self, case, command):
        values = dict(input=(command.input or case.input).name, output="measured.db")
        if command.base:
            base = self.base(command, values)
            if command.changes_base:
                shutil.copyfile(base, values["output"])
                flush(values["output"])
            else:
                values["output"] = base
        company = [self.words(words, **values) for words in command.meanwhile]
        try:
            with process.Company(company):
                usage = process.run(self.words(command.words, **values), command.environment)
            return dict(
                wall=usage.wall, cpu=usage.cpu, peak=usage.peak, written=usage.written,
                dirtied=usage.dirtied, file=length(values["output"]),
                produced=length("out.csv"), input_bytes=length(values["input"]),
                **told(usage.output))
        finally:
            remove_database("measured.db")
            Path("out.csv").unlink(missing_ok=True)

    def clean(self):
        """Removes what is large and quickly made again."""
        for path in self.bases.values():
            remove_database(path)
        for path in self.work.iterdir():
            if path.suffix == ".sql" or path.is_file() and path.stat().st_size > 1 << 29:
                path.unlink()


def shown_word(word, **values):
    values["scripts"] = SCRIPTS
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


def told(output):
    """What the program itself says, where it says numbers: a JSON object, or a count alone."""
    try:
        found = json.loads(output)
    except ValueError:
        return {}
    if isinstance(found, int):
        return dict(count=found)
    if not isinstance(found, dict):
        return {}
    return {f"told_{key}": value for key, value in found.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)}


def length(path):
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def flush(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def warm(path):
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass


def remove_database(path):
    for suffix in ("", "-lock", "-temporary", ".wal", "-wal", "-shm", "-journal"):
        Path(path + suffix).unlink(missing_ok=True)
