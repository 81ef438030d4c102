"""Pairs of two sheaf programs.

    pairs.py FOLDER BEFORE AFTER ROUNDS [CASE...]

Makes its inputs in FOLDER where they are not there, then prints medians of processor time and of time on the wall,
and the median of the ratios after/before within each round.
"""
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
import uuid


def seconds(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{command}: {done.returncode} {done.stderr[-300:]!r}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.time() - start


folder, programs, rounds, only = sys.argv[1], sys.argv[2:4], int(sys.argv[4]), sys.argv[5:]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
SHAPES = ["apps", "numbers", "uuid", "prose", "quoted", "wide"]


def make_inputs():
    if os.path.exists("keyed.csv"):
        return
    with open("apps.csv", "w") as out:
        subprocess.run([programs[1], "sample", "--rows", "400000"], stdout=out, check=True)
    with open("apps.csv") as apps, open("small.csv", "w") as out:
        out.writelines(line for _, line in zip(range(20_001), apps))
    r = random.Random(3)
    with open("numbers.csv", "w") as o:
        o.write(",".join(f"n{i}" for i in range(20)) + "\n")
        for k in range(150_000):
            o.write(",".join([str(k)] + [
                f"{r.random() * 10 ** r.randint(0, 5):.{r.randint(0, 4)}f}" if i % 2 else str(r.randint(-10**6, 10**6))
                for i in range(19)]) + "\n")
    with open("uuid.csv", "w") as o:
        o.write("a,b,n\n")
        for k in range(400_000):
            o.write(f"{uuid.UUID(int=r.getrandbits(128))},{uuid.UUID(int=r.getrandbits(128))},{k}\n")
    words = ["".join(r.choice("etaoinshrdlucmfwyp") for _ in range(r.randint(2, 9))) for _ in range(4000)]
    with open("prose.csv", "w") as o:
        o.write("id,title,text\n")
        for k in range(60_000):
            title, text = (" ".join(r.choice(words) for _ in range(n)) for n in (6, 90))
            o.write(f'{k},{title},"{text}, and ""so"" on."\n')
    with open("quoted.csv", "w") as o:
        o.write("id,name,note\n")
        for k in range(400_000):
            a, b, c, d = (r.choice(words) for _ in range(4))
            o.write(f'{k},"{a}, {b}","line {c}\nsecond ""{d}"" line"\n')
    with open("wide.csv", "w") as o:
        o.write(",".join(f"c{i}" for i in range(200)) + "\n")
        for k in range(15_000):
            o.write(",".join(str(r.randint(0, 999)) if i % 3 else r.choice(words) for i in range(200)) + "\n")
    keys = list(range(400_000))
    r.shuffle(keys)
    with open("keyed.csv", "w") as o:
        o.write("key,a,b\n")
        for k in keys:
            o.write(f"k{k:09d},{r.random():.4f},{r.choice(words)}\n")


def clean():
    for name in os.listdir("."):
        if name.startswith("o."):
            os.remove(name)


def pair(name, *words, copy=None):
    if only and not any(part in name for part in only):
        return
    processor, wall = ([], []), ([], [])
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            clean()
            if copy:
                shutil.copy(copy, "o.sheaf")
            used, passed = seconds([programs[which], *words])
            processor[which].append(used)
            wall[which].append(passed)
    shown = []
    for figures in processor, wall:
        ratio = statistics.median(after / before for before, after in zip(*figures))
        shown += [1000 * statistics.median(side) for side in figures] + [ratio]
    print("%-22s processor %8.1f %8.1f ms %.3f   wall %8.1f %8.1f ms %.3f" % (name, *shown), flush=True)


make_inputs()
for shape in SHAPES:
    pair(f"import {shape}", "import", f"{shape}.csv", "--into", "o.sheaf", "--quiet")
pair("import apps full", "import", "apps.csv", "--into", "o.sheaf", "--quiet", "--durability", "full")
pair("import small by 10", "import", "small.csv", "--into", "o.sheaf", "--quiet", "--batch-size", "10")
pair("import keyed", "import", "keyed.csv", "--into", "o.sheaf", "--quiet", "--key", "key")
# Files that the earlier program has made are read by both.
for shape in SHAPES + ["keyed"]:
    key = ["--key", "key"] if shape == "keyed" else []
    if not os.path.exists(f"base-{shape}.sheaf"):
        into = ["--into", f"base-{shape}.sheaf", "--quiet", "--compact", "never"]
        seconds([programs[0], "import", f"{shape}.csv", *into, *key])
for shape in SHAPES:
    pair(f"compact {shape}", "compact", "o.sheaf", "--quiet", copy=f"base-{shape}.sheaf")
for shape in ("apps", "uuid", "prose", "numbers"):
    pair(f"export {shape}", "export", f"base-{shape}.sheaf", "--output", "o.csv")
pair("query number", "query", "base-apps.sheaf", "Rating >= 4.5", "--count")
pair("query text", "query", "base-apps.sheaf", 'Category == "GAME"', "--count")
pair("check", "check", "base-apps.sheaf")
pair("info", "info", "base-uuid.sheaf")
pair("keyed again", "import", "keyed.csv", "--into", "o.sheaf", "--table", "keyed", "--on-conflict", "update",
     "--quiet", copy="base-keyed.sheaf")
