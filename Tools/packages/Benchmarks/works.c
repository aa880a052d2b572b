// The other side of the benchmark: works on a plain table, through any SQLite.
//
// Does: one piece of work on one file, and prints its wall and CPU seconds. Compiled as a program against libsqlite3:
// `plain WORK FILE COUNT TEXT-BYTES COLLECTIONS CACHE`, and `plain sql` prints each work's SQL. Compiled with
// WORKS_EXTENSION as a loadable extension, its SQL function `coffer_bench(WORK, FILE, COUNT, TEXT-BYTES, COLLECTIONS,
// CACHE, KEY, REKEY)` does the same through the SQLite that loads it; KEY is the SQL that a fresh connection needs.
// Knows: the sample documents (the same bytes as Samples.swift makes) and the settings of all sides.
// Does not know: the other side. Set-up (opening, samples, random order) is not timed. A process does one
// work; an error ends it.

#define _GNU_SOURCE  // memmem
#ifdef WORKS_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#else
#include <sqlite3.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK_BYTES = 1 << 20, TITLE_BYTES = 32, PAGE_DOCUMENTS = 50 };

/* Documents that fit a cache of pages here and the cache of texts there. */
enum { AGAIN = 4000 };

static sqlite3 *db;
static struct {
  const char *work, *file, *cache, *key, *rekey;
  uint64_t count, collections;
  int text_bytes;
} job;
static uint64_t *order;
static char *block;
static uint64_t block_bytes;
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
  uint64_t state = 1, twice = 2 * (uint64_t)job.text_bytes;
  block_bytes = twice > BLOCK_BYTES ? twice : BLOCK_BYTES;
  block = malloc(block_bytes);
  for (uint64_t i = 0; i < block_bytes; i++) block[i] = letters[next_random(&state) % (sizeof letters - 1)];
}

static const char *text_of(uint64_t number) {
  return block + number * 7919 % (block_bytes - (uint64_t)job.text_bytes);
}

static int title_of(uint64_t number, char title[TITLE_BYTES]) {
  return snprintf(title, TITLE_BYTES, "Document number %llu", (unsigned long long)number);
}

static int key_of(uint64_t number, char key[TITLE_BYTES]) {
  return snprintf(key, TITLE_BYTES, "key %llu", (unsigned long long)number);
}

// The numbers 1 to count, each once, in the same random order on both sides.
static uint64_t *random_order(uint64_t count) {
  uint64_t *numbers = malloc(count * sizeof *numbers);
  uint64_t state = 2;
  for (uint64_t i = 0; i < count; i++) numbers[i] = i + 1;
  for (uint64_t i = count; i > 1; i--) {
    uint64_t other = next_random(&state) % i, kept = numbers[i - 1];
    numbers[i - 1] = numbers[other];
    numbers[other] = kept;
  }
  return numbers;
}

// SQLite.

static void check(int code) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
    fprintf(stderr, "works: %s: %s\n", job.work, sqlite3_errmsg(db));
    exit(1);
  }
}

static void run(const char *sql) { check(sqlite3_exec(db, sql, 0, 0, 0)); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0));
  return statement;
}

static void step(sqlite3_stmt *statement) {
  check(sqlite3_step(statement));
  sqlite3_reset(statement);
}

static sqlite3_int64 number_of(const char *sql) {
  sqlite3_stmt *statement = prepare(sql);
  sqlite3_int64 number = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  return number;
}

static const char durable_sql[] = "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA";
static const char tuned_sql[] =
  "PRAGMA page_size=4096; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY; PRAGMA secure_delete=ON";
static const char schema_sql[] =
  "CREATE TABLE IF NOT EXISTS docs(id INTEGER PRIMARY KEY, coll INTEGER NOT NULL, pos INTEGER NOT NULL,"
  " title TEXT, text TEXT NOT NULL); CREATE INDEX IF NOT EXISTS docs_pos ON docs(coll, pos)";
static const char chunks_schema_sql[] =
  "CREATE TABLE IF NOT EXISTS chunks(chunk INTEGER PRIMARY KEY, ct BLOB NOT NULL) STRICT";
static const char notes_schema_sql[] =
  "CREATE TABLE IF NOT EXISTS notes(id INTEGER PRIMARY KEY, coll INTEGER NOT NULL, pos INTEGER NOT NULL,"
  " key TEXT, title TEXT, body TEXT NOT NULL, author TEXT, stars INTEGER, kept INTEGER);"
  " CREATE INDEX IF NOT EXISTS notes_pos ON notes(coll, pos);"
  " CREATE UNIQUE INDEX IF NOT EXISTS notes_key ON notes(coll, key)";

