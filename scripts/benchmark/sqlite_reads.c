/* Reads a table through SQLite's C interface, as fast as that goes, and prints what one read takes as
   one JSON object, in processor time, so that a busy machine changes it little. What
   scripts/benchmark/cases.py puts beside Tests/ReadBenchmark.

     sqlite_reads FILE lookup|scan|count|notify [--values copied|viewed] [--seconds S] [--seed N]

   lookup  all columns of random rows by rowid, through one prepared statement
   scan    all columns of all rows, in the order of rowid
   count   the rows with Rating >= 4.5
   notify  from the beginning of a commit without a flush, which changes one row, until another thread
           knows how many rows have Rating >= 4.5 now; the median, in time on the wall. SQLite does
           not call other connections: the thread asks for `data_version` every millisecond, and
           counts again when it is another.

   Kind to SQLite: one read transaction around everything, so no lock is taken for a statement; no
   mutexes; the file mapped, and a page cache larger than the file. Every value is asked for in the
   type it is stored in. `copied`: what the program would keep, so text is copied out of the page; into
   a structure of its own when it has at most 15 bytes, as std::string and Swift's String do, and
   into allocated memory when it has more. `viewed`: text stays where SQLite has it, and its length is
   read. */

#define PROGRAM "sqlite_reads"
#include "sqlite_common.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MOST_COLUMNS = 64, SHORT_TEXT = 15 };

struct value {
  int type;
  int length;
  union {
    int64_t integer;
    double number;
    char *text;
    char chars[16];
  };
};

static uint64_t sum; /* keeps the compiler from leaving reads out */

static void take(sqlite3_stmt *statement, int column, struct value *value, int copies) {
  value->type = sqlite3_column_type(statement, column);
  switch (value->type) {
  case SQLITE_INTEGER:
    value->integer = sqlite3_column_int64(statement, column);
    sum += (uint64_t)value->integer;
    break;
  case SQLITE_FLOAT:
    value->number = sqlite3_column_double(statement, column);
    sum += value->number > 0;
    break;
  case SQLITE_NULL:
    break;
  default: {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    value->length = sqlite3_column_bytes(statement, column);
    if (!copies) {
      value->text = (char *)text;
    } else if (value->length <= SHORT_TEXT) {
      memcpy(value->chars, text, (size_t)value->length);
    } else {
      value->text = malloc((size_t)value->length);
      memcpy(value->text, text, (size_t)value->length);
    }
    sum += (uint64_t)value->length;
  }
  }
}

static void read_row(sqlite3_stmt *statement, int columns, int copies) {
  struct value row[MOST_COLUMNS];
  for (int column = 0; column < columns; column++) take(statement, column, &row[column], copies);
  /* Stands for what a program would do with the row. */
  __asm__ volatile("" : : "r"(row) : "memory");
  if (!copies) return;
  for (int column = 0; column < columns; column++) {
    int is_text = row[column].type == SQLITE_TEXT || row[column].type == SQLITE_BLOB;
    if (is_text && row[column].length > SHORT_TEXT) free(row[column].text);
  }
}

/* All columns of the table. */
static sqlite3_stmt *prepare_rows(sqlite3 *database, const char *sql) {
  sqlite3_stmt *statement = prepare(database, sql);
  if (sqlite3_column_count(statement) > MOST_COLUMNS) fail("too many columns");
  return statement;
}

static int64_t one_number(sqlite3 *database, const char *sql) {
  sqlite3_stmt *statement = prepare(database, sql);
  if (sqlite3_step(statement) != SQLITE_ROW) fail(sqlite3_errmsg(database));
  int64_t number = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return number;
}

static void report(uint64_t reads, uint64_t rows, uint64_t took) {
  printf("{\"reads\":%llu,\"read_ns\":%.2f,\"rows\":%llu}\n", (unsigned long long)reads,
         (double)took / (double)reads, (unsigned long long)rows);
}

static void lookup(sqlite3 *database, double seconds, uint64_t seed, int copies) {
  int64_t count = one_number(database, "select max(rowid) from t");
  sqlite3_stmt *statement = prepare_rows(database, "select * from t where rowid = ?");
  int columns = sqlite3_column_count(statement);
  uint64_t state = seed, reads = 0, began = 0, end = 0;
  /* The first half second fills the cache and does not count. */
  for (int turn = 0; turn < 2; turn++) {
    reads = 0;
    began = now(CLOCK_PROCESS_CPUTIME_ID);
    end = now(CLOCK_MONOTONIC) + (uint64_t)((turn == 0 ? 0.5 : seconds) * 1e9);
    do {
      for (int index = 0; index < 100; index++) {
        sqlite3_bind_int64(statement, 1, (int64_t)(next_random(&state) % (uint64_t)count) + 1);
        if (sqlite3_step(statement) != SQLITE_ROW) fail("a row is missing");
        read_row(statement, columns, copies);
        sqlite3_reset(statement);
      }
      reads += 100;
    } while (now(CLOCK_MONOTONIC) < end);
  }
  report(reads, (uint64_t)count, now(CLOCK_PROCESS_CPUTIME_ID) - began);
  sqlite3_finalize(statement);
}

static void scan(sqlite3 *database, int turns, int copies) {
  sqlite3_stmt *statement = prepare_rows(database, "select * from t");
  int columns = sqlite3_column_count(statement);
  uint64_t best = UINT64_MAX, rows = 0;
  for (int turn = 0; turn < turns; turn++) {
    rows = 0;
    uint64_t began = now(CLOCK_PROCESS_CPUTIME_ID);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      read_row(statement, columns, copies);
      rows++;
    }
    uint64_t took = now(CLOCK_PROCESS_CPUTIME_ID) - began;
    sqlite3_reset(statement);
    if (took < best) best = took;
  }
  report(rows, rows, best);
  sqlite3_finalize(statement);
}

