"""The measuring half of scripts/bench, which prepares the programs and passes them here."""

import argparse
import datetime
import fnmatch
import os
import platform
import shutil
import sys
from pathlib import Path

from . import machine
from .cases import all_cases
from .chart import chart
from .process import Failure
from .results import Results
from .runner import Runner
from .summary import lines


def options():
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measures sheaf beside sqlite3 and DuckDB.")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each (5)")
    parser.add_argument("--case", action="append", metavar="NAME",
                        help="only this case, or those that a pattern such as 'import-*' "
                             "names; may be repeated (all)")
    parser.add_argument("--scale", type=float, default=1, metavar="X",
                        help="so much of the rows: 0.01 tries the benchmark in half a minute, "
                             "and its figures mean nothing")
    parser.add_argument("--host", default=f"{platform.machine()}-{os.cpu_count()}cores",
                        help="names the machine in the folder of results (%(default)s)")
    parser.add_argument("--out", help="folder of results (bench-results/DATE-HOST, with -part "
                                      "where --case is given; for a trial .build-bench/trial)")
    parser.add_argument("--work", default=".build-bench/work", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="list the cases and end")
    for name in ("--sheaf", "--sqlite3", "--duckdb", "--duckdb-python", "--lookups",
                 "--reads", "--sqlite-reads", "--writes", "--sqlite-writes"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    found = parser.parse_args()
    if found.runs < 1 or not 0 < found.scale <= 1:
        parser.error("--runs is at least 1, --scale above 0 and at most 1")
    return parser, found


def chosen(parser, cases, patterns):
    if not patterns:
        return list(cases.values())
    for pattern in patterns:
        if not fnmatch.filter(cases, pattern):
            parser.error(f"no case is called {pattern}; --list names them")
    return [case for name, case in cases.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def measure(runner, cases, runs):
    results = Results()
    for case in cases:
        print(f"{case.name}: {case.title}", file=sys.stderr)

        def record(turn, program, values):
            results.add(case.name, turn, program, values, os.getloadavg()[0])

        try:
            runner.measure(case, runs, record)
        except Failure as failure:
            results.failures[case.name] = str(failure)
            print(f"  not measured: {failure}", file=sys.stderr)
        except KeyboardInterrupt:
            results.failures[case.name] = "interrupted"
            break
    return results


def main():
    parser, given = options()
    cases = all_cases(given.scale)
    if given.list:
        for name, case in cases.items():
            print(f"{name:<24} {case.title}")
        return 0
    part = "-part" if given.case else ""
    cases = chosen(parser, cases, given.case)
    if given.runs < 5:
        print("fewer than 5 runs say little", file=sys.stderr)
    folder = f"bench-results/{datetime.date.today().isoformat()}-{given.host}{part}"
    out = Path(given.out or (folder if given.scale == 1 else ".build-bench/trial")).resolve()
    work = given.work if given.scale == 1 else given.work + "-trial"
    programs = {"sheaf": given.sheaf, "sqlite3": given.sqlite3, "duckdb": given.duckdb,
                "python": given.duckdb_python, "python3": sys.executable,
                "lookups": given.lookups, "reads": given.reads,
                "sqlite_reads": given.sqlite_reads, "writes": given.writes,
                "sqlite_writes": given.sqlite_writes}
    facts = machine.facts(programs, Path("."))
    before = os.getloadavg()[0]
    runner = Runner(programs, work)
    try:
        results = measure(runner, cases, given.runs)
    finally:
        runner.clean()
    load = (before, os.getloadavg()[0])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    results.write(out / "raw.csv")
    text = "\n".join(lines(results, cases, facts, given.runs, load, given.scale)) + "\n"
    (out / "summary.md").write_text(text)
    (out / "chart.svg").write_text(chart(results, cases))
    print(text)
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
