#!/usr/bin/env python3
"""Peak memory of commands on a large file with a key, by two programs in turn.

    memory.py FOLDER BEFORE AFTER ROUNDS [ROWS]

Makes the inputs in FOLDER (2.1 GB at 10,000,000 rows) with the scripts of this tree and AFTER. Memory is the
kernel's VmHWM of the process, with the mapped pages of files.
"""
import os, shutil, statistics, subprocess, sys, time

folder, before, after, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rows = sys.argv[5] if len(sys.argv) > 5 else "10000000"
keyed = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/benchmark/keyed.py")
os.chdir(folder)


def make():
    def run(*words): subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    run(after, "sample", "--rows", rows, "--shape", "apps", "--output", "apps.csv")
    run("python3", keyed, "base", "apps.csv", "base.csv", "--key", "text")
    os.remove("apps.csv")
    run(after, "sample", "--rows", "1", "--shape", "apps", "--seed", "3", "--output", "one-app.csv")
    run("python3", keyed, "updates", "one-app.csv", "one.csv", "--key", "text", "--among", rows)
    with open("base.csv", "rb") as source, open("shuffled.csv", "wb") as target:
        import random
        lines = [source.readline()] + [source.readline() for _ in range(min(2_000_000, int(rows)))]
        head = lines.pop(0)
        random.Random(1).shuffle(lines)
        target.write(head + b"".join(lines))


def measured(*words):
    began = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, words
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime, time.monotonic() - began


LOAD = ("--into", "t.sheaf", "--table", "t", "--key", "id", "--on-conflict", "update", "--quiet")
CASES = {
    "import": (False, ("import", "base.csv") + LOAD),
    "the same again": (True, ("import", "base.csv") + LOAD),
    "2,000,000 of them, shuffled": (True, ("import", "shuffled.csv") + LOAD),
    "one row": (True, ("import", "one.csv") + LOAD),
    "compact": (True, ("compact", "t.sheaf")),
    "check": (True, ("check", "t.sheaf")),
    "info": (True, ("info", "t.sheaf")),
}
if not os.path.exists("base.csv"):
    make()
if not os.path.exists("base.sheaf"):
    measured(after, "import", "base.csv", "--into", "base.sheaf", *LOAD[2:])
found = {}
for _ in range(rounds):
    for case, (has_base, words) in CASES.items():
        for program in (before, after):
            for name in ("t.sheaf", "t.sheaf-lock"):
                if os.path.exists(name):
                    os.remove(name)
            if has_base:
                shutil.copyfile("base.sheaf", "t.sheaf")
            found.setdefault((case, program), []).append(measured(program, *words))
for case in CASES:
    old, new = (found[case, program] for program in (before, after))
    memory = [statistics.median(run[0] for run in runs) for runs in (old, new)]
    ratios = [statistics.median(n[i] / o[i] for o, n in zip(old, new)) for i in (1, 2)]
    print(f"{case:30} {memory[0]:7.1f} -> {memory[1]:7.1f} MB   processor {ratios[0]:.3f}   wall "
          f"{ratios[1]:.3f}   ({statistics.median(n[1] for n in new):.2f} s, "
          f"{statistics.median(n[2] for n in new):.2f} s)")
print("raw:", {f"{c}, {'before' if p == before else 'after'}":
               [tuple(round(x, 3) for x in r) for r in runs] for (c, p), runs in found.items()})
