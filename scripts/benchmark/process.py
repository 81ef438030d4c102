"""Runs a program and measures it from the outside, as a whole process."""

import os
import resource
import signal
import sys
import tempfile
import time
from dataclasses import dataclass


class Failure(Exception):
    """A program that could not be measured, and why."""


@dataclass
class Usage:
    wall: float
    cpu: float
    peak: int
    written: int | None
    dirtied: int | None
    output: bytes


def peak_bytes(usage):
    """Peak memory: ru_maxrss counts kilobytes on Linux, bytes on macOS."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def floor_bytes():
    """A process begins as a copy of this one, so no smaller peak can be told."""
    return peak_bytes(resource.getrusage(resource.RUSAGE_SELF))


def io_counts(process):
    """What the kernel counted for an ended process that is not yet reaped: bytes given to write
    calls, and bytes of pages that became dirty; None where it does not tell.

    The first (`wchar`) is what the process asked to be written, to whatever file. The second
    (`write_bytes`) counts a page once that is changed twice before it is written; but where the
    file system keeps files in large folios, the change of one page counts its whole folio, so it
    can be many times what reaches the disk.
    """
    counts = {}
    try:
        with open(f"/proc/{process}/io") as file:
            for line in file:
                name, value = line.split(":")
                counts[name] = int(value)
    except OSError:
        pass
    return counts.get("wchar"), counts.get("write_bytes")


def spawn(words, standard_input=None, output=None, errors=None, environment=()):
    """Starts a program. Without descriptors of its own it reads nothing and is not heard."""
    null = os.open(os.devnull, os.O_RDWR)
    given = [standard_input, output, errors]
    actions = [(os.POSIX_SPAWN_DUP2, null if end is None else end, target)
               for target, end in enumerate(given)]
    try:
        # Python ignores SIGPIPE, and a shell's background SIGINT; a shell's own programs do not.
        return os.posix_spawnp(words[0], words, os.environ | dict(
            variable.split("=", 1) for variable in environment), file_actions=actions,
                               setsigdef=[signal.SIGPIPE, signal.SIGINT])
    except OSError as error:
        raise Failure(f"{words[0]} cannot be started: {error.strerror}") from error
    finally:
        os.close(null)


def run(words, environment=()):
    """Runs `words` to the end. With a `|` among them, what stands before feeds its standard input
    and is not measured, except that it takes its time."""
    feeder, feed = None, None
    if "|" in words:
        bar = words.index("|")
        feed, feeding = os.pipe()
        os.set_inheritable(feeding, False)
        feeder, words = words[:bar], words[bar + 1:]
    with tempfile.TemporaryFile() as heard, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        other = spawn(feeder, output=feeding) if feeder else None
        if feeder:
            os.close(feeding)
        process = spawn(words, feed, heard.fileno(), errors.fileno(), environment)
        if feed is not None:
            os.close(feed)
        if hasattr(os, "waitid"):  # so that /proc can still be asked
            os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        ended, (written, dirtied) = time.perf_counter(), io_counts(process)
        _, status, usage = os.wait4(process, 0)
        wall = (ended if hasattr(os, "waitid") else time.perf_counter()) - began
        if other is not None:
            os.waitpid(other, 0)
        if status != 0:
            said = content(errors).decode(errors="replace").strip().splitlines()
            raise Failure(f"{os.path.basename(words[0])} ended with {ending(status)}"
                          + (f": {said[-1]}" if said else ""))
        return Usage(wall, usage.ru_utime + usage.ru_stime, peak_bytes(usage), written,
                     dirtied, content(heard))


def ending(status):
    if os.WIFEXITED(status):
        return f"status {os.WEXITSTATUS(status)}"
    return f"signal {os.WTERMSIG(status)}"


def content(file):
    file.seek(0)
    return file.read(1 << 20)


class Company:
    """Programs that run while another is measured, and are interrupted after it."""

    def __init__(self, commands):
        self.commands = commands
        self.processes = []

    def __enter__(self):
        self.processes = [spawn(words) for words in self.commands]
        if self.processes:
            time.sleep(0.3)  # so that they are past their start
        return self

    def __exit__(self, kind, *_):
        gone = []
        for process, words in zip(self.processes, self.commands):
            if os.waitpid(process, os.WNOHANG)[0] != 0:
                gone.append(os.path.basename(words[0]))
            else:
                os.kill(process, signal.SIGINT)
                os.waitpid(process, 0)
        if gone and kind is None:
            raise Failure(f"{gone[0]}, which was to run meanwhile, had ended before")
