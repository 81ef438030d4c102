#!/usr/bin/env python3
"""How large a file becomes that is compacted once, keeps 14 versions, and is changed night after night.

    nights120.py SHEAF FOLDER CASE...

Prints a line for each case: objects, changed and new ones each night, nights, one version compact, CSV of the last
14 nights, the file, the file's share of one and a half times the first plus the second, the largest number of bytes
that a night wrote, and the seconds of a count by a changed column at the end. Each night changes objects all over
the table. The same case takes the same steps with any program.
"""
import csv, io, json, os, random, subprocess, sys, time

SHEAF, FOLDER = sys.argv[1:3]
SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples/googleplaystore.csv")


def run(*words):
    result = subprocess.run([SHEAF, *words], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{words}: {result.stderr}")
    return result.stdout


def line(cells):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


class Numbers:
    """Three whole numbers, one of them the key: some four bytes each object."""
    names, filter = ["id", "n", "v"], "n < 10"

    def object(self, key, choice):
        return [str(key), str(choice.randrange(1000)), str(choice.randrange(10000))]

    def change(self, cells, choice):
        cells[1:] = self.object(0, choice)[1:]


class Apps:
    """The rows of the sample, some 20 bytes each, of which rating and reviews change."""
    filter = "Rating > 4.9"

    def __init__(self):
        with open(SAMPLE, newline="") as file:
            rows = [[c.replace("\n", " ").replace("\r", " ") for c in row] for row in csv.reader(file)]
        self.names = ["id"] + rows[0]
        self.rows = [row for row in rows[1:] if len(row) == len(rows[0])]

    def object(self, key, choice):
        return [str(key)] + self.rows[key % len(self.rows)]

    def change(self, cells, choice):
        cells[3] = "%.1f" % (choice.randrange(10, 51) / 10)
        if cells[4].isdigit():
            cells[4] = str(int(cells[4]) + choice.randrange(50))


CASES = {
    "numbers-20k-0.1%": (Numbers, 20_000, 20, 0), "numbers-20k-1%": (Numbers, 20_000, 200, 20),
    "numbers-1M-0.1%": (Numbers, 1_000_000, 1000, 0),
    "apps-11k-1%": (Apps, 10_840, 108, 11), "apps-100k-0.1%": (Apps, 100_000, 100, 10),
    "apps-100k-1%": (Apps, 100_000, 1000, 100), "apps-1M-0.1%": (Apps, 1_000_000, 1000, 0),
}


def case(name, nights=120):
    kind, count, changed, new = CASES[name]
    kind, choice = kind(), random.Random(7)
    objects = [kind.object(key, choice) for key in range(count)]
    database, source, copy = (os.path.join(FOLDER, f) for f in ("x.sheaf", "in.csv", "copy.sheaf"))
    for path in (database, copy):
        if os.path.exists(path):
            os.unlink(path)

    def load(rows, *more):
        with open(source, "w") as file:
            file.write(line(kind.names) + "".join(line(row) for row in rows))
        return json.loads(run("import", source, "--into", database, "--table", "t", "--key", "id", "--report", "json", *more))

    load(objects)
    run("compact", database)
    run("keep", database, "--versions", "14")
    sizes, written = [], []
    for _ in range(nights):
        places = choice.sample(range(len(objects)), changed)
        for place in places:
            kind.change(objects[place], choice)
        rows = [objects[place] for place in places]
        for _ in range(new):
            objects.append(kind.object(len(objects), choice))
            rows.append(objects[-1])
        written.append(load(rows, "--on-conflict", "update")["bytesWritten"])
        sizes.append(os.path.getsize(source))
    size = os.path.getsize(database)
    seconds = []
    for _ in range(5):
        began = time.monotonic()
        run("query", database, kind.filter, "--table", "t", "--count")
        seconds.append(time.monotonic() - began)
    run("compact", database, "--drop-versions", "--into", copy)
    compact = os.path.getsize(copy)
    csvs = sum(sizes[-14:])
    print(f"{name}: {count} objects, {changed} changed, {new} new, {nights} nights: {compact / 1e3:.0f} kB compact, "
          f"{csvs / 1e3:.0f} kB CSV, {size / 1e3:.0f} kB, {size / (1.5 * compact + csvs):.2f} of the sum; "
          f"most {max(written) / 1e3:.0f} kB a night; {sorted(seconds)[2] * 1e3:.1f} ms", flush=True)


os.makedirs(FOLDER, exist_ok=True)
for name in sys.argv[3:] or CASES:
    case(name)
