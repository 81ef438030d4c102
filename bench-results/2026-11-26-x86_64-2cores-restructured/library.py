"""Pairs of two builds of what scripts/bench reads and writes with through the library.

    library.py FOLDER BEFORE AFTER ROUNDS

BEFORE and AFTER are folders with ReadBenchmark, WriteBenchmark and PointLookups; FOLDER has a.sheaf, a million app
rows as BEFORE's program imports them, and c.sheaf, the same compacted. Prints medians of what each program says, and
the median of the ratios after/before within each round.
"""
import glob
import json
import os
import statistics
import subprocess
import sys

folder, programs, rounds = sys.argv[1], sys.argv[2:4], int(sys.argv[4])
os.chdir(folder)


def pair(name, key, program, *words):
    told = ([], [])
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            for file in glob.glob("w.sheaf*"):
                os.remove(file)
            done = subprocess.run([f"{programs[which]}/{program}", *words], stdout=subprocess.PIPE, check=True)
            told[which].append(json.loads(done.stdout)[key])
    ratio = statistics.median(after / before for before, after in zip(*told))
    print("%-28s %9.0f %9.0f ns %.3f" % (name, *(statistics.median(side) for side in told), ratio), flush=True)


for file, what in ("a.sheaf", ""), ("c.sheaf", ", compacted"):
    for kind, values in ("lookup", "copied"), ("scan", "copied"), ("scan", "viewed"), ("count", "copied"):
        pair(f"{kind} {values}{what}", "read_ns", "ReadBenchmark", file, kind, "--values", values, "--seconds", "1")
pair("notify", "read_ns", "ReadBenchmark", "a.sheaf", "notify", "--values", "copied", "--seconds", "1")
for key in "lookup_p50_ns", "lookup_p99_ns", "refresh_p50_ns":
    pair(key, key, "PointLookups", "a.sheaf", "--seconds", "0.7", "--refresh-every", "1000")
for durability in "full", "group", "none":
    pair(f"single {durability}", "processor_ns", "WriteBenchmark", "w.sheaf", "single", "--durability", durability,
         "--rows", "5000")
pair("many", "processor_ns", "WriteBenchmark", "w.sheaf", "many", "--rows", "100000")
pair("many, Encodable", "processor_ns", "WriteBenchmark", "w.sheaf", "many", "--values", "codable", "--rows", "100000")
