#!/usr/bin/env python3
"""Imports of shapes of data that no goal names, 60 MB each: before and after, and beside DuckDB.

    shapes.py FOLDER BEFORE AFTER ROUNDS [SHAPE...]

Makes the inputs in FOLDER, from a seed. Then both programs import each input ROUNDS times in turn, whole
processes, with their defaults and `--compact never`; DuckDB for Python does it in a process of its own, timed
from the connection to the checkpoint. Last, queries of the imported files, in turn as well. Prints medians,
and the medians of the ratios of neighbouring runs.
"""

import base64
import datetime
import hashlib
import os
import random
import statistics
import string
import subprocess
import sys
import time

FOLDER, BEFORE, AFTER, ROUNDS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
random.seed(11)
below = random.randrange
WORDS = ["".join(random.choices(string.ascii_lowercase, k=below(2, 11))) for _ in range(5000)]
ENUMS = [[random.choice(WORDS) for _ in range(below(2, 30))] for _ in range(20)]
AGENTS = [f"Mozilla/5.0 (X11; Linux x86_64) Chrome/{below(60, 120)}.0.{below(5000)}" for _ in range(300)]
CHINESE = [chr(0x4E00 + below(3000)) for _ in range(3000)]


def word():
    return random.choice(WORDS)


def log(row):
    at = datetime.datetime(2024, 1, 1) + datetime.timedelta(milliseconds=row * 137)
    token = "".join(random.choices(string.ascii_letters, k=8))
    return [
        at.isoformat()[:23] + "Z", ".".join(str(below(256)) for _ in range(4)),
        random.choice(["GET", "POST"]), f"https://example.com/{word()}/{word()}?id={below(10**6)}&s={token}",
        random.choice(["200", "404", "301"]), str(below(100000)), random.choice(AGENTS)]


# Name: header, a row, and how it is written.
SHAPES = {
    "integers": (["n"], lambda i: [str(below(1000000))], {}),
    "nulls": (["a", "b", "c", "d"], lambda i: [
        random.choice(["", "NA", "5", "3.5"]), random.choice(["true", "false", ""]),
        word() if random.random() < 0.1 else "", str(below(9))], {}),
    "short quoted": (["a", "b", "c"], lambda i: [
        f'"{word()}"' if random.random() < 0.3 else word(), f'"a, {below(99)}"', str(below(10))], {}),
    "words": (["a", "b", "c", "d", "e"], lambda i: [
        word(), str(below(100)), word(), str(random.random())[:7], random.choice("YN")], {"sep": "\t"}),
    "all quoted": (["id", "name", "city", "amount", "date"], lambda i: [f'"{x}"' for x in (
        i, f"{word().title()} {word().title()}", random.choice(WORDS[:800]), f"{random.random() * 1000:.2f}",
        f"2023-{below(1, 13):02}-{below(1, 29):02}")], {}),
    "decimal commas": (["id", "name", "betrag", "datum"], lambda i: [
        str(i), word(), f"{random.random() * 1000:.2f}".replace(".", ","),
        f"{below(1, 29):02}.{below(1, 13):02}.20{below(10, 24)}"], {"sep": ";", "end": "\r\n"}),
    "times with zones": (["t", "u", "d"], lambda i: [
        f"2024-{below(1, 13):02}-{below(1, 29):02} {below(24):02}:{below(60):02}:{below(60):02}."
        f"{below(10**6):06}+0{below(3)}:00", f"{below(24):02}:{below(60):02}:{below(60):02}",
        f"{below(1, 13):02}/{below(1, 29):02}/{below(1990, 2025)}"], {}),
    "doubles": (["a", "b", "c", "d", "e"], lambda i: [
        repr(random.gauss(0, 1)) for _ in range(4)] + [f"{random.gauss(0, 1e10):e}"], {}),
    "few values": ([f"e{i}" for i in range(20)], lambda i: [random.choice(values) for values in ENUMS], {}),
    "log lines": (["ts", "ip", "method", "url", "status", "bytes", "agent"], log, {}),
    "hashes": (["h", "t"], lambda i: [
        hashlib.sha256(str(i).encode()).hexdigest(), base64.b64encode(random.randbytes(24)).decode()], {}),
    "paths": (["key", "name", "v"], lambda i: [
        f"customer/{i * 7:012}/order", f"{word()} {word()}", str(i % 977)], {}),
    "Chinese": (["id", "text"], lambda i: [
        str(i), "".join(random.choices(CHINESE, k=below(5, 60)))], {}),
    "sparse": ([f"c{i}" for i in range(1000)], lambda i: [
        str(below(1000)) if random.random() < 0.03 else "" for _ in range(1000)], {}),
    "documents": (["id", "doc"], lambda i: [
        str(i), '"{""k"": ""' + " ".join(random.choices(WORDS, k=15000)) + '""}"'], {}),
}
BYTES = 60_000_000

