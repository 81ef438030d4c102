#!/usr/bin/env python3
"""What imports of narrow rows, single writes and compactions take, before and after.

    pairs.py FOLDER BEFORE AFTER ROUNDS [CASE...]

BEFORE and AFTER are folders with `sheaf` and `WriteBenchmark`. Both programs of a case run ROUNDS times in turn,
after a round that does not count; the order changes with each round. The inputs are made in FOLDER if they are
not there: `narrow-*.csv` by this script; `apps.csv`, `flights.csv` and others are used as they are found there.
Prints a line for each run, then the medians, and the medians of the ratios of neighbours.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

folder, before, after, rounds = sys.argv[1:5]
chosen = sys.argv[5:]
scratch = os.path.join(folder, "pairs")
target = os.path.join(scratch, "t.sheaf")


def narrow(name):
    path = os.path.join(folder, f"narrow-{name}.csv")
    if os.path.exists(path):
        return path
    chance = random.Random(5)
    words = ["alpha", "beta", "gamma", "delta", "omega"]
    with open(path, "w") as file:
        if name == "integers":
            file.write("n\n")
            for _ in range(6_000_000):
                file.write(f"{chance.randrange(1_000_000)}\n")
        elif name == "nulls":
            file.write("a,b,c,d\n")
            for _ in range(4_000_000):
                fields = [str(chance.randrange(1000)) if chance.random() < 0.2 else "" for _ in range(3)]
                file.write(",".join(fields) + f",x{chance.randrange(50)}\n")
        else:
            file.write("a,b,c\n")
            for _ in range(3_000_000):
                file.write(f'{chance.choice(words)},"{chance.choice(words)}",{chance.randrange(1000)}\n')
    return path


def run(words):
    start = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {words}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, output


def clean():
    shutil.rmtree(scratch, ignore_errors=True)
    os.mkdir(scratch)


def importing(path, *words):
    def once(programs):
        clean()
        return run([f"{programs}/sheaf", "import", path, "--into", target, "--compact", "never", "--quiet", *words])[:2]
    return once


def writing(*words):
    def once(programs):
        clean()
        wall, processor, output = run([f"{programs}/WriteBenchmark", target, *words])
        took = json.loads(output)
        return took["wall_ns"] / 1000, took["processor_ns"] / 1000
    return once


def compacting(path):
    kept = os.path.join(folder, "pairs-" + os.path.basename(path) + ".sheaf")

    def once(programs):
        if not os.path.exists(kept):
            run([f"{before}/sheaf", "import", path, "--into", kept, "--compact", "never", "--quiet"])
        clean()
        shutil.copyfile(kept, target)
        return run([f"{programs}/sheaf", "compact", target, "--quiet"])[:2]
    return once


cases = {}
for name in ["integers", "nulls", "quoted"]:
    cases[f"import {name}"] = lambda name=name: importing(narrow(name))
for name in ["apps", "flights6", "numbers", "small"]:
    cases[f"import {name}"] = lambda name=name: importing(os.path.join(folder, f"{name}.csv"))
cases["import without flushes"] = lambda: importing(os.path.join(folder, "small.csv"), "--durability", "none")
for durability in ["none", "group"]:
    words = ["single", "--durability", durability, "--rows", "20000"]
    cases[f"single {durability}, µs"] = lambda words=words: writing(*words)
cases["many arrays, µs"] = lambda: writing("many", "--rows", "100000")
cases["many codable, µs"] = lambda: writing("many", "--values", "codable", "--rows", "100000")
for name in ["flights6", "apps", "numbers", "uuid", "small"]:
    cases[f"compact {name}"] = lambda name=name: compacting(os.path.join(folder, f"{name}.csv"))

for name, make in cases.items():
    if chosen and not any(word in name for word in chosen):
        continue
    once = make()
    pairs = []
    for number in range(int(rounds) + 1):
        order = [before, after] if number % 2 else [after, before]
        took = {programs: once(programs) for programs in order}
        if number:
            pair = (took[before], took[after])
            pairs.append(pair)
            print(f"run: {name}: wall {pair[0][0]:.3f}, {pair[1][0]:.3f}; processor {pair[0][1]:.3f}, {pair[1][1]:.3f}",
                  flush=True)
    median = [[statistics.median(pair[side][part] for pair in pairs) for part in (0, 1)] for side in (0, 1)]
    ratio = [statistics.median(pair[1][part] / pair[0][part] for pair in pairs) for part in (0, 1)]
    print(f"| {name} | {median[0][0]:.3f}, {median[1][0]:.3f} ({ratio[0]:.2f}) "
          f"| {median[0][1]:.3f}, {median[1][1]:.3f} ({ratio[1]:.2f}) |", flush=True)
