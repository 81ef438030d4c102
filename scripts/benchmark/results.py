"""What was measured, and how it is looked at: medians, and ratios taken within each round."""

import csv
import statistics

# Columns of raw.csv: the name there, the name here. What a program told of itself follows.
COLUMNS = [
    ("case", "case"), ("run", "run"), ("program", "program"), ("wall_seconds", "wall"),
    ("user_and_system_seconds", "cpu"), ("peak_memory_bytes", "peak"), ("file_bytes", "file"),
    ("written_bytes", "written"), ("dirtied_bytes", "dirtied"), ("input_bytes", "input_bytes"),
    ("output_bytes", "produced"), ("load", "load"),
]
TOLD = ["count", "told_read", "told_imported", "told_updated", "told_bytesWritten",
        "told_seconds_per_pair", "told_lookups", "told_lookup_p50_ns", "told_lookup_p99_ns",
        "told_lookup_p999_ns", "told_lookup_max_ns", "told_refresh_p50_ns", "told_refresh_p99_ns",
        "told_versions", "told_reads", "told_read_ns", "told_rows",
        "told_wall_ns", "told_processor_ns", "told_readerSeconds", "told_writerSeconds",
        "told_flusherSeconds"]


class Results:
    def __init__(self):
        self.rows = []
        self.failures = {}

    def add(self, case, run, program, values, load):
        self.rows.append(dict(case=case, run=run, program=program, load=load, **values))

    def has(self, case):
        return case not in self.failures and any(row["case"] == case for row in self.rows)

    def values(self, case, program, key):
        return [row[key] for row in self.rows
                if row["case"] == case and row["program"] == program and row.get(key) is not None]

    def median(self, case, program, key="wall"):
        """None when there is none."""
        found = self.values(case, program, key)
        return statistics.median(found) if found else None

    def most(self, case, program, key):
        return max(self.values(case, program, key), default=None)

    def by_round(self, case, program, key):
        """The median within each round."""
        rounds = {}
        for row in self.rows:
            if row["case"] == case and row["program"] == program and row.get(key) is not None:
                rounds.setdefault(row["run"], []).append(row[key])
        return {turn: statistics.median(values) for turn, values in rounds.items()}

    def ratios(self, case, ours, theirs, key="wall"):
        """Ours by theirs, round by round."""
        left, right = self.by_round(case, ours, key), self.by_round(case, theirs, key)
        return [left[turn] / right[turn] for turn in left if right.get(turn)]

    def ratio(self, case, ours, theirs, key="wall"):
        found = self.ratios(case, ours, theirs, key)
        return statistics.median(found) if found else None

    def write(self, path):
        told = [key for key in TOLD if any(key in row for row in self.rows)]
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            keys = [key for _, key in COLUMNS] + told
            writer.writerow([name for name, _ in COLUMNS]
                            + [key.removeprefix("told_") for key in told])
            for row in self.rows:
                writer.writerow([cell(row.get(key)) for key in keys])


def cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.7f}".rstrip("0").rstrip(".")
    return value