static void open_database(void) {
  check(sqlite3_open_v2(
    job.file, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0));
  run(job.key);
  if (!strcmp(job.cache, "64")) run(tuned_sql);
  run(durable_sql);
}

static void touch_column(sqlite3_stmt *statement, int column) {
  const unsigned char *bytes = sqlite3_column_text(statement, column);
  int count = sqlite3_column_bytes(statement, column);
  if (count > 0) touched += bytes[0] + bytes[count - 1] + (unsigned)count;
}

// Works. Each runs one statement; the table below has its SQL and its transaction.

static sqlite3_int64 collection_of(uint64_t number) { return (sqlite3_int64)(number % job.collections) + 1; }

static void insert_at(sqlite3_stmt *statement, uint64_t number, sqlite3_int64 position) {
  char title[TITLE_BYTES];
  int length = title_of(number, title);
  sqlite3_bind_int64(statement, 1, collection_of(number));
  sqlite3_bind_int64(statement, 2, position);
  sqlite3_bind_text(statement, 3, title, length, SQLITE_STATIC);
  sqlite3_bind_text(statement, 4, text_of(number), job.text_bytes, SQLITE_STATIC);
  step(statement);
}

static void work_insert(sqlite3_stmt *statement) {
  for (uint64_t i = 1; i <= job.count; i++) insert_at(statement, i, (sqlite3_int64)(i << 32));
}

static void work_commit(sqlite3_stmt *statement) {
  sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
  for (uint64_t i = 1000001; i <= job.count + 1000000; i++) {
    step(begin);
    insert_at(statement, i, (sqlite3_int64)(i << 32));
    step(commit);
  }
}

static void work_top(sqlite3_stmt *statement) {
  for (uint64_t i = 1; i <= job.count; i++) insert_at(statement, i + 1000000, -(sqlite3_int64)(i << 32));
}

/* `count` reads of the first `among` documents of the order, round after round. */
static void get(sqlite3_stmt *statement, uint64_t count, uint64_t among) {
  for (uint64_t i = 0; i < count; i++) {
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)order[i % among]);
    if (sqlite3_step(statement) != SQLITE_ROW) check(SQLITE_ERROR);
    touch_column(statement, 0);
    touch_column(statement, 1);
    sqlite3_reset(statement);
  }
}

static void work_get(sqlite3_stmt *statement) { get(statement, job.count, job.count); }

static uint64_t again(void) { return job.count < AGAIN ? job.count : AGAIN; }

static void work_get_again(sqlite3_stmt *statement) { get(statement, job.count, again()); }

static void before_get_again(sqlite3_stmt *statement) { get(statement, again(), again()); }

static void scan(sqlite3_stmt *statement) {
  int columns = sqlite3_column_count(statement);
  for (uint64_t collection = 1; collection <= job.collections; collection++) {
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)collection);
    while (sqlite3_step(statement) == SQLITE_ROW)
      for (int column = 1; column < columns; column++) touch_column(statement, column);
    check(sqlite3_reset(statement));
  }
}

static void work_search(sqlite3_stmt *statement) {
  static const char word[] = "harbour";
  while (sqlite3_step(statement) == SQLITE_ROW)
    for (int column = 1; column <= 2; column++) {
      const void *text = sqlite3_column_text(statement, column);
      if (memmem(text, (size_t)sqlite3_column_bytes(statement, column), word, sizeof word - 1)) touched++;
    }
  check(sqlite3_reset(statement));
}

static void work_pages(sqlite3_stmt *statement) {
  sqlite3_int64 position = INT64_MIN, id = 0;
  for (int rows = PAGE_DOCUMENTS; rows == PAGE_DOCUMENTS;) {
    sqlite3_bind_int64(statement, 1, position);
    sqlite3_bind_int64(statement, 2, id);
    for (rows = 0; sqlite3_step(statement) == SQLITE_ROW; rows++) {
      id = sqlite3_column_int64(statement, 0);
      position = sqlite3_column_int64(statement, 1);
      touch_column(statement, 2);
    }
    check(sqlite3_reset(statement));
  }
}

static void work_update(sqlite3_stmt *statement) {
  for (uint64_t i = 0; i < job.count; i++) {
    sqlite3_bind_text(statement, 1, text_of(order[i] + 5), job.text_bytes, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)order[i]);
    step(statement);
  }
}

/* One statement for each move, which gives the new position without a query. */
static void work_move(sqlite3_stmt *statement) {
  for (uint64_t i = 0; i + 1 < job.count; i++) {
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)(order[i + 1] << 32) + 1);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)order[i]);
    step(statement);
  }
}