static void count(sqlite3 *database, int turns) {
  uint64_t best = UINT64_MAX, rows = 0;
  uint64_t all = (uint64_t)one_number(database, "select count(*) from t");
  sqlite3_stmt *statement = prepare(database, "select count(*) from t where Rating >= 4.5");
  for (int turn = 0; turn < turns; turn++) {
    uint64_t began = now(CLOCK_PROCESS_CPUTIME_ID);
    if (sqlite3_step(statement) != SQLITE_ROW) fail(sqlite3_errmsg(database));
    rows = (uint64_t)sqlite3_column_int64(statement, 0);
    uint64_t took = now(CLOCK_PROCESS_CPUTIME_ID) - began;
    sqlite3_reset(statement);
    if (took < best) best = took;
  }
  report(all, rows, best);
  sqlite3_finalize(statement);
}

struct watcher {
  const char *path;
  int64_t told;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int stopping;
};

static void *watch(void *argument) {
  struct watcher *watcher = argument;
  sqlite3 *database = open_database(watcher->path, SQLITE_OPEN_READONLY);
  run(database, "pragma mmap_size=4294967296; pragma cache_size=-1048576");
  int64_t known = -1;
  for (;;) {
    int64_t version = one_number(database, "pragma data_version");
    if (version != known) {
      known = version;
      sum += (uint64_t)one_number(database, "select count(*) from t where Rating >= 4.5");
      pthread_mutex_lock(&watcher->lock);
      watcher->told++;
      pthread_cond_broadcast(&watcher->changed);
      pthread_mutex_unlock(&watcher->lock);
    }
    pthread_mutex_lock(&watcher->lock);
    int stopping = watcher->stopping;
    pthread_mutex_unlock(&watcher->lock);
    if (stopping) break;
    usleep(1000);
  }
  sqlite3_close(database);
  return NULL;
}

static void wait_for(struct watcher *watcher, int64_t told) {
  pthread_mutex_lock(&watcher->lock);
  while (watcher->told < told) pthread_cond_wait(&watcher->changed, &watcher->lock);
  pthread_mutex_unlock(&watcher->lock);
}

static int ascending(const void *one, const void *other) {
  uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
  return left < right ? -1 : left > right;
}

static void notify(const char *path, uint64_t seed) {
  enum { TURNS = 200 };
  sqlite3 *database;
  if (sqlite3_open(path, &database) != SQLITE_OK) fail(sqlite3_errmsg(database));
  run(database, "pragma journal_mode=wal; pragma synchronous=off");
  int64_t count = one_number(database, "select max(rowid) from t");
  struct watcher watcher = {path, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, &watcher) != 0) fail("no thread");
  wait_for(&watcher, 1);
  sqlite3_stmt *statement = prepare(
      database, "update t set Rating = case when Rating >= 4.5 then 1 else 5 end where rowid = ?");
  static uint64_t times[TURNS];
  uint64_t state = seed;
  for (int turn = 0; turn < TURNS; turn++) {
    sqlite3_bind_int64(statement, 1, (int64_t)(next_random(&state) % (uint64_t)count) + 1);
    uint64_t began = now(CLOCK_MONOTONIC);
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(database));
    sqlite3_reset(statement);
    wait_for(&watcher, turn + 2);
    times[turn] = now(CLOCK_MONOTONIC) - began;
  }
  pthread_mutex_lock(&watcher.lock);
  watcher.stopping = 1;
  pthread_mutex_unlock(&watcher.lock);
  pthread_join(thread, NULL);
  qsort(times, TURNS, sizeof times[0], ascending);
  report(TURNS, (uint64_t)count, times[TURNS / 2] * TURNS);
  sqlite3_finalize(statement);
  sqlite3_close(database);
}

int main(int argc, char **argv) {
  const char *path = NULL, *what = NULL;
  double seconds = 1;
  uint64_t seed = 1;
  int copies = 1, turns = 3;
  for (int index = 1; index < argc; index++) {
    const char *next = index + 1 < argc ? argv[index + 1] : "";
    if (strcmp(argv[index], "--values") == 0) copies = strcmp(next, "viewed") != 0, index++;
    else if (strcmp(argv[index], "--seconds") == 0) seconds = atof(next), index++;
    else if (strcmp(argv[index], "--seed") == 0) seed = strtoull(next, NULL, 10), index++;
    else if (path == NULL) path = argv[index];
    else what = argv[index];
  }
  if (what == NULL) fail("usage: sqlite_reads FILE lookup|scan|count|notify");
  if (strcmp(what, "notify") == 0) {
    notify(path, seed);
    return 0;
  }
  sqlite3 *database = open_database(path, SQLITE_OPEN_READONLY);
  run(database, "pragma mmap_size=4294967296; pragma cache_size=-1048576; begin");
  if (strcmp(what, "lookup") == 0) lookup(database, seconds, seed, copies);
  else if (strcmp(what, "scan") == 0) scan(database, turns, copies);
  else if (strcmp(what, "count") == 0) count(database, turns);
  else fail("usage: sqlite_reads FILE lookup|scan|count|notify");
  sqlite3_close(database);
  if (sum == 1) puts("");
  return 0;
}
