"""What the machine and the programs are."""

import os
import platform
import statistics
import subprocess
import time
from pathlib import Path


def first_line(words):
    try:
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return text.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def from_file(path, key):
    try:
        for line in Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.split(":" if ":" in line else "=", 1)[1].strip().strip('"')
    except OSError:
        pass
    return "unknown"


def mount(path):
    """The type of the file system that a folder is on."""
    return first_line(["stat", "--file-system", "--format=%T", str(path)])


def start_seconds(words):
    """The median time of a program that does nothing."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(words, capture_output=True, check=False)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def facts(programs, work):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    revision = first_line(["git", "rev-parse", "--short", "HEAD"])
    changed = first_line(["git", "status", "--porcelain", "Sources", "Package.swift"])
    python = programs["python"]
    start = start_seconds([python, "-c", "import duckdb"])
    return [
        ("processor", f"{from_file('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, "
                      f"{platform.machine()}"),
        ("memory", f"{memory / 2**30:.1f} GiB"),
        ("file system", mount(work)),
        ("system", f"{from_file('/etc/os-release', 'PRETTY_NAME')}, "
                   f"{platform.system()} {platform.release()}"),
        ("sheaf", f"{first_line([programs['sheaf'], '--version'])}, revision {revision}"
                  + ("" if changed == "unknown" else " with changes")),
        ("swift", first_line(["swift", "--version"])),
        ("sqlite3", first_line([programs["sqlite3"], "--version"]).split(" ")[0]),
        ("duckdb", first_line([programs["duckdb"], "--version"])),
        ("duckdb (Python)",
         first_line([python, "-c", "import duckdb, platform; "
                     "print(duckdb.__version__, 'on Python', platform.python_version())"])
         + f"; its start and `import duckdb` take {start:.3f} s of its times"),
    ]