static void give_keys(void) {
  run("ALTER TABLE docs ADD COLUMN key TEXT; UPDATE docs SET key = 'key ' || id;"
      "CREATE UNIQUE INDEX docs_key ON docs(coll, key)");
}

static void work_find(sqlite3_stmt *statement) {
  int columns = sqlite3_column_count(statement);
  for (uint64_t i = 0; i < job.count; i++) {
    char key[TITLE_BYTES];
    int length = key_of(order[i], key);
    sqlite3_bind_text(statement, 1, key, length, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_ROW) check(SQLITE_ERROR);
    touched += (uint64_t)sqlite3_column_int64(statement, 0);
    for (int column = 1; column < columns; column++) touch_column(statement, column);
    sqlite3_reset(statement);
  }
}

static void write_note(sqlite3_stmt *statement, uint64_t number, uint64_t text) {
  char title[TITLE_BYTES], key[TITLE_BYTES], author[TITLE_BYTES];
  sqlite3_bind_int64(statement, 1, (sqlite3_int64)(number << 32));
  sqlite3_bind_text(statement, 2, key, key_of(number, key), SQLITE_STATIC);
  sqlite3_bind_text(statement, 3, title, title_of(number, title), SQLITE_STATIC);
  sqlite3_bind_text(statement, 4, text_of(text), job.text_bytes, SQLITE_STATIC);
  int length = snprintf(author, sizeof author, "author %llu", (unsigned long long)(number % 100));
  sqlite3_bind_text(statement, 5, author, length, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 6, (sqlite3_int64)(number % 5));
  sqlite3_bind_int64(statement, 7, number % 2 == 0);
  step(statement);
}

static void work_values(sqlite3_stmt *statement) {
  for (uint64_t i = 1; i <= job.count; i++) write_note(statement, i, i);
}

static void work_values_put(sqlite3_stmt *statement) {
  for (uint64_t i = 0; i < job.count; i++) write_note(statement, order[i], order[i] + 5);
}

// A chunk is a row: its number is that of the attachment, shifted by 24 bits, and that of the chunk in it.

enum { CHUNK_BYTES = 65536, CHUNK_BITS = 24, RANGE_BYTES = 4096 };

static sqlite3_int64 chunk_of(uint64_t number, int place) {
  return (sqlite3_int64)(number << CHUNK_BITS) + place / CHUNK_BYTES;
}

static void work_attach(sqlite3_stmt *statement) {
  for (uint64_t i = 1; i <= job.count; i++)
    for (int place = 0; place < job.text_bytes; place += CHUNK_BYTES) {
      int rest = job.text_bytes - place;
      sqlite3_bind_int64(statement, 1, chunk_of(i, place));
      sqlite3_bind_blob(statement, 2, text_of(i) + place, rest < CHUNK_BYTES ? rest : CHUNK_BYTES, SQLITE_STATIC);
      step(statement);
    }
}

static const unsigned char *find_chunk(sqlite3_stmt *statement, sqlite3_int64 chunk) {
  sqlite3_reset(statement);
  sqlite3_bind_int64(statement, 1, chunk);
  if (sqlite3_step(statement) != SQLITE_ROW) check(SQLITE_ERROR);
  return sqlite3_column_blob(statement, 0);
}

static void work_attach_read(sqlite3_stmt *statement) {
  for (uint64_t i = 1; i <= job.count; i++)
    for (int place = 0; place < job.text_bytes; place += CHUNK_BYTES) {
      const unsigned char *bytes = find_chunk(statement, chunk_of(i, place));
      int count = sqlite3_column_bytes(statement, 0);
      touched += bytes[0] + bytes[count - 1] + (unsigned)count;
    }
}

/* Copies each range out of its chunks. */
static void work_attach_range(sqlite3_stmt *statement) {
  static unsigned char range[RANGE_BYTES];
  uint64_t state = 3, attachments = (uint64_t)number_of("SELECT max(chunk) >> 24 FROM chunks");
  for (uint64_t i = 0; i < job.count; i++) {
    uint64_t number = next_random(&state) % attachments + 1;
    int start = (int)(next_random(&state) % (uint64_t)(job.text_bytes - RANGE_BYTES));
    for (int done = 0; done < RANGE_BYTES;) {
      int place = (start + done) % CHUNK_BYTES, count = RANGE_BYTES - done;
      if (count > CHUNK_BYTES - place) count = CHUNK_BYTES - place;
      memcpy(range + done, find_chunk(statement, chunk_of(number, start + done)) + place, (size_t)count);
      done += count;
    }
    touched += range[0] + range[RANGE_BYTES - 1] + RANGE_BYTES;
  }
}

