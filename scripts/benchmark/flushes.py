"""Measures what two flushes cost on the disk of this folder, as a commit does them.

    python3 flushes.py FILE --pairs N --bytes B [--appending]

A pair is: B bytes written, fdatasync, 4096 bytes written over one of the first two pages,
fdatasync. The B bytes go over bytes that are there already, round and round in 64 MiB (as a
database does that uses freed pages again), or, with --appending, behind all that were written
before, in a file whose length has been set (as one does that grows). The interpreter's own part of
a pair is a few microseconds. Where there is no fdatasync, fsync. Prints one JSON object.
"""

import argparse
import json
import os
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--appending", action="store_true")
    options = parser.parse_args()
    flush = getattr(os, "fdatasync", os.fsync)
    slots, around = 2 * 4096, 64 << 20
    data, slot = os.urandom(options.bytes), os.urandom(4096)
    step = -(-options.bytes // 4096) * 4096
    descriptor = os.open(options.file, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    os.pwrite(descriptor, bytes(slots), 0)
    if options.appending:
        os.ftruncate(descriptor, slots + options.pairs * step)
    else:
        for offset in range(0, around, 1 << 20):
            os.pwrite(descriptor, os.urandom(1 << 20), slots + offset)
    os.fsync(descriptor)
    room = options.pairs if options.appending else max(1, around // step)
    began = time.perf_counter()
    for pair in range(options.pairs):
        os.pwrite(descriptor, data, slots + pair % room * step)
        flush(descriptor)
        os.pwrite(descriptor, slot, pair % 2 * 4096)
        flush(descriptor)
    seconds = time.perf_counter() - began
    os.close(descriptor)
    os.unlink(options.file)
    print(json.dumps({"pairs": options.pairs, "seconds_per_pair": seconds / options.pairs}))


if __name__ == "__main__":
    main()
