"""Pairs of whole processes; each prints a line of results.csv: what, round, seconds, processor time, peak MiB."""
import os, statistics, subprocess, sys, time

A = os.environ.get("ADDRESS", "postgresql://postgres@127.0.0.1:5999/postgres")
SHEAF = os.environ.get("SHEAF", "./sheaf")
CSV = "million.csv"


def sql(*statements):
    words = ["psql", A, "-Xqt"]
    for statement in statements:
        words += ["-c", statement]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def run(name, number, words, rows=None):
    sql("truncate million", "checkpoint")
    begin = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    assert status == 0, words
    found = sql("select count(*) from million")
    print(
        f"{name},{number},{seconds:.2f},{usage.ru_utime + usage.ru_stime:.2f},"
        f"{usage.ru_maxrss / 1024:.0f},{found}",
        flush=True,
    )
    return seconds


def sheaf(batch, lanes, csv=CSV):
    return [SHEAF, "import", csv, "--into", A, "--table", "million", "--quiet", "--durability", "full",
            "--batch-size", str(batch), "--connections", str(lanes)]


def psql(csv=CSV):
    return ["psql", A, "-Xqc", rf"\copy million from {csv} csv header"]


what, rounds = sys.argv[1], int(sys.argv[2])
if what == "psql":
    ratios = []
    for n in range(rounds):
        slow = run("psql", n, psql())
        ratios.append(slow / run("sheaf 10000 x 4", n, sheaf(10000, 4)))
    print("median", round(statistics.median(ratios), 3), [round(x, 2) for x in ratios])
if what == "delay":
    # 5 ms more for each flush of the log.
    sql("alter system set commit_delay = 5000"), sql("alter system set commit_siblings = 0")
    sql("select pg_reload_conf()")
    try:
        for batch in (1000, 10000):
            ratios = []
            for n in range(rounds):
                slow = run(f"5 ms; sheaf {batch} x 1", n, sheaf(batch, 1))
                ratios.append(slow / run(f"5 ms; sheaf {batch} x 4", n, sheaf(batch, 4)))
            print("median", batch, round(statistics.median(ratios), 3), [round(x, 2) for x in ratios])
    finally:
        sql("alter system reset commit_delay"), sql("alter system reset commit_siblings")
        sql("select pg_reload_conf()")
if what == "pgloader":
    run("pgloader", 0, ["pgloader", "--quiet", "million.load"])
    run("sheaf 10000 x 4", 0, sheaf(10000, 4))
if what == "file":
    ratios = []
    for n in range(rounds):
        times = []
        for name in sys.argv[3:]:
            if os.path.exists("f.sheaf"):
                os.remove("f.sheaf")
            begin = time.monotonic()
            process = subprocess.Popen([name, "import", CSV, "--into", "f.sheaf", "--quiet"])
            _, status, usage = os.wait4(process.pid, 0)
            assert status == 0
            times.append(time.monotonic() - begin)
            print(f"into a file; {os.path.basename(name)},{n},{times[-1]:.2f},"
                  f"{usage.ru_utime + usage.ru_stime:.2f},{usage.ru_maxrss / 1024:.0f},", flush=True)
        ratios.append(times[1] / times[0])
    print("median after/before", round(statistics.median(ratios), 3), [round(x, 2) for x in ratios])
