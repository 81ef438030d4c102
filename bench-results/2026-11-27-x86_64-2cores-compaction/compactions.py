#!/usr/bin/env python3
"""What compaction makes of CSV files, before and after: times, memory, sizes, and what reading them takes.

    compactions.py FOLDER BEFORE AFTER ROUNDS FILE.csv...

Imports each file with AFTER. Then both programs compact a copy of the database ROUNDS times in turn, check it
(`--deep`), export it, and count the rows whose last text column contains 'zq' (which reads all of it). Beside
them the size of DuckDB's file, and SQLite's VACUUM. Whole processes; prints medians, and the medians of the
ratios of neighbouring runs.
"""

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

FOLDER, BEFORE, AFTER, ROUNDS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])


def run(*command, output=subprocess.DEVNULL):
    """Wall time, processor time and peak memory of a process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - start
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def text_column(database):
    schema = subprocess.run([AFTER, "info", database], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  (.+?) +text +[\d.]+ [kMG]?B ", schema, re.M)
    return names[0] if names else None


def measure(path):
    name = os.path.splitext(os.path.basename(path))[0]
    imported, copy = f"{FOLDER}/imported.sheaf", f"{FOLDER}/copy.sheaf"
    for file in os.listdir(FOLDER):
        os.remove(f"{FOLDER}/{file}")
    run(AFTER, "import", path, "--into", imported, "--compact", "never", "--quiet")
    column = text_column(imported)
    found = {"before": [], "after": []}
    for turn in range(ROUNDS + 1):
        for which, program in (("before", BEFORE), ("after", AFTER)):
            shutil.copyfile(imported, copy)
            results = {"compact": run(program, "compact", copy, "--quiet"), "size": os.path.getsize(copy)}
            results["check"] = run(program, "check", "--deep", copy)
            results["export"] = run(program, "export", copy)
            if column:
                test = f"`{column}` contains 'zq'"
                results["contains"] = run(program, "query", copy, test, "--count")
            if turn > 0:
                found[which].append(results)
    import duckdb
    theirs = f"{FOLDER}/d.duckdb"
    connection = duckdb.connect(theirs)
    connection.execute(f"create table t as select * from read_csv('{path}')")
    connection.close()
    line = [name, f"{os.path.getsize(path) / 1e6:.0f} MB", f"{os.path.getsize(theirs) / 1e6:.1f}"]
    sizes = [found[which][0]["size"] for which in ("before", "after")]
    line += [f"{size / 1e6:.1f} ({size / os.path.getsize(theirs):.2f})" for size in sizes]
    for what in ("compact", "check", "export", "contains"):
        if what not in found["before"][0]:
            line.append("")
            continue
        before = statistics.median(each[what][0] for each in found["before"])
        after = statistics.median(each[what][0] for each in found["after"])
        ratio = statistics.median(
            new[what][0] / old[what][0] for old, new in zip(found["before"], found["after"]))
        line.append(f"{before:.2f}, {after:.2f} s ({ratio:.2f})")
    memory = [max(each["compact"][2] for each in found[which]) / 1e6 for which in ("before", "after")]
    line.append(f"{memory[0]:.0f}, {memory[1]:.0f} MB")
    lite = f"{FOLDER}/l.db"
    separator = "\t" if "\t" in open(path, encoding="utf-8", errors="replace").readline() else ","
    run("sqlite3", lite, "-cmd", f".separator '{separator}'" if separator != "," else ".mode csv",
        f".import {'--csv' if separator == ',' else ''} {path} t")
    times = []
    for _ in range(max(ROUNDS - 1, 1)):
        shutil.copyfile(lite, f"{FOLDER}/l2.db")
        times.append(run("sqlite3", f"{FOLDER}/l2.db", "vacuum")[0])
    line.append(f"{statistics.median(times):.2f} s")
    print("| " + " | ".join(line) + " |", flush=True)


os.makedirs(FOLDER, exist_ok=True)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print("| input | CSV | DuckDB, MB | before, MB (of DuckDB's) | after | compaction | check --deep | export | contains "
      "| memory of compaction | VACUUM |")
print("|" + "---|" * 11)
for file in sys.argv[5:]:
    measure(file)
