"""The table of what is to be reached: each row's words, and how it is told from the results."""

from .cases import OURS

DUCKDBS = ["duckdb", "duckdb (Python)"]


class Check:
    """One comparison with a limit. `text` says what was found; a miss names it and says how far it
    is from what is allowed."""

    def __init__(self, name, text, found, limit, least=False):
        self.name = name
        self.text = text
        self.reached = found >= limit if least else found <= limit
        # So much of what is allowed was taken; above 1 is a miss.
        self.distance = limit / found if least and found else found / limit

    def miss(self):
        return f"{self.name}, {self.distance:.2f} times what is allowed"


def wrong(text):
    """A result that makes the times worthless."""
    return Check(text, text, 2, 1)


def seconds(value):
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s"


def megabytes(count):
    return f"{count / 1e6:.1f} MB" if count < 100e6 else f"{count / 1e6:.0f} MB"


def best(results, case, programs):
    """The peer with the smallest median."""
    return min(programs, key=lambda name: results.median(case, name))


def against(results, case, peers, limit, ours=OURS, name=""):
    """Wall time against the best of the peers."""
    peer = best(results, case, peers)
    ratio = results.ratio(case, ours, peer)
    before = f"{name}: " if name else ""
    return Check(f"{before}time of {peer}",
                 f"{before}{ratio:.2f} of {peer} ({seconds(results.median(case, ours))} : "
                 f"{seconds(results.median(case, peer))})", ratio, limit)


# case, times as fast as the better DuckDB, and as sqlite3
IMPORTS = [("import-apps-1000000", 6, 8), ("import-flights-1", 6, 8), ("import-flights-6", 6, 8),
           ("import-numbers-1000000", 4, 8), ("import-uuid-1000000", 4, 8),
           ("import-quoted-1000000", 4, 8), ("import-wide-50000", 4, 8),
           ("import-text-200000", 4, 5)]


def faster(results, case, peers, times, name):
    peer = best(results, case, peers)
    ratio = results.ratio(case, peer, OURS)
    return Check(f"{name}, {peer}", f"{name}: {ratio:.1f} times as fast as {peer}", ratio, times,
                 least=True)


def import_shapes(results):
    for case, duckdb, sqlite in IMPORTS:
        name = case.split("-", 1)[1]
        if not results.has(case):
            yield f"{name} not measured"
            continue
        yield faster(results, case, DUCKDBS, duckdb, name)
        yield faster(results, case, ["sqlite3"], sqlite, name)
        rate = results.median(case, OURS, "input_bytes") / results.median(case, OURS) / 1e6
        yield f"{rate:.0f} MB/s"


def import_small(results):
    yield against(results, "import-apps-47472", ["sqlite3", *DUCKDBS], 1 / 4)


def keyed_import(results):
    case = "keyed-import"
    yield faster(results, case, DUCKDBS, 8, "1,000,000 text keys")
    yield faster(results, case, ["sqlite3"], 10, "1,000,000 text keys")


def keyed_growth(results):
    case = "keyed-growth"

    def cost(rows, what):
        return results.median(case, f"{rows} rows, {what}") / float(rows.replace(",", ""))
    small, large = "1,000,000", "10,000,000"
    again = results.median(case, f"{small} rows, again")
    yield Check("again", f"the same file again {seconds(again)}", again, 0.5)
    for what in ("first", "again"):
        ratio = cost(large, what) / cost(small, what)
        yield Check(f"{what}: cost of a row", f"{what}: a row costs {ratio:.2f} times as much at {large}",
                    ratio, 1.15)
    for what, limit in (("first", 64e6), ("again", 96e6), ("one row", 32e6)):
        peak = results.most(case, f"{large} rows, {what}", "peak")
        yield Check(f"{what}: memory", f"{what}: {megabytes(peak)}", peak, limit)
    for what in ("one row", "query by key"):
        took = results.median(case, f"{large} rows, {what}")
        yield Check(what, f"{what}: {took * 1e3:.1f} ms at {large}", took, 0.008)
    took = results.median(case, f"{small} rows, info")
    yield Check("info", f"info: {took * 1e3:.0f} ms at {small}", took, 0.1)


def batch_files(results):
    for size, limit in (("1", 2.4e6), ("10", 2.3e6), ("100", 2.2e6), ("1000", 1.9e6)):
        file = results.median("batches", f"batch {size}", "file")
        yield Check(f"batch {size}", f"batch {size}: {file / 1e6:.2f} MB", file, limit)
    written = results.median("batches", "batch 1", "told_bytesWritten")
    yield Check("bytes written", f"batch 1 writes {megabytes(written)}", written, 120e6)


