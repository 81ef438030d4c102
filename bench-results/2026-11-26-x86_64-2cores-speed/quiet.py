"""Imports by programs in turn, with DuckDB: quiet.py RAW SECONDS PROGRAM,PROGRAM FILE...

Whole processes, wall and processor time; rounds over all files until the time is up, after one that does not count.
"""
import os, resource, subprocess, sys, time
raw, limit, programs, files = sys.argv[1], float(sys.argv[2]), sys.argv[3].split(","), sys.argv[4:]
end = time.monotonic() + limit
base = "t"
def run(words):
    b, t = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    w, a = time.monotonic() - t, resource.getrusage(resource.RUSAGE_CHILDREN)
    return w, a.ru_utime + a.ru_stime - b.ru_utime - b.ru_stime
def clean():
    for s in (".sheaf", ".sheaf-lock", ".duck", ".duck.wal"):
        if os.path.exists(base + s): os.remove(base + s)
with open(raw, "w") as out:
    out.write("round,file,program,wall,seconds\n")
    r = 0
    while time.monotonic() < end:
        for f in files:
            if time.monotonic() > end: break
            order = [*programs, "duckdb"]
            for p in order if r % 2 else reversed(order):
                clean()
                if p == "duckdb":
                    t = run(["python3", "-c", f"import duckdb; c = duckdb.connect('{base}.duck'); c.execute(\"create table t as select * from read_csv('{f}')\"); c.close()"])
                else:
                    t = run([p, "import", f, "--into", base + ".sheaf", "--batch-size", "1000", "--report", "json"])
                if r: out.write(f"{r},{os.path.basename(f)},{os.path.basename(p)},{t[0]:.4f},{t[1]:.4f}\n"); out.flush()
        r += 1
    clean()
