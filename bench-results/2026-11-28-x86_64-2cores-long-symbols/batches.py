#!/usr/bin/env python3
"""What imports in batches of several sizes take, before and after: time, processor time, and the file.

    batches.py FOLDER BEFORE AFTER ROUNDS FILE.csv SIZE... [-- OPTION...]

Both programs import the file ROUNDS times in turn, after one round that does not count, with `--compact never`
and the options. Prints a line for each run, then the medians, and the medians of the ratios of neighbours.
"""

import os
import statistics
import subprocess
import sys
import time

arguments, _, options = (lambda all, at: (all[:at], None, all[at + 1:]))(
    sys.argv[1:], sys.argv[1:].index("--") if "--" in sys.argv else len(sys.argv))
folder, before, after, rounds, source = arguments[:5]
sizes = arguments[5:]
target = os.path.join(folder, "batches.sheaf")


def run(program, size):
    for name in os.listdir(folder):
        if name.startswith("batches.sheaf"):
            os.remove(os.path.join(folder, name))
    start = time.monotonic()
    process = subprocess.Popen([program, "import", source, "--into", target, "--compact", "never",
                                "--batch-size", size, "--quiet", *options])
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - start
    if status != 0:
        sys.exit(f"failed: {program}, batches of {size}")
    return took, usage.ru_utime + usage.ru_stime, os.path.getsize(target)


for size in sizes:
    pairs = []
    for number in range(int(rounds) + 1):
        pair = (run(before, size), run(after, size))
        if number:
            pairs.append(pair)
            print(f"run: batches of {size}: {pair[0][0]:.3f}, {pair[1][0]:.3f} s; processor {pair[0][1]:.3f}, "
                  f"{pair[1][1]:.3f} s; {pair[0][2]}, {pair[1][2]} bytes", flush=True)
    median = [[statistics.median(pair[side][part] for pair in pairs) for part in range(3)] for side in (0, 1)]
    ratio = [statistics.median(pair[1][part] / pair[0][part] for pair in pairs) for part in range(3)]
    print(f"| {size} | {median[0][0]:.2f}, {median[1][0]:.2f} s ({ratio[0]:.2f}) "
          f"| {median[0][1]:.2f}, {median[1][1]:.2f} s ({ratio[1]:.2f}) "
          f"| {median[0][2] / 1e6:.1f}, {median[1][2] / 1e6:.1f} MB ({ratio[2]:.2f}) |", flush=True)