def one_object(results):
    case = "one-object-full"
    pair = results.median(case, "flushes in place", "told_seconds_per_pair")
    other = results.median(case, "flushes appending", "told_seconds_per_pair")
    count = results.median(case, OURS, "told_imported")
    found = results.median(case, OURS)
    yield Check("time", f"{seconds(found)}, {found / (count * pair):.2f} times {count:,.0f} × "
                f"{pair * 1e3:.3f} ms (in place; {found / (count * other):.2f} times that of "
                f"appending, {other * 1e3:.3f} ms)", found, 1.25 * count * pair)


def batches_full(results):
    case = "batches-full"
    pair = results.median(case, "flushes appending", "told_seconds_per_pair")
    other = results.median(case, "flushes in place", "told_seconds_per_pair")
    count = results.median(case, OURS, "told_imported") / 1000
    group, full = results.median(case, OURS), results.median(case, "sheaf full")
    allowed = 1.3 * group + count * pair
    yield Check("time", f"{seconds(full)}, allowed 1.3 × {seconds(group)} + {count:,.0f} × "
                f"{pair * 1e3:.3f} ms (appending; {other * 1e3:.3f} ms in place) = "
                f"{seconds(allowed)}", full, allowed)


def cost_per_row(results):
    case = "growth"
    start = results.median(case, "1 row, file")
    for way in ("file", "pipe"):
        costs, without = [], []
        for rows in ("100,000", "1,000,000", "10,000,000"):
            wall = results.median(case, f"{rows} rows, {way}")
            count = results.median(case, f"{rows} rows, {way}", "told_imported")
            costs.append(wall / count * 1e6)
            without.append((wall - start) / count * 1e6)
        spread, least = max(costs) / min(costs), max(without) / min(without)
        listed = ", ".join(f"{cost:.3f}" for cost in costs)
        yield Check(way, f"{way}: {listed} µs, spread {spread - 1:.0%} ({least - 1:.0%} without "
                    f"the {seconds(start)} that one row takes)", spread, 1.10)


def peak_memory(results):
    limit = 64e6
    found = [(program, results.most("memory", program, "peak"))
             for program in programs(results, "memory")]
    for start in ("file, batch 1000", "file, batch all", "pipe, batch 1000", "pipe, batch all",
                  "numbers", "text"):
        program, peak = max((item for item in found if item[0].startswith(start)),
                            key=lambda item: item[1])
        yield Check(program, f"{megabytes(peak)} ({program})", peak, limit)


def programs(results, case):
    return list(dict.fromkeys(row["program"] for row in results.rows if row["case"] == case))


def file_after_import(results):
    for case in ("import-apps-47472", "import-apps-1000000"):
        if results.has(case):
            file = results.most(case, OURS, "file")
            source = results.median(case, OURS, "input_bytes")
            yield Check(case, f"{megabytes(file)} of {megabytes(source)}, {file / source:.1%}",
                        file / source, 0.45)


def file_after_compaction(results):
    for case, _, _ in [("import-apps-47472", 0, 0), *IMPORTS]:
        shape = case.split("-", 1)[1]
        limit = 0.5 if shape.startswith("uuid") else 0.6
        if results.has(f"compact-{shape}") and results.has(f"import-{shape}"):
            ours = results.most(f"compact-{shape}", OURS, "file")
            theirs = min(results.median(f"import-{shape}", name, "file") for name in DUCKDBS)
            ratio = ours / theirs
            yield Check(shape, f"{shape} {ratio:.2f} ({megabytes(ours)} : {megabytes(theirs)})",
                        ratio, limit)


def bytes_written(results):
    for shape in ("apps-47472", "apps-1000000", "numbers-1000000", "text-200000"):
        case = f"import-{shape}"
        if not results.has(case):
            continue
        file = results.median(case, OURS, "file")
        told = results.median(case, OURS, "told_bytesWritten") or 0
        counted = results.median(case, OURS, "written")
        kernel = "" if counted is None else f" (as the kernel counts {counted / file:.2f})"
        found = max(told, counted or 0) / file
        yield Check(shape, f"{shape} {told / file:.2f}{kernel}", found, 1.3)


def compaction(results):
    for imported in ("import-apps-47472", *(case for case, _, _ in IMPORTS)):
        shape = imported.split("-", 1)[1]
        case = f"compact-{shape}"
        if results.has(case) and shape in ("uuid-1000000", "flights-6"):
            took = results.median(case, OURS)
            yield Check(f"{shape}: time", f"{shape}: {seconds(took)}", took, 0.5)
        if results.has(case):
            peak = results.most(case, OURS, "peak")
            yield against(results, case, ["sqlite3"], 1, name=shape)
            yield Check(f"{shape}: memory", f"{megabytes(peak)} of memory", peak, 128e6)


