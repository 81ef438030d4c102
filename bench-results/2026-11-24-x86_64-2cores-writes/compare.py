#!/usr/bin/env python3
"""Writes objects with two builds of WriteBenchmark and with SQLite in turn, and prints a table of medians.

    compare.py OLD NEW SQLITE FOLDER ROUNDS > raw.csv

OLD and NEW are Tests/WriteBenchmark of two revisions, SQLITE is scripts/benchmark/sqlite_writes.c, built as
scripts/bench does. Each round runs all of them, in the other order every second time, each into a new file in FOLDER,
after a round that does not count.
"""

import csv
import json
import os
import subprocess
import sys

old, new, sqlite, folder, rounds = *sys.argv[1:5], int(sys.argv[5])
SINGLE = {"full": "full", "group": "normal", "none": "off"}
cases = {}
for durability, synchronous in SINGLE.items():
    rows = "2000" if durability == "full" else "20000"
    words = ["single", "--durability", durability, "--rows", rows]
    cases[f"single {durability}"] = {
        "old": [old, *words], "new": [new, *words],
        "sqlite": [sqlite, "single", "--synchronous", synchronous, "--rows", rows]}
for values in "array", "codable":
    words = ["many", "--values", values, "--rows", "100000"]
    cases[f"many {values}"] = {
        "old": [old, *words], "new": [new, *words], "sqlite": [sqlite, "many", "--rows", "100000"]}

writer = csv.writer(sys.stdout)
writer.writerow(["round", "case", "program", "wall_ns", "processor_ns"])
for number in range(rounds + 1):
    for case, programs in cases.items():
        names = list(programs)
        for name in names if number % 2 else reversed(names):
            path = os.path.join(folder, "written")
            for end in "", "-lock", "-wal", "-shm", "-journal":
                if os.path.exists(path + end):
                    os.remove(path + end)
            command = programs[name]
            done = subprocess.run([command[0], path, *command[1:]], check=True, capture_output=True)
            found = json.loads(done.stdout)
            if number:
                writer.writerow([number, case, name, round(found["wall_ns"]), round(found["processor_ns"])])
                sys.stdout.flush()
