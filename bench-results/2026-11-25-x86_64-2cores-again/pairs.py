"""Compares builds of sheaf by processor time, in turn.

    pairs.py RAW RUNS MODE PROGRAM,PROGRAM,... FILE[:OPTIONS]...

MODE is import, again (the file once more into what it has made, keyed), export, or compact. Whole processes, in the
other order every second round, after a round that does not count. Every run goes to RAW as CSV; a line for each file
has the medians of user and system time, and the median and quartiles of each program's time divided by the first
one's in the same round.
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

raw, runs, mode, programs, files = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4].split(","), sys.argv[5:]
folder = tempfile.mkdtemp(prefix="pairs")


def run(words, output=subprocess.DEVNULL):
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=output, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, time.monotonic() - began)


def measure(number, program, file, options, round):
    database = f"{folder}/{number}.sheaf"
    load = [program, "import", file, "--into", database, "--quiet", *options]
    if mode == "import" or round == 0:
        for name in (database, database + "-lock"):
            if os.path.exists(name):
                os.remove(name)
        taken = run(load)
        if mode == "import":
            return taken
        shutil.copy(database, database + ".base")
    if mode == "again":
        return run([*load, "--on-conflict", "update"])
    if mode == "compact":
        shutil.copy(database + ".base", database)
        return run([program, "compact", database, "--quiet"])
    return run([program, "export", database])


with open(raw, "a") as record:
    if record.tell() == 0:
        record.write("mode,file,options,program,round,seconds,wall\n")
    for given in files:
        file, _, options = given.partition(":")
        for name in os.listdir(folder):
            os.remove(f"{folder}/{name}")
        taken = {program: [] for program in programs}
        for round in range(runs + 1):
            order = list(enumerate(programs))
            for number, program in order if round % 2 else reversed(order):
                seconds, wall = measure(number, program, file, options.split(), round)
                if round:
                    taken[program].append(seconds)
                    record.write(f"{mode},{os.path.basename(file)},{options},{os.path.basename(program)},{round},"
                                 f"{seconds:.4f},{wall:.4f}\n")
                    record.flush()
        line = f"| {mode} {os.path.basename(file)} {options} |"
        line += " → ".join(f"{statistics.median(taken[p]):.3f}" for p in programs) + " s |"
        for program in programs[1:]:
            ratios = sorted(b / a for a, b in zip(taken[programs[0]], taken[program]))
            quartiles = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
            line += f" {statistics.median(ratios):.2f} ({quartiles[0]:.2f} to {quartiles[1]:.2f}) |"
        sizes = {os.path.getsize(f"{folder}/{number}.sheaf") for number in range(len(programs))}
        print(line, " ".join(f"{size:,}" for size in sorted(sizes)), flush=True)
shutil.rmtree(folder)