def query_and_export(results):
    for case, name in (("query-number", "number"), ("query-text", "text")):
        if not results.has(case):
            yield f"{name} count not measured"
            continue
        yield against(results, case, ["sqlite3"], 1, name=f"count by {name}")
        counts = {results.median(case, program, "count") for program in programs(results, case)}
        if len(counts) != 1:
            yield wrong(f"the counts by {name} differ: {sorted(map(str, counts))}")
    if not results.has("export"):
        yield "export not measured"
        return
    yield against(results, "export", ["sqlite3"], 1, name="export")
    rate = results.median("export", OURS, "produced") / results.median("export", OURS) / 1e6
    yield Check("export: rate", f"{rate:.0f} MB/s", rate, 1200, least=True)


def point_lookup(results):
    case = "lookups"
    key = "told_lookup_p99_ns"
    idle = results.median(case, "idle", key)
    during = results.ratio(case, "during an import", "idle", key)
    others = ", ".join(
        f"{results.ratio(case, name, 'idle', key):.2f} {name}"
        for name in ("beside one busy process", "beside two busy processes"))
    yield Check("99th percentile",
                f"{during:.2f} times the idle {idle / 1e3:.1f} µs ({others})", during, 2)


def library_reads(results):
    key = "told_read_ns"
    for case in READS:
        if not results.has(case):
            yield f"{case} not measured"
            continue
        name = case.removeprefix("reads-").replace("-viewed", " in place")
        ratio = results.ratio(case, "sqlite3", OURS, key)
        compacted = results.ratio(case, "sqlite3", "sheaf, compacted", key)
        text = (f"{name}: {ratio:.2f} times as fast ({results.median(case, OURS, key):,.0f} ns : "
                f"{results.median(case, 'sqlite3', key):,.0f} ns; compacted {compacted:.2f} times)")
        yield Check(name, text, ratio, 2 if name.startswith(("lookup", "scan")) else 1, least=True)
    counts = {results.median("reads-count", program, "told_rows")
              for program in programs(results, "reads-count")}
    if len(counts) > 1:
        yield wrong(f"the counts differ: {sorted(map(str, counts))}")


READS = ["reads-lookup", "reads-scan", "reads-scan-viewed", "reads-count", "reads-notify"]


def library_writes(results):
    for case in WRITES:
        if not results.has(case):
            yield f"{case} not measured"
            continue
        for ours in (OURS, "sheaf, Encodable") if case == "writes-many" else (OURS,):
            # A commit that is flushed mostly waits; the others keep the processor busy.
            key = "told_wall_ns" if case == "writes-single-full" else "told_processor_ns"
            ratio = results.ratio(case, ours, "sqlite3", key)
            name = case.removeprefix("writes-") + ours.removeprefix(OURS)
            text = (f"{name}: {ratio:.2f} of sqlite3 ({results.median(case, ours, key) / 1e3:,.2f} : "
                    f"{results.median(case, 'sqlite3', key) / 1e3:,.2f} us)")
            yield Check(name, text, ratio, 1)


WRITES = ["writes-single-full", "writes-single-group", "writes-single-none", "writes-many"]


def random_updates(results):
    for case in ("updates-text", "updates-integer"):
        if not results.has(case):
            yield f"{case} not measured"
            continue
        for ours, theirs in (("sheaf group", "sqlite3 normal"), ("sheaf full", "sqlite3 full")):
            name = f"{case.removeprefix('updates-')} key, {ours}"
            yield against(results, case, [theirs], 1, ours, name)
            ratio = results.ratio(case, ours, theirs, "written")
            if ratio is None:
                yield "bytes written are not told here"
                continue
            yield Check(f"{name}: bytes", f"{ratio:.2f} of its bytes "
                        f"({megabytes(results.median(case, ours, 'written'))} : "
                        f"{megabytes(results.median(case, theirs, 'written'))})", ratio, 2)
            done = results.median(case, ours, "told_updated") or 0
            wanted = results.median(case, ours, "told_read") or 1
            if done != wanted:
                yield wrong(f"{ours} replaced {done:.0f} of {wanted:.0f}")


SERIAL = [("told_readerSeconds", "reader"), ("told_writerSeconds", "writer"),
          ("told_flusherSeconds", "flusher")]


def serial_parts(results):
    for program in programs(results, "serial"):
        size = results.median("serial", program, "input_bytes")
        rows = results.median("serial", program, "told_imported")
        for key, stage in SERIAL:
            spent = results.median("serial", program, key)
            if not spent:
                continue
            rate = size / spent / 1e9
            text = f"{program}: {stage} {spent / size * 1e9:.3f} ns a byte, {rate:.1f} GB/s"
            if stage == "writer" and "key" in program:
                yield Check(f"{program}: {stage}", f"{text}, {rows / spent / 1e6:.1f} M rows/s",
                            rows / spent, 8e6, least=True)
            elif stage == "writer" and program != "apps":
                yield text
            else:
                yield Check(f"{program}: {stage}", text, rate, 6 if stage == "reader" else 4,
                            least=True)


