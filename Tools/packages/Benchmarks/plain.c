// The other side of the benchmark: the same work in C with plain SQLite, nothing sealed.
//
// Does: `plain WORK STORE COUNT` does one piece of work on one file and prints its wall and CPU seconds.
// Knows: the sample documents (the same bytes as Samples.swift makes) and the settings that ours has.
// Does not know: what is measured against it. Set-up (opening, samples, random order) is not timed.

#define _GNU_SOURCE  // memmem
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES = 1024, BLOCK_BYTES = 1 << 20, TITLE_BYTES = 32 };

static sqlite3 *db;
static char block[BLOCK_BYTES];
static uint64_t touched;

// Samples.

static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static void make_block(void) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz .,\n";
  uint64_t state = 1;
  for (int i = 0; i < BLOCK_BYTES; i++) block[i] = letters[next_random(&state) % (sizeof letters - 1)];
}

static const char *text_of(uint64_t number) {
  return block + number * 7919 % (BLOCK_BYTES - TEXT_BYTES);
}

static int title_of(uint64_t number, char title[TITLE_BYTES]) {
  return snprintf(title, TITLE_BYTES, "Document number %llu", (unsigned long long)number);
}

// The numbers 1 to count, each once, in the same random order on both sides.
static uint64_t *random_order(uint64_t count) {
  uint64_t *order = malloc(count * sizeof *order);
  uint64_t state = 2;
  for (uint64_t i = 0; i < count; i++) order[i] = i + 1;
  for (uint64_t i = count; i > 1; i--) {
    uint64_t other = next_random(&state) % i, kept = order[i - 1];
    order[i - 1] = order[other];
    order[other] = kept;
  }
  return order;
}

// SQLite.

static void check(int code) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
    fprintf(stderr, "plain: %s\n", sqlite3_errmsg(db));
    exit(1);
  }
}

static void run(const char *sql) { check(sqlite3_exec(db, sql, 0, 0, 0)); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0));
  return statement;
}

static void open_database(const char *path) {
  check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0));
  run("PRAGMA page_size=4096; PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA; PRAGMA cache_size=-65536;"
      "PRAGMA temp_store=MEMORY; PRAGMA secure_delete=ON");
  run("CREATE TABLE IF NOT EXISTS docs(id INTEGER PRIMARY KEY, coll INTEGER NOT NULL, pos INTEGER NOT NULL,"
      " title TEXT, text TEXT NOT NULL); CREATE INDEX IF NOT EXISTS docs_pos ON docs(coll, pos)");
}

static void insert_at(sqlite3_stmt *statement, uint64_t number, sqlite3_int64 position) {
  char title[TITLE_BYTES];
  int length = title_of(number, title);
  sqlite3_bind_int64(statement, 1, position);
  sqlite3_bind_text(statement, 2, title, length, SQLITE_STATIC);
  sqlite3_bind_text(statement, 3, text_of(number), TEXT_BYTES, SQLITE_STATIC);
  check(sqlite3_step(statement));
  sqlite3_reset(statement);
}

static void insert(sqlite3_stmt *statement, uint64_t number) {
  insert_at(statement, number, (sqlite3_int64)(number << 32));
}

static const char insert_sql[] = "INSERT INTO docs(coll, pos, title, text) VALUES(1, ?, ?, ?)";

static void touch_column(sqlite3_stmt *statement, int column) {
  const unsigned char *bytes = sqlite3_column_text(statement, column);
  int count = sqlite3_column_bytes(statement, column);
  if (count > 0) touched += bytes[0] + bytes[count - 1] + (unsigned)count;
}

// Works.

static void work_insert(uint64_t count) {
  sqlite3_stmt *statement = prepare(insert_sql);
  run("BEGIN IMMEDIATE");
  for (uint64_t i = 1; i <= count; i++) insert(statement, i);
  run("COMMIT");
}

static void work_commit(uint64_t count) {
  sqlite3_stmt *statement = prepare(insert_sql), *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
  for (uint64_t i = 1; i <= count; i++) {
    check(sqlite3_step(begin));
    sqlite3_reset(begin);
    insert(statement, i + 1000000);
    check(sqlite3_step(commit));
    sqlite3_reset(commit);
  }
}

/* So many documents fit a cache of pages here and the cache of texts there. */
#define AGAIN 4000

/* `count` reads of the first `among` documents of the order, round after round. */
static void work_get(uint64_t count, const uint64_t *order, uint64_t among) {
  sqlite3_stmt *statement = prepare("SELECT title, text FROM docs WHERE id = ?");
  run("BEGIN");
  for (uint64_t i = 0; i < count; i++) {
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)order[i % among]);
    if (sqlite3_step(statement) != SQLITE_ROW) check(SQLITE_ERROR);
    touch_column(statement, 0);
    touch_column(statement, 1);
    sqlite3_reset(statement);
  }
  run("COMMIT");
}

static void work_scan(const char *sql, int columns) {
  sqlite3_stmt *statement = prepare(sql);
  run("BEGIN");
  while (sqlite3_step(statement) == SQLITE_ROW)
    for (int column = 1; column <= columns; column++) touch_column(statement, column);
  sqlite3_reset(statement);
  run("COMMIT");
}