DUCKDB = """
import duckdb, os, sys, time
source, target = sys.argv[1:]
if os.path.exists(target): os.remove(target)
start = time.time()
connection = duckdb.connect(target)
connection.execute(f"create table t as select * from read_csv('{source}')")
connection.execute("checkpoint")
connection.close()
print(time.time() - start)
"""

QUERIES = [
    ("doubles", ["--sum", "a", "--avg", "b", "--max", "e"]),
    ("doubles", ["--sort", "a", "--limit", "3"]),
    ("integers", ["--distinct", "--columns", "n", "--count"]),
    ("integers", ["--group-by", "n", "--format", "csv"]),
    ("nulls", ["a is not null", "--count"]),
    ("times with zones", ["u > '12:00:00'", "--count"]),
]


def path(shape, end):
    return os.path.join(FOLDER, shape.replace(" ", "-") + end)


def make(shape):
    header, row, form = SHAPES[shape]
    separator, end = form.get("sep", ","), form.get("end", "\n")
    if os.path.exists(path(shape, ".csv")):
        return
    with open(path(shape, ".csv"), "w", encoding="utf-8", newline="") as file:
        written = file.write(separator.join(header) + end)
        number = 0
        while written < BYTES:
            written += file.write(separator.join(row(number)) + end)
            number += 1


def timed(command):
    before, start = os.times(), time.time()
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall, after = time.time() - start, os.times()
    if result.returncode != 0:
        sys.exit(f"{command}: {result.stderr.decode()}")
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, processor


def in_turn(command, rounds):
    """The runs of both programs; each is the first one every second time."""
    runs = {BEFORE: [], AFTER: []}
    for number in range(rounds):
        for program in [BEFORE, AFTER] if number % 2 else [AFTER, BEFORE]:
            runs[program].append(command(program))
    return runs


def ratio(runs, part):
    return statistics.median(a[part] / b[part] for a, b in zip(runs[AFTER], runs[BEFORE]))


def imports(shape):
    target = path(shape, ".sheaf")

    def run(program):
        if os.path.exists(target):
            os.remove(target)
        return timed([program, "import", path(shape, ".csv"), "--into", target, "--quiet", "--compact", "never"])

    runs = in_turn(run, ROUNDS)
    duckdb = [float(subprocess.run(
        [sys.executable, "-c", DUCKDB, path(shape, ".csv"), path(shape, ".duckdb")], check=True,
        capture_output=True, text=True).stdout.split()[-1]) for _ in range(5)]
    compacted = path(shape, "-compacted.sheaf")
    subprocess.run(["cp", target, compacted], check=True)
    subprocess.run([AFTER, "compact", compacted, "--quiet"], check=True)
    size = os.path.getsize
    (old, _), (new, _) = ([statistics.median(x) for x in zip(*runs[p])] for p in (BEFORE, AFTER))
    print(
        f"| {shape} | {old:.3f} | {new:.3f} | {ratio(runs, 0):.2f} | {ratio(runs, 1):.2f} | "
        f"{size(path(shape, '.csv')) / new / 1e6:.0f} | {statistics.median(duckdb):.2f} | "
        f"{statistics.median(duckdb) / new:.1f} | {size(target) / 1e6:.1f} | {size(compacted) / 1e6:.1f} | "
        f"{size(path(shape, '.duckdb')) / 1e6:.1f} |", flush=True)


chosen = sys.argv[5:] or list(SHAPES)
for name in SHAPES:
    make(name)  # All of them, in order, so that the seed gives the same inputs.
print("| shape | before, s | after, s | ratio | of processor time | MB/s | DuckDB, s | times | MB | compacted | DuckDB |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
for name in chosen:
    imports(name)
print("\n| query | before, s | after, s | ratio |\n|---|---|---|---|")
for shape, arguments in QUERIES:
    for end in (".sheaf", "-compacted.sheaf"):
        if shape not in chosen:
            continue
        runs = in_turn(lambda program: timed([program, "query", path(shape, end)] + arguments), ROUNDS)
        old, new = (statistics.median(x[0] for x in runs[p]) for p in (BEFORE, AFTER))
        print(
            f"| {shape}{', compacted' if end.startswith('-') else ''}: `{' '.join(arguments)}` | {old:.3f} | {new:.3f} | "
            f"{ratio(runs, 0):.2f} |", flush=True)
