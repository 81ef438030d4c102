#!/usr/bin/env python3
"""Prints the table of README.md from raw.csv: medians, and medians of the ratios within each round with their range."""

import csv
import statistics
import sys

rows = {}
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        rows[row["round"], row["case"], row["program"]] = row
cases = list(dict.fromkeys(key[1] for key in rows))
numbers = list(dict.fromkeys(key[0] for key in rows))
for figure in "processor_ns", "wall_ns":
    print(f"\n{figure}: medians, µs; new / old and new / SQLite within each round\n")
    for case in cases:
        def values(name):
            return [int(rows[number, case, name][figure]) for number in numbers]
        medians = [f"{statistics.median(values(name)) / 1000:.2f}" for name in ("old", "new", "sqlite")]
        ratios = []
        for other in "old", "sqlite":
            found = [a / b for a, b in zip(values("new"), values(other))]
            ratios.append(f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})")
        print("| " + " | ".join([case, *medians, *ratios]) + " |")
