#!/usr/bin/env python3
"""Exports, keyed imports and an import of one row with two programs in turn: whole processes, on the wall and
in processor time.

    exports.py FOLDER BEFORE AFTER ROUNDS [LARGE ONE]

FOLDER gets the inputs and databases, which are made by BEFORE. LARGE is a database of 10,000,000 keyed rows,
ONE an input of one row that is among them (`scripts/benchmark/keyed.py`); without them, that part is left out.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "benchmark"
SHAPES = [("apps", 1_000_000), ("numbers", 1_000_000), ("text", 200_000), ("uuid", 1_000_000),
          ("quoted", 1_000_000), ("wide", 50_000)]


def run(words, out=subprocess.DEVNULL):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, check=True, stdout=out, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name, programs, rounds, command, prepare=lambda: None, size=None):
    """Prints medians and the median of the ratios within each round."""
    found = {program: [] for program in programs}
    for round in range(-1, rounds):
        for program in programs:
            prepare()
            took = run(command(program))
            if round >= 0:
                found[program].append(took)
    parts = [name]
    for what, unit in ((0, "wall"), (1, "processor")):
        old, new = ([took[what] for took in found[program]] for program in programs)
        ratio = statistics.median(b / a for a, b in zip(old, new))
        parts.append(f"{unit} {statistics.median(old):.4f} {statistics.median(new):.4f} {ratio:.3f}")
    if size:
        rate = size / statistics.median(took[0] for took in found[programs[1]]) / 1e6
        parts.append(f"{rate:.0f} MB/s")
    print(" | ".join(parts), flush=True)


def remove(*paths):
    def act():
        for path in paths:
            Path(path).unlink(missing_ok=True)
    return act


def main():
    folder, before, after, rounds = sys.argv[1:5]
    large = sys.argv[5:]
    programs, rounds = [os.path.abspath(before), os.path.abspath(after)], int(rounds)
    large = [os.path.abspath(path) for path in large]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for shape, rows in SHAPES:
        source = f"{shape}.csv"
        if not os.path.exists(source):
            if shape in ("apps", "numbers", "text"):
                run([programs[0], "sample", "--rows", str(rows), "--shape", shape, "--output", source])
            else:
                run(["python3", str(SCRIPTS / "shapes.py"), shape, source, "--rows", str(rows)])
        size = os.path.getsize(source)
        for kind in ("imported", "compacted"):
            base = f"{kind}-{shape}.sheaf"
            remove(base)()
            run([programs[0], "import", source, "--into", base, "--table", "t", "--compact", "never"])
            if kind == "compacted":
                run([programs[0], "compact", base])
            compare(f"{shape} {kind}, thrown away", programs, rounds, lambda p: [p, "export", base], size=size)
            compare(f"{shape} {kind}, into a new file", programs, rounds,
                    lambda p: [p, "export", base, "--output", "out.csv"], remove("out.csv"), size)
    if not os.path.exists("keyed.csv"):
        run(["python3", str(SCRIPTS / "keyed.py"), "base", "apps.csv", "keyed.csv", "--key", "text"])
    keyed = ["--into", "k.sheaf", "--table", "t", "--key", "id", "--on-conflict", "update", "--quiet"]
    compare("keyed import", programs, rounds, lambda p: [p, "import", "keyed.csv", *keyed], remove("k.sheaf"))
    compare("keyed, again", programs, rounds, lambda p: [p, "import", "keyed.csv", *keyed])
    if large:
        shutil.copyfile(large[0], "l.sheaf")
        os.sync()
        words = ["import", large[1], "--into", "l.sheaf", *keyed[2:]]
        compare("one row of 10,000,000", programs, 4 * rounds, lambda p: [p, *words])


main()
