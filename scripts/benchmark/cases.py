"""The one registry of what is measured: cases, each with its commands and their inputs.

In commands, the first word names a program (`sheaf`, `sqlite3`, `duckdb`, `python` which has
DuckDB, `python3`, `lookups`, `reads`, `sqlite_reads`, `writes`, `sqlite_writes`), and what stands before a `|` feeds the rest. {input} is the CSV file,
{output} the database file, {scripts} the folder of this file; paths are relative to the folder the
programs run in. `lookups`, `reads`, `writes` and those beside them are programs for measuring alone: Tests/PointLookups,
Tests/ReadBenchmark and Tests/WriteBenchmark, sqlite_reads.c and sqlite_writes.c here.
"""

from dataclasses import dataclass, field

# Inputs


@dataclass(frozen=True)
class Input:
    """A file that the measured commands read: made once, by a command or from a text."""
    name: str
    words: tuple = ()
    needs: tuple = ()
    text: str | None = None


class Scale:
    """Numbers of rows, made smaller by `--scale` to try the benchmark itself."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, rows, least=1000):
        return rows if self.factor == 1 else max(min(rows, least), round(rows * self.factor))


def sample(shape, rows, seed=1):
    suffix = "" if seed == 1 else f"-seed{seed}"
    name = f"{shape}-{rows}{suffix}.csv"
    return Input(name, ("sheaf", "sample", "--rows", str(rows), "--shape", shape, "--seed",
                        str(seed), "--output", name))


def shaped(shape, rows):
    name = f"{shape}-{rows}.csv"
    return Input(name, ("python3", "{scripts}/shapes.py", shape, name, "--rows", str(rows)))


def flights(copies):
    name = f"flights-{copies}.csv"
    return Input(name, ("python", "{scripts}/shapes.py", "flights", name, "--copies", str(copies)))


def keyed(what, source, kind, among=0):
    name = f"{what}-{kind}-{source.name}"
    return Input(name, ("python3", "{scripts}/keyed.py", what, source.name, name, "--key", kind,
                        *(("--among", str(among)) if among else ())), needs=(source,))


# Commands


@dataclass(frozen=True)
class Command:
    words: tuple
    # The database to begin with, made once by these commands in turn and copied for each run.
    base: tuple = ()
    changes_base: bool = True
    input: Input | None = None  # the case's, when None
    needs: tuple = ()
    meanwhile: tuple = ()
    # The run's objects, for a cost of each.
    rows: int = 0
    repeats: int = 1
    # Variables, each as NAME=VALUE.
    environment: tuple = ()


def command(*words, **more):
    return Command(tuple(words), **more)


@dataclass
class Case:
    name: str
    title: str
    input: Input
    commands: dict
    note: str = ""
    most_runs: int | None = None
    warm_up: bool = True
    chart: bool = True


OURS = "sheaf"
PEERS = ["sqlite3", "duckdb", "duckdb (Python)"]
COLUMNS = ["App", "Category", "Rating", "Reviews", "Size", "Installs", "Type", "Price",
           '"Content Rating"', "Genres", '"Last Updated"', '"Current Ver"', '"Android Ver"']
SQLITE_COLUMNS = ", ".join(COLUMNS)
PYTHON_LOAD = "c.execute(\"create table t as select * from read_csv('{input}')\"); c.close()"

SHEAF_IMPORT = ("sheaf", "import", "{input}", "--into", "{output}", "--batch-size", "1000",
                "--report", "json")
SQLITE_IMPORT = ("sqlite3", "{output}", ".import --csv {input} t")
DUCKDB_IMPORT = ("duckdb", "{output}", "-c", "create table t as select * from read_csv('{input}')")


def imports(**more):
    return {
        OURS: Command(SHEAF_IMPORT, **more),
        "sqlite3": Command(SQLITE_IMPORT, **more),
        "duckdb": Command(DUCKDB_IMPORT, **more),
        "duckdb (Python)": command(
            "python", "-c", "import duckdb; c = duckdb.connect('{output}'); " + PYTHON_LOAD,
            **more),
    }


def import_cases(scale):
    sources = [
        ("apps-1000000", "1,000,000 app rows", sample("apps", scale(1_000_000))),
        ("apps-47472", "47,472 app rows", sample("apps", scale(47_472))),
        ("numbers-1000000", "1,000,000 rows of 20 numbers", sample("numbers", scale(1_000_000))),
        ("text-200000", "200,000 rows of prose", sample("text", scale(200_000))),
        ("flights-1", "336,776 flights, 31 MB", flights(1)),
        ("flights-6", "2,020,656 flights, 186 MB", flights(6)),
        ("uuid-1000000", "1,000,000 rows of two UUIDs", shaped("uuid", scale(1_000_000))),
        ("quoted-1000000", "1,000,000 rows of quoted fields with line breaks",
         shaped("quoted", scale(1_000_000))),
        ("wide-50000", "50,000 rows of 200 columns", shaped("wide", scale(50_000))),
    ]
    for name, words, source in sources:
        yield Case(f"import-{name}", f"Import of {words}", source, imports(),
                   note="sqlite3 and DuckDB in their default settings, durable at the end as sheaf "
                        "is: SQLite in one transaction with `synchronous=FULL`, DuckDB with a "
                        "checkpoint when it closes. Python's start and the import of its module "
                        "are in the times of duckdb (Python).")
        yield Case(f"compact-{name}", f"Compaction of {words}", source, {
            OURS: command("sheaf", "compact", "{output}", "--quiet", base=(SHEAF_IMPORT,)),
            "sqlite3": command("sqlite3", "{output}", "vacuum", base=(SQLITE_IMPORT,)),
        }, note="Each from a fresh copy of the file that the import made. DuckDB's files are those "
                "of the import.")


# Transactions


def flush_pairs(pairs, size, appending, **more):
    return command("python3", "{scripts}/flushes.py", "flushes", "--pairs", str(pairs), "--bytes",
                   str(size), *(("--appending",) if appending else ()), **more)


def transaction_cases(scale):
    rows = scale(47_472)
    source = sample("apps", rows)
    yield Case("one-object-full", "One object a transaction, every one durable", source, {
        OURS: command("sheaf", "import", "{input}", "--into", "{output}", "--batch-size", "1",
                      "--durability", "full", "--report", "json", rows=rows),
        "flushes in place": flush_pairs(scale(4000, 100), 4096, False),
        "flushes appending": flush_pairs(scale(4000, 100), 4096, True),
    }, warm_up=False, chart=False,
        note="The flushes of a commit by themselves, in the same folder and round: 4 KiB and a "
             "commit slot. The limit is taken from those in place, the cheaper ones: small commits "
             "use freed pages again.")
    rows = scale(1_000_000)
    yield Case("batches-full", "Batches of 1,000, every one durable", sample("apps", rows), {
        OURS: Command(SHEAF_IMPORT, rows=rows),
        "sheaf full": command(*SHEAF_IMPORT, "--durability", "full", rows=rows),
        "flushes in place": flush_pairs(scale(1000, 100), 40960, False),
        "flushes appending": flush_pairs(scale(1000, 100), 40960, True),
    }, chart=False,
        note="A pair of flushes writes 40 KiB, about a batch in the file, and a commit slot. The "
             "limit is taken from those that append, because the file grows.")


# Size of the input


def growth_cases(scale):
    commands = {}
    for rows, repeats in ((100_000, 5), (1_000_000, 1), (10_000_000, 1)):
        more = dict(input=sample("apps", scale(rows)), rows=scale(rows), repeats=repeats)
        commands[f"{rows:,} rows, file"] = Command(SHEAF_IMPORT, **more)
        commands[f"{rows:,} rows, pipe"] = piped("--batch-size", "1000", **more)
    commands["1 row, file"] = Command(SHEAF_IMPORT, input=sample("apps", 1), repeats=5)
    large = sample("apps", scale(10_000_000))
    yield Case("growth", "Cost per row as the input grows", large, commands, chart=False,
               note="`cat` feeds the pipe; its own time and memory are not counted, but it takes "
                    "part in sharing the processor. The short imports are repeated within a "
                    "round. The import of one row is what every import takes: the start of the "
                    "process, a new file and its flushes.")
    commands = {}
    for batch in ("1000", "all"):
        for parsers in ("1", "2", "4"):
            options = ("--batch-size", batch, "--parsers", parsers)
            name = f"batch {batch}, --parsers {parsers}"
            commands[f"file, {name}"] = command(
                "sheaf", "import", "{input}", "--into", "{output}", *options, "--report", "json")
            commands[f"pipe, {name}"] = piped(*options)
    for shape, rows in (("numbers", 1_000_000), ("text", 200_000)):
        for parsers in ("1", "2", "4"):
            more = dict(input=sample(shape, scale(rows)))
            options = ("--batch-size", "1000", "--parsers", parsers)
            name = f"--parsers {parsers}"
            commands[f"{shape}-{rows}, file, {name}"] = command(
                "sheaf", "import", "{input}", "--into", "{output}", *options, "--report", "json",
                **more)
            commands[f"{shape}-{rows}, pipe, {name}"] = piped(*options, **more)
    yield Case("memory", "Peak memory of an import of 10,000,000 rows", large, commands,
               most_runs=2, warm_up=False, chart=False,
               note="Of app rows where nothing else is said.")


def piped(*options, **more):
    return command("cat", "{input}", "|", "sheaf", "import", "-", "--into", "{output}", *options,
                   "--report", "json", **more)


# Reading

# SQLite has no NaN and keeps null for it; its `.import` alone would compare spellings.
SQLITE_TYPED = (
    "sqlite3", "{output}",
    f"create table t({SQLITE_COLUMNS})".replace("Rating,", "Rating real,", 1)
    .replace("Reviews,", "Reviews integer,"),
    ".import --csv --skip 1 {input} t",
    "update t set Rating = null where Rating = 'NaN'")


def reading_cases(scale):
    source = sample("apps", scale(1_000_000))
    bases = dict(sheaf=(SHEAF_IMPORT,), sqlite3=(SQLITE_TYPED,), duckdb=(DUCKDB_IMPORT,))
    queries = [
        ("query-number", "Rating >= 4.5", "Rating >= 4.5", "Rating >= 4.5 and not isnan(Rating)"),
        ("query-text", 'Category == "GAME"', "Category = 'GAME'", "Category = 'GAME'"),
    ]
    for name, ours, sqlite, duckdb in queries:
        yield Case(name, f"Count of the rows with {ours}, of 1,000,000", source, {
            OURS: reading(bases["sheaf"], "sheaf", "query", "{output}", ours, "--count"),
            "sqlite3": reading(bases["sqlite3"], "sqlite3", "{output}",
                               f"select count(*) from t where {sqlite}"),
            "duckdb": reading(bases["duckdb"], "duckdb", "-csv", "-noheader", "{output}", "-c",
                              f"select count(*) from t where {duckdb}"),
        }, note="Without an index. SQLite's table has typed columns, and null for NaN, which "
                "DuckDB counts as larger than every number and is told not to. All must print the "
                "same count.")
    yield Case("export", "Export of 1,000,000 rows as CSV", source, {
        OURS: reading(bases["sheaf"], "sheaf", "export", "{output}", "--output", "out.csv"),
        "sqlite3": reading((SQLITE_IMPORT,), "sqlite3", "{output}", ".mode csv", ".headers on",
                           ".once out.csv", "select * from t"),
        "duckdb": reading(bases["duckdb"], "duckdb", "{output}", "-c", "copy t to 'out.csv'"),
    })
    seconds = "1.5" if scale.factor == 1 else "0.3"
    look = ("lookups", "{output}", "--seconds", seconds, "--refresh-every", "1000")
    busy = ("python3", "-c", "while True: pass")
    more = sample("apps", scale(10_000_000, least=5_000_000))
    load = ("sheaf", "import", more.name, "--into", "{output}", "--table", "more", "--quiet")
    alone = dict(base=bases["sheaf"], changes_base=False)
    yield Case("lookups", "Point lookups during an import", source, {
        "idle": command(*look, **alone),
        "beside one busy process": command(*look, meanwhile=(busy,), **alone),
        "beside two busy processes": command(*look, meanwhile=(busy, busy), **alone),
        "during an import": command(*look, meanwhile=(load,), needs=(more,), base=bases["sheaf"]),
    }, chart=False, note="`Table.row(forKey:)` of random keys of 1,000,000 objects, all 13 values "
                         "read, a new snapshot every 1,000 lookups; the importing process writes a "
                         "second table of the same file. A busy process computes and touches no "
                         "file: what it costs the lookups is the share of the processor.")


def reading(base, *words):
    return command(*words, base=base, changes_base=False)


# Reading through the libraries

READS_NOTE = (
    "Through the libraries, in processor time: SQLite's C interface as fast as it goes (a prepared "
    "statement in one read transaction, no mutexes, the file mapped, a page cache larger than it), "
    "every value asked for in its type. ")


def read_cases(scale):
    source = sample("apps", scale(1_000_000))
    imported = (SHEAF_IMPORT,)
    compacted = (SHEAF_IMPORT, ("sheaf", "compact", "{output}", "--quiet"))
    seconds = "3" if scale.factor == 1 else "0.3"
    kinds = [
        ("lookup", "copied", "Random objects by key, all 13 values, as rows",
         "`Table.row(forKey:)`, against text copied out of SQLite's pages, where it is longer than "
         "15 bytes into allocated memory."),
        ("scan", "copied", "Scan of all objects, all 13 values, as rows",
         "`Table.forEachRow`, against text copied as in the lookups."),
        ("scan", "viewed", "Scan of all objects, all 13 values, in place",
         "`Table.forEachView`, against text left where SQLite has it."),
        ("count", "copied", "Count of the rows with Rating >= 4.5",
         "`Query.count`, against `select count(*)`, neither with an index."),
        ("notify", "copied", "From a commit to an observer of Rating >= 4.5 on another thread",
         "Durability none, against `synchronous=off` in WAL mode and a thread that asks for "
         "`data_version` every millisecond and counts again. Time on the wall, median of 200. Sheaf's "
         "observer is told which objects came and went."),
    ]
    for what, values, title, note in kinds:
        words = (what, "--values", values, "--seconds", seconds)
        name = f"reads-{what}" + ("" if values == "copied" else "-viewed")
        yield Case(name, title, source, {
            OURS: reading(imported, "reads", "{output}", *words),
            "sheaf, compacted": reading(compacted, "reads", "{output}", *words),
            "sqlite3": reading((SQLITE_TYPED,), "sqlite_reads", "{output}", *words),
        }, chart=False, note=READS_NOTE + note)


# Writing through the libraries


def write_cases(scale):
    source = sample("apps", 1)
    kinds = [("full", "full"), ("group", "normal"), ("none", "off")]
    single, many = scale(5000, 200), scale(100_000)
    for durability, synchronous in kinds:
        words = ("--rows", str(single))
        yield Case(f"writes-single-{durability}", f"One object a transaction, durability {durability}",
                   source, {
            OURS: command("writes", "{output}", "single", "--durability", durability, *words),
            "sqlite3": command("sqlite_writes", "{output}", "single", "--synchronous", synchronous,
                               *words),
        }, chart=False, note="Four columns and an integer key. SQLite in WAL mode; `synchronous="
                             f"{synchronous}`" + (
            ", which may lose the newest transactions until a checkpoint." if synchronous != "full"
            else "."))
    words = ("--rows", str(many))
    yield Case("writes-many", f"{many:,} objects in one transaction", source, {
        OURS: command("writes", "{output}", "many", *words),
        "sheaf, Encodable": command("writes", "{output}", "many", "--values", "codable", *words),
        "sqlite3": command("sqlite_writes", "{output}", "many", *words),
    }, chart=False, note="The same rows, as arrays of values and as `Encodable` objects; SQLite binds the values of a "
                         "prepared statement.")


# Random updates


def update_script(updates, synchronous, batches, size):
    """What the sqlite3 shell reads: the CSV into a table in memory, then the transactions."""
    upsert = "on conflict(id) do update set " + ", ".join(
        f"{column}=excluded.{column}" for column in COLUMNS)
    lines = ["pragma temp_store=memory;", f"pragma synchronous={synchronous};",
             f"create temp table u(id, {SQLITE_COLUMNS});",
             f".import --csv --skip 1 --schema temp {updates} u"]
    for batch in range(batches):
        first, last = batch * size + 1, (batch + 1) * size
        lines += ["begin;", f"insert into t select * from temp.u where rowid between {first} and "
                            f"{last} {upsert};", "commit;"]
    return "\n".join(lines) + "\n"


def update_cases(scale):
    rows, size = scale(1_000_000), scale(1000, 10)
    batches = 100
    for kind in ("text", "integer"):
        base = keyed("base", sample("apps", rows), kind)
        updates = keyed("updates", sample("apps", batches * size, seed=2), kind, among=rows)
        sheaf_base = (("sheaf", "import", base.name, "--into", "{output}", "--table", "t", "--key",
                       "id", "--quiet"),)
        identifier = "id integer primary key" if kind == "integer" else "id text primary key"
        without = "" if kind == "integer" else " without rowid"
        sqlite_base = (("sqlite3", "{output}", "pragma journal_mode=wal",
                        f"create table t({identifier}, {SQLITE_COLUMNS}){without}",
                        f".import --csv --skip 1 {base.name} t"),)
        commands = {}
        for durability, synchronous in (("group", "normal"), ("full", "full")):
            script = Input(f"updates-{kind}-{synchronous}.sql", needs=(updates,),
                           text=update_script(updates.name, synchronous, batches, size))
            commands[f"sheaf {durability}"] = command(
                "sheaf", "import", "{input}", "--into", "{output}", "--table", "t", "--key", "id",
                "--on-conflict", "replace", "--batch-size", str(size), "--durability", durability,
                "--report", "json", base=sheaf_base, needs=(base,), rows=batches * size)
            commands[f"sqlite3 {synchronous}"] = command(
                "sqlite3", "{output}", f".read {script.name}", base=sqlite_base,
                needs=(base, script), rows=batches * size)
        yield Case(f"updates-{kind}", f"Random updates by {kind} key", updates, commands,
                   note=f"100 transactions of {size:,} replacements among {rows:,} keyed rows, in "
                        "one process that reads them from CSV. SQLite: WAL mode, its tree keyed by "
                        "the primary key (for text, `without rowid`) and an upsert of every "
                        "column, which were faster and wrote less than `insert or replace`; the "
                        "CSV first into a table in memory; its shell, because Python would add its "
                        "own start and a call for every row. `group` stands beside "
                        "`synchronous=NORMAL`, which is weaker (the newest transactions may be "
                        "lost until a checkpoint), `full` beside `FULL`. Bytes written are those "
                        "of the whole process, the checkpoint at its end included.")


# Keys


def key_cases(scale):
    rows = scale(1_000_000)
    source = keyed("base", sample("apps", rows), "text")
    load = ("sheaf", "import", "{input}", "--into", "{output}", "--table", "t", "--key", "id",
            "--on-conflict", "update", "--report", "json")
    table = "create table t(id text primary key, " + SQLITE_COLUMNS + ") without rowid"
    typed = "create table t as select * from read_csv('{input}') limit 0; "
    duckdb = typed + "alter table t add primary key (id); insert into t select * from read_csv('{input}')"
    python = ("import duckdb; c = duckdb.connect('{output}'); c.execute(\"" + duckdb + "\"); c.close()")
    yield Case("keyed-import", "Import of 1,000,000 app rows with a text key", source, {
        OURS: Command(load),
        "sqlite3": command("sqlite3", "{output}", table, ".import --csv --skip 1 {input} t"),
        "duckdb": command("duckdb", "{output}", "-c", duckdb),
        "duckdb (Python)": command("python", "-c", python),
    }, note="Keys of 12 digits, in no order. SQLite's tree is keyed by them (`without rowid`).")
    commands = {}
    for count in (1_000_000, 10_000_000):
        more = keyed("base", sample("apps", scale(count)), "text")
        again = dict(input=more, base=(load,), rows=scale(count))
        commands[f"{count:,} rows, first"] = Command(load, input=more, rows=scale(count))
        commands[f"{count:,} rows, again"] = Command(load, **again)
        one = keyed("updates", sample("apps", 1, seed=3), "text", among=scale(count))
        commands[f"{count:,} rows, one row"] = command(
            *(one.name if word == "{input}" else word for word in load), needs=(one,), **again)
        commands[f"{count:,} rows, query by key"] = command(
            "sheaf", "query", "{output}", 'id == "000000000000"', "--count", input=more, base=(load,),
            changes_base=False)
        commands[f"{count:,} rows, info"] = command(
            "sheaf", "info", "{output}", "--report", "json", input=more, base=(load,), changes_base=False)
    yield Case("keyed-growth", "Keyed imports, and what comes after, as the table grows", source, commands,
               most_runs=3, chart=False,
               note="The same file again changes nothing. One row replaces another one. The query finds none.")
    source = sample("apps", scale(47_472))
    yield Case("batches", "Files and bytes written by batch size, 47,472 app rows", source, {
        f"batch {size}": command("sheaf", "import", "{input}", "--into", "{output}", "--batch-size", size,
                                 "--compact", "never", "--report", "json")
        for size in ("1", "10", "100", "1000", "all")}, most_runs=3, chart=False)


# What only one thread can do at a time


def serial_cases(scale):
    """The threads' processor time is in the report of each import."""
    def shape(source, *options):
        return command("sheaf", "import", "{input}", "--into", "{output}", "--compact", "never",
                       "--parsers", "16", *options, "--report", "json", input=source,
                       environment=("SHEAF_READERS=2",))
    apps = sample("apps", scale(1_000_000))
    yield Case("serial", "Serial parts of an import that is read ahead", apps, {
        "apps": shape(apps),
        "apps, one transaction": shape(apps, "--batch-size", "all"),
        "numbers": shape(sample("numbers", scale(1_000_000))),
        "text": shape(sample("text", scale(200_000))),
        "apps, key": shape(keyed("base", apps, "text"), "--key", "id"),
    }, chart=False,
        note="Processor time of the reader's, the writer's and the flusher's threads. What parsers and "
             "those that read ahead do is not in it, nor is waiting: with enough cores, the import "
             "is as fast as the slowest of the three. Two threads read ahead, as they do by themselves "
             "only with six parsers and more.")


def all_cases(factor):
    scale = Scale(factor)
    cases = [*import_cases(scale), *transaction_cases(scale), *growth_cases(scale),
             *reading_cases(scale), *read_cases(scale), *write_cases(scale), *update_cases(scale),
             *key_cases(scale), *serial_cases(scale)]
    return {case.name: case for case in cases}
