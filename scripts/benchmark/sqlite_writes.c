/* Writes rows through SQLite's C interface, as fast as that goes, and prints what one row takes as one JSON object: on the
   wall, since a commit waits, and in processor time. What scripts/benchmark/cases.py puts beside Tests/WriteBenchmark.

     sqlite_writes FILE single|many [--synchronous full|normal|off] [--rows N] [--seed N]

   single  one row a transaction, after 1,000 that do not count
   many    all rows in one transaction, after as many in one that does not count

   Kind to SQLite: one prepared statement, no mutexes, WAL mode, checkpoints at most every 1,000 pages as it does by itself,
   the integer key as the rowid, text bound without a copy. */

#define PROGRAM "sqlite_writes"
#include "sqlite_common.h"

#include <string.h>

enum { WARM_UP = 1000 };

static void step(sqlite3 *database, sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(database));
  sqlite3_reset(statement);
}

static void insert(sqlite3 *database, sqlite3_stmt *statement, int64_t id, uint64_t *state) {
  char name[32];
  uint64_t number = next_random(state) % 1000000;
  int length = snprintf(name, sizeof name, "article %llu", (unsigned long long)number);
  sqlite3_bind_int64(statement, 1, id);
  sqlite3_bind_text(statement, 2, name, length, SQLITE_STATIC);
  sqlite3_bind_double(statement, 3, (double)(number % 10000) / 100);
  if (number % 10 == 0) sqlite3_bind_null(statement, 4);
  else sqlite3_bind_int64(statement, 4, (int64_t)(number % 1000));
  step(database, statement);
}

int main(int argc, char **argv) {
  const char *path = NULL, *what = NULL, *synchronous = "normal";
  int64_t rows = 10000, next = 1;
  uint64_t state = 1;
  for (int index = 1; index < argc; index++) {
    const char *value = index + 1 < argc ? argv[index + 1] : "";
    if (strcmp(argv[index], "--synchronous") == 0) synchronous = value, index++;
    else if (strcmp(argv[index], "--rows") == 0) rows = atoll(value), index++;
    else if (strcmp(argv[index], "--seed") == 0) state = strtoull(value, NULL, 10), index++;
    else if (path == NULL) path = argv[index];
    else what = argv[index];
  }
  int single = what != NULL && strcmp(what, "single") == 0;
  if (what == NULL || rows < 1 || (!single && strcmp(what, "many") != 0))
    fail("usage: sqlite_writes FILE single|many [--synchronous full|normal|off] [--rows N]");
  sqlite3 *database = open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  char pragma[64];
  snprintf(pragma, sizeof pragma, "pragma synchronous=%s", synchronous);
  run(database, "pragma journal_mode=wal");
  run(database, pragma);
  run(database, "create table t(id integer primary key, name text, price real, stock integer)");
  sqlite3_stmt *statement = prepare(database, "insert into t values(?, ?, ?, ?)");
  uint64_t wall = 0, processor = 0;
  for (int turn = 0; turn < 2; turn++) {
    int64_t count = turn == 0 && single ? WARM_UP : rows;
    wall = now(CLOCK_MONOTONIC);
    processor = now(CLOCK_PROCESS_CPUTIME_ID);
    if (!single) run(database, "begin");
    for (int64_t row = 0; row < count; row++) insert(database, statement, next++, &state);
    if (!single) run(database, "commit");
    wall = now(CLOCK_MONOTONIC) - wall;
    processor = now(CLOCK_PROCESS_CPUTIME_ID) - processor;
  }
  printf("{\"rows\":%lld,\"wall_ns\":%.2f,\"processor_ns\":%.2f}\n", (long long)rows,
         (double)wall / (double)rows, (double)processor / (double)rows);
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return 0;
}