# what, to reach, the cases it is told from, how
ROWS = [
    ("imports of every shape",
     "4 times as fast as the better DuckDB, apps and flights 6 times; 8 times as fast as sqlite3, prose 5",
     [case for case, _, _ in IMPORTS], import_shapes),
    ("import of the 47,472-row sample, process start included",
     "at most 1/4 of the better of the two", ["import-apps-47472"], import_small),
    ("import of 1,000,000 app rows with a text key",
     "8 times as fast as DuckDB, 10 times as fast as sqlite3", ["keyed-import"], keyed_import),
    ("keyed imports from 1,000,000 to 10,000,000 rows, and what comes after",
     "again at most 0.5 s; a row at most 1.15 times as dear; memory 64, 96 and 32 MB; one row, or a query "
     "by key, at most 8 ms; info at most 0.1 s", ["keyed-growth"], keyed_growth),
    ("files by batch size", "at most 2.4, 2.3, 2.2, 1.9 MB; at most 120 MB written one by one",
     ["batches"], batch_files),
    ("one object a transaction, `--durability full`, 47,472 rows",
     "at most 1.25 times 47,472 × the cost of two flushes measured in the same run",
     ["one-object-full"], one_object),
    ("`--batch-size 1000 --durability full`",
     "at most 1.3 times `group` plus the flushes' measured cost", ["batches-full"], batches_full),
    ("cost per row from 100,000 to 10,000,000 rows", "flat within 10%", ["growth"], cost_per_row),
    ("peak memory, any of these, from a file or a pipe", "under 64 MB at 10,000,000 rows",
     ["memory"], peak_memory),
    ("file after import of app rows, before compaction", "at most 45% of the CSV",
     ["import-apps-1000000"], file_after_import),
    ("file after compaction",
     "at most 0.6 of DuckDB's file on every shape, 0.5 for UUIDs",
     [f"{what}-{case.split('-', 1)[1]}" for what in ("compact", "import")
      for case in ["import-apps-47472", *(case for case, _, _ in IMPORTS)]], file_after_compaction),
    ("bytes written during an import", "at most 1.3 times the final file (no write amplification)",
     ["import-apps-1000000"], bytes_written),
    ("compaction", "faster than sqlite3's VACUUM of the same data, UUIDs and 186 MB of flights at most 0.5 s; "
     "memory under 128 MB",
     ["compact-apps-1000000"], compaction),
    ("`query --count` with one comparison over 1,000,000 rows; `export` to CSV",
     "faster than sqlite3; export at least 1,200 MB/s", ["query-number", "query-text", "export"],
     query_and_export),
    ("a reader's point lookup during an import", "99th percentile within 2 times the idle one",
     ["lookups"], point_lookup),
    ("point lookup, scan, filtered count and notification through the library, 1,000,000 rows",
     "lookup and scan at least 2 times as fast as SQLite in C, the others faster", READS,
     library_reads),
    ("one object a transaction, and 100,000 in one, through the library",
     "no slower than SQLite in C", WRITES, library_writes),
    ("what only one thread of an import can do at a time, by its processor time",
     "it allows 6 GB/s for the reader; for the writer 4 GB/s of app rows (124 bytes) and, with a key, "
     "8 M rows/s", ["serial"], serial_parts),
    ("random updates: 100 batches of 1,000 keyed replacements over 1,000,000 rows",
     "at least as fast as sqlite3 with a primary key in WAL mode, bytes written within 2 times its",
     ["updates-text", "updates-integer"], random_updates),
]


def table(results):
    """Lines of Markdown: the rows of which anything was asked for."""
    yield "| what | to reach | measured | reached? |"
    yield "|---|---|---|---|"
    for what, wanted, cases, tell in ROWS:
        asked = [case for case in cases if case in results.failures or results.has(case)]
        if not asked:
            continue
        yield f"| {what} | {wanted} | {' | '.join(verdict(results, cases, tell))} |"


def verdict(results, cases, tell):
    """What was measured, and whether it is enough."""
    missing = [case for case in cases if not results.has(case)]
    whys = sorted({results.failures.get(case, f"{case} was not asked for") for case in missing})
    if all(case in missing for case in cases):
        return "not measured", "; ".join(whys)
    found = list(tell(results))
    if not found:
        return "not measured", "; ".join(whys)
    checks = [item for item in found if isinstance(item, Check)]
    measured = "; ".join(item.text if isinstance(item, Check) else item for item in found)
    missed = [check.miss() for check in checks if not check.reached]
    if missed:
        return measured, "**missed**: " + "; ".join(missed)
    return measured, ("reached" if not missing else "not all measured: " + "; ".join(whys))
