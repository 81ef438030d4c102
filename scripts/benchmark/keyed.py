"""Gives a CSV file a key column, and makes the updates for it.

    python3 keyed.py base SOURCE OUTPUT --key text|integer
    python3 keyed.py updates SOURCE OUTPUT --key text|integer --among ROWS

`base` puts a column `id` before SOURCE's columns: row n has key(n). `updates` gives each record of
SOURCE the key of another of the ROWS rows, drawn without repetition. Keys are distinct and in no
order: integers below 2^31, or 12 hexadecimal digits.
"""

import argparse
import csv
import random


def key(row, kind):
    """Distinct for distinct rows: an odd factor and a shift can both be undone."""
    bits = 48 if kind == "text" else 31
    mask = (1 << bits) - 1
    mixed = (row + 1) * 0x9E3779B97F4A7C15 & mask
    mixed ^= mixed >> (bits // 2)
    mixed = mixed * 0xD1B54A32D192ED03 & mask
    return f"{mixed:012x}" if kind == "text" else str(mixed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["base", "updates"])
    parser.add_argument("source")
    parser.add_argument("output")
    parser.add_argument("--key", choices=["text", "integer"], required=True)
    parser.add_argument("--among", type=int, default=0)
    options = parser.parse_args()
    with open(options.source, newline="", encoding="utf-8") as source, \
            open(options.output, "w", newline="", encoding="utf-8") as output:
        records = csv.reader(source)
        writer = csv.writer(output, lineterminator="\n")
        writer.writerow(["id", *next(records)])
        if options.what == "base":
            for row, record in enumerate(records):
                writer.writerow([key(row, options.key), *record])
        else:
            records = list(records)
            rows = random.Random(1).sample(range(options.among), len(records))
            for row, record in zip(rows, records):
                writer.writerow([key(row, options.key), *record])


if __name__ == "__main__":
    main()