static void work_search(void) {
  static const char word[] = "harbour";
  sqlite3_stmt *statement = prepare("SELECT id, title, text FROM docs WHERE coll = 1 ORDER BY pos, id");
  run("BEGIN");
  while (sqlite3_step(statement) == SQLITE_ROW)
    for (int column = 1; column <= 2; column++) {
      const void *text = sqlite3_column_text(statement, column);
      if (memmem(text, (size_t)sqlite3_column_bytes(statement, column), word, sizeof word - 1)) touched++;
    }
  sqlite3_reset(statement);
  run("COMMIT");
}

static void work_update(uint64_t count, const uint64_t *order) {
  sqlite3_stmt *statement = prepare("UPDATE docs SET text = ? WHERE id = ?");
  run("BEGIN IMMEDIATE");
  for (uint64_t i = 0; i < count; i++) {
    sqlite3_bind_text(statement, 1, text_of(order[i] + 5), TEXT_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)order[i]);
    check(sqlite3_step(statement));
    sqlite3_reset(statement);
  }
  run("COMMIT");
}

static void work_top(uint64_t count) {
  sqlite3_stmt *statement = prepare(insert_sql);
  run("BEGIN IMMEDIATE");
  for (uint64_t i = 1; i <= count; i++) insert_at(statement, i + 1000000, -(sqlite3_int64)(i << 32));
  run("COMMIT");
}

/* One statement for each move, which knows where to without looking. */
static void work_move(uint64_t count, const uint64_t *order) {
  sqlite3_stmt *statement = prepare("UPDATE docs SET pos = ? WHERE id = ?");
  run("BEGIN IMMEDIATE");
  for (uint64_t i = 0; i + 1 < count; i++) {
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)(order[i + 1] << 32) + 1);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)order[i]);
    check(sqlite3_step(statement));
    sqlite3_reset(statement);
  }
  run("COMMIT");
}

static void give_keys(void) {
  run("ALTER TABLE docs ADD COLUMN key TEXT; UPDATE docs SET key = 'key ' || id;"
      "CREATE UNIQUE INDEX docs_key ON docs(coll, key)");
}

// With what a caller believes it by: ours reads the row too, because an index proves nothing.
static const char find_sql[] = "SELECT id, title FROM docs WHERE coll = 1 AND key = ?";
// From the index alone.
static const char find_id_sql[] = "SELECT id FROM docs WHERE coll = 1 AND key = ?";

static void work_find(uint64_t count, const uint64_t *order, const char *sql) {
  sqlite3_stmt *statement = prepare(sql);
  run("BEGIN");
  for (uint64_t i = 0; i < count; i++) {
    char key[32];
    int length = snprintf(key, sizeof key, "key %llu", (unsigned long long)order[i]);
    sqlite3_bind_text(statement, 1, key, length, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_ROW) check(SQLITE_ERROR);
    touched += (uint64_t)sqlite3_column_int64(statement, 0);
    if (sqlite3_column_count(statement) > 1) touch_column(statement, 1);
    sqlite3_reset(statement);
  }
  run("COMMIT");
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: plain insert|commit|get|get-again|list|read|search|update|move|top|find|rewrite FILE COUNT\n");
    return 64;
  }
  const char *work = argv[1];
  uint64_t count = strtoull(argv[3], 0, 10);
  make_block();
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);  // as our side does
  open_database(argv[2]);
  uint64_t stored = 0;
  sqlite3_stmt *highest = prepare("SELECT coalesce(max(id), 0) FROM docs");
  if (sqlite3_step(highest) == SQLITE_ROW) stored = (uint64_t)sqlite3_column_int64(highest, 0);
  sqlite3_finalize(highest);
  uint64_t *order = random_order(stored ? stored : 1);
  int is_of_stored =
    !strcmp(work, "get") || !strcmp(work, "update") || !strcmp(work, "move") || !strncmp(work, "find", 4);
  if (count > stored && is_of_stored) count = stored;
  uint64_t again = stored < AGAIN ? stored : AGAIN;
  if (!strcmp(work, "get-again")) work_get(again, order, again);
  if (!strncmp(work, "find", 4)) give_keys();

  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  if (!strcmp(work, "insert")) work_insert(count);
  else if (!strcmp(work, "commit")) work_commit(count);
  else if (!strcmp(work, "get")) work_get(count, order, count);
  else if (!strcmp(work, "get-again")) work_get(count, order, again);
  else if (!strcmp(work, "list")) work_scan("SELECT id, title FROM docs WHERE coll = 1 ORDER BY pos, id", 1);
  else if (!strcmp(work, "read")) work_scan("SELECT id, title, text FROM docs WHERE coll = 1 ORDER BY pos, id", 2);
  else if (!strcmp(work, "search")) work_search();
  else if (!strcmp(work, "update")) work_update(count, order);
  else if (!strcmp(work, "move")) work_move(count, order);
  else if (!strcmp(work, "top")) work_top(count);
  else if (!strcmp(work, "find")) work_find(count, order, find_sql);
  else if (!strcmp(work, "find-id")) work_find(count, order, find_id_sql);
  else if (!strcmp(work, "rewrite")) run("BEGIN IMMEDIATE; UPDATE docs SET text = upper(text); COMMIT");
  else return 64;
  printf("%.6f %.6f\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  fprintf(stderr, "touched %llu\n", (unsigned long long)touched);
  free(order);
  return 0;
}
