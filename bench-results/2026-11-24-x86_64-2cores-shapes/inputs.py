"""Writes the inputs of this record that neither `sheaf sample` nor scripts/benchmark/shapes.py makes, into a folder."""

import csv
import random
import sys
from pathlib import Path

r = random.Random(5)


def write(name, header, rows):
    with open(Path(sys.argv[1]) / f"{name}.csv", "w", newline="") as file:
        output = csv.writer(file, lineterminator="\n")
        output.writerow(header)
        output.writerows(rows)


def iso():
    return f"20{r.randrange(10, 25)}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}"


def time():
    return f"{r.randrange(24):02}:{r.randrange(60):02}:{r.randrange(60):02}"


def american():
    return f"{r.randrange(1, 13)}/{r.randrange(1, 29)}/20{r.randrange(10, 25)}"


def german():
    return f"{r.randrange(1, 29):02}.{r.randrange(1, 13):02}.20{r.randrange(10, 25)}"


def scales():
    return (repr(round(r.gauss(0, 100), r.randrange(0, 6))), repr(r.random()),
            repr(round(r.random() * 10 ** r.randrange(1, 9), 3)), f"{r.randrange(-9999, 9999)}")


def text(row):
    return f"A{row:07d}", f"{r.choice('ABCD')}-{r.randrange(10**6)}", f"{r.randrange(1000)}/{r.randrange(99)}b"


def exponents():
    return -r.randrange(10 ** r.randrange(1, 15)), f"{r.gauss(0, 1e9):.4e}", f"{r.gauss(0, 1e-5):.6g}"


def sparse():
    return [r.randrange(10**6) if r.random() < .2 else "" for _ in range(10)]


def missing(row):
    return r.choice(["NA", r.randrange(1000)]), r.choice(["NA", f"{r.random():.3f}"]), row


def quoted():
    return f"{r.randrange(10**6)}", r.choice(['he said "no" and left', "plain", "a, b", '"x"'])


write("short", "abc", ((row, r.randrange(100), r.choice(["x", "yes", "no"])) for row in range(900_000)))
write("textnum", ["id", "code", "ref"], (text(row) for row in range(600_000)))
write("dates", ["d", "dt", "us", "de"], ((iso(), f"{iso()} {time()}", american(), german()) for _ in range(400_000)))
write("scales", "abcd", (scales() for _ in range(400_000)))
write("negexp", "abc", (exponents() for _ in range(400_000)))
write("nulls", [f"c{column}" for column in range(10)], (sparse() for _ in range(400_000)))
write("onecol", "v", ((r.randrange(10**9),) for _ in range(2_000_000)))
write("onetext", "v", ((r.choice(["amber", "basin", "cedar"]) + str(r.randrange(10**6)),) for _ in range(1_500_000)))
write("keyed", "kvn", ((f"{r.getrandbits(64):016x}", r.choice(["a", "b", "c"]), row) for row in range(1_000_000)))
write("na", "abc", (missing(row) for row in range(600_000)))
write("quotednum", "ab", (quoted() for _ in range(700_000)))