static void work_rewrite(sqlite3_stmt *statement) {
  if (*job.rekey) run(job.rekey);
  else step(statement);
}

static void work_verify(sqlite3_stmt *statement) {
  sqlite3_stmt *integrity = prepare("PRAGMA integrity_check");
  if (sqlite3_step(integrity) != SQLITE_ROW || strcmp((const char *)sqlite3_column_text(integrity, 0), "ok")) {
    fprintf(stderr, "works: %s is damaged\n", job.file);
    exit(1);
  }
  sqlite3_finalize(integrity);
  scan(statement);
}

#define INSERT "INSERT INTO docs(coll, pos, title, text) VALUES(?, ?, ?, ?)"
#define READ "SELECT id, title, text FROM docs WHERE coll = ? ORDER BY pos, id"
#define GET "SELECT title, text FROM docs WHERE id = ?"
#define NOTE \
  "INSERT INTO notes(coll, pos, key, title, body, author, stars, kept) VALUES(1, ?, ?, ?, ?, ?, ?, ?)"

// Transactions: one that reads or writes around all; the work's own; or none, so that each statement is one.
enum transaction { READS, WRITES, OWN, EACH };
static const char *const begin_sql[] = {"BEGIN", "BEGIN IMMEDIATE"};

static const struct work {
  const char *name, *sql;
  enum transaction transaction;
  const char *stored;  // the table whose ids are taken in random order
  void (*run)(sqlite3_stmt *);
  void (*before)(void);  // not timed
  void (*warm)(sqlite3_stmt *);
} works[] = {
  {"insert", INSERT, WRITES, 0, work_insert, 0, 0},
  {"commit", INSERT, OWN, 0, work_commit, 0, 0},
  {"get", GET, READS, "docs", work_get, 0, 0},
  {"get-again", GET, READS, "docs", work_get_again, 0, before_get_again},
  {"get-each", GET, EACH, "docs", work_get, 0, 0},
  {"list", "SELECT id, title FROM docs WHERE coll = ? ORDER BY pos, id", READS, 0, scan, 0, 0},
  {"pages", "SELECT id, pos, title FROM docs WHERE coll = 1 AND (pos, id) > (?, ?) ORDER BY pos, id LIMIT 50", EACH, 0,
   work_pages, 0, 0},
  {"read", READ, READS, 0, scan, 0, 0},
  {"search", "SELECT id, title, text FROM docs WHERE coll = 1 ORDER BY pos, id", READS, 0, work_search, 0, 0},
  {"update", "UPDATE docs SET text = ? WHERE id = ?", WRITES, "docs", work_update, 0, 0},
  {"move", "UPDATE docs SET pos = ? WHERE id = ?", WRITES, "docs", work_move, 0, 0},
  {"top", INSERT, WRITES, 0, work_top, 0, 0},
  // Reads the row, as the library does, because an index proves nothing.
  {"find", "SELECT id, title FROM docs WHERE coll = 1 AND key = ?", READS, "docs", work_find, give_keys, 0},
  // From the index alone.
  {"find-id", "SELECT id FROM docs WHERE coll = 1 AND key = ?", READS, "docs", work_find, give_keys, 0},
  {"values", NOTE, WRITES, 0, work_values, 0, 0},
  {"values-get", "SELECT id, title, body, author, stars, kept FROM notes WHERE coll = 1 AND key = ?", READS, "notes",
   work_find, 0, 0},
  {"values-read", "SELECT id, title, body, author, stars, kept FROM notes WHERE coll = ? ORDER BY pos, id", READS, 0,
   scan, 0, 0},
  {"values-put",
   NOTE " ON CONFLICT(coll, key) DO UPDATE SET title = excluded.title, body = excluded.body,"
        " author = excluded.author, stars = excluded.stars, kept = excluded.kept",
   WRITES, "notes", work_values_put, 0, 0},
  {"attach", "INSERT INTO chunks VALUES(?, ?)", WRITES, 0, work_attach, 0, 0},
  {"attach-read", "SELECT ct FROM chunks WHERE chunk = ?", READS, 0, work_attach_read, 0, 0},
  {"attach-range", "SELECT ct FROM chunks WHERE chunk = ?", READS, 0, work_attach_range, 0, 0},
  {"rewrite", "UPDATE docs SET text = upper(text)", EACH, 0, work_rewrite, 0, 0},
  {"verify", READ, READS, 0, work_verify, 0, 0},
};
enum { WORK_COUNT = sizeof works / sizeof *works };

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// The settings as the connection reads them back.
static void describe_settings(char *result, size_t size) {
  static const char *const names[] = {
    "journal_mode", "synchronous", "cache_size", "page_size", "secure_delete", "temp_store",
    "cipher", "cipher_version", "cipher_provider_version"};  // the last of those that encrypt
  size_t length = (size_t)snprintf(
    result, size, "version=%s\tmemory_statistics=%d", sqlite3_libversion(), sqlite3_memory_used() > 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA %s", names[i]);
    sqlite3_stmt *statement = prepare(sql);
    if (sqlite3_step(statement) == SQLITE_ROW)
      length += (size_t)snprintf(
        result + length, size - length, "\t%s=%s", names[i], (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
  }
}

// Does the job; its times, or its answer, are in `result`. Returns 0 if there is no such work.
static int do_job(char *result, size_t size) {
  open_database();
  if (!strcmp(job.work, "settings")) {
    describe_settings(result, size);
    check(sqlite3_close(db));
    return 1;
  }
  const struct work *work = works;
  while (work < works + WORK_COUNT && strcmp(work->name, job.work)) work++;
  if (work == works + WORK_COUNT) return 0;
  make_block();
  run(!strncmp(work->name, "values", 6) ? notes_schema_sql
      : !strncmp(work->name, "attach", 6) ? chunks_schema_sql : schema_sql);
  if (work->stored) {
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT max(id) FROM %s", work->stored);
    uint64_t stored = (uint64_t)number_of(sql);
    order = random_order(stored);
    if (job.count > stored) job.count = stored;
  }
  if (work->before) {
    work->before();
    // With an empty cache, as every other work.
    check(sqlite3_close(db));
    open_database();
  }
  sqlite3_stmt *statement = prepare(work->sql);
  if (work->warm) work->warm(statement);

  double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  if (work->transaction <= WRITES) run(begin_sql[work->transaction]);
  work->run(statement);
  if (work->transaction <= WRITES) run("COMMIT");
  snprintf(result, size, "%.6f %.6f", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  fprintf(stderr, "touched %llu\n", (unsigned long long)touched);
  return 1;
}

#ifdef WORKS_EXTENSION

static void coffer_bench(sqlite3_context *context, int count, sqlite3_value **values) {
  const char *text[8];
  for (int i = 0; i < count; i++) text[i] = (const char *)sqlite3_value_text(values[i]);
  job.work = text[0], job.file = text[1], job.cache = text[5], job.key = text[6], job.rekey = text[7];
  job.count = (uint64_t)sqlite3_value_int64(values[2]);
  job.text_bytes = sqlite3_value_int(values[3]);
  job.collections = (uint64_t)sqlite3_value_int64(values[4]);
  char result[512];
  if (do_job(result, sizeof result)) sqlite3_result_text(context, result, -1, SQLITE_TRANSIENT);
  else sqlite3_result_error(context, "no such work", -1);
}

int sqlite3_works_init(sqlite3 *host, char **error, const sqlite3_api_routines *api) {
  (void)error;
  SQLITE_EXTENSION_INIT2(api);
  return sqlite3_create_function_v2(host, "coffer_bench", 8, SQLITE_UTF8, 0, coffer_bench, 0, 0, 0);
}

#else

static void print_sql(void) {
  printf("settings\t%s; %s\n", tuned_sql, durable_sql);
  printf("schema\t%s\nschema of values\t%s\n", schema_sql, notes_schema_sql);
  for (const struct work *work = works; work < works + WORK_COUNT; work++) {
    const char *first = !strcmp(work->name, "verify") ? "PRAGMA integrity_check; " : "";
    switch (work->transaction) {
      case READS:
      case WRITES:
        printf("%s\t%s; %s%s …; COMMIT\n", work->name, begin_sql[work->transaction], first, work->sql);
        break;
      case OWN: printf("%s\tBEGIN IMMEDIATE; %s; COMMIT; …\n", work->name, work->sql); break;
      case EACH: printf("%s\t%s; …\n", work->name, work->sql); break;
    }
  }
}

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "sql")) {
    print_sql();
    return 0;
  }
  if (argc != 7) {
    fprintf(stderr, "usage: plain WORK FILE COUNT TEXT-BYTES COLLECTIONS 64|default, or plain sql\n");
    return 64;
  }
  job.work = argv[1], job.file = argv[2], job.cache = argv[6], job.key = "", job.rekey = "";
  job.count = strtoull(argv[3], 0, 10);
  job.text_bytes = atoi(argv[4]);
  job.collections = strtoull(argv[5], 0, 10);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);  // as our side does
  char result[512];
  if (!do_job(result, sizeof result)) return 64;
  puts(result);
  return 0;
}

#endif
