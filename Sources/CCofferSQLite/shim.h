// SQLite 3 for CofferSQLite, which is the only module that imports it.
//
// The helpers wrap variadic functions and the two destructor constants, because Swift can't import them.
#ifndef COFFER_SQLITE_SHIM_H
#define COFFER_SQLITE_SHIM_H

#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/// Disables SQLITE_CONFIG_MEMSTATUS. Returns SQLITE_MISUSE after SQLite has been initialized.
static inline int coffer_sqlite_disable_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Sets a Boolean option of sqlite3_db_config.
static inline int coffer_sqlite_set_option(sqlite3 *database, int option, int is_on) {
  int now = 0;
  return sqlite3_db_config(database, option, is_on, &now);
}

// Empty texts and blobs get an address here, because SQLite treats a null pointer as NULL.

static inline int coffer_sqlite_bind_text(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count, int copies) {
  return sqlite3_bind_text64(
      statement, index, bytes ? (const char *)bytes : "", count, copies ? SQLITE_TRANSIENT : SQLITE_STATIC,
      SQLITE_UTF8);
}

static inline int coffer_sqlite_bind_blob(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count, int copies) {
  return sqlite3_bind_blob64(
      statement, index, bytes ? bytes : "", count, copies ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static inline void coffer_sqlite_result_text(sqlite3_context *context, const void *bytes, sqlite3_uint64 count) {
  sqlite3_result_text64(context, bytes ? (const char *)bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Returns a text without copying it. The text must remain at its address until the statement is reset.
static inline void coffer_sqlite_result_lent_text(sqlite3_context *context, const void *bytes, sqlite3_uint64 count) {
  sqlite3_result_text64(context, bytes ? (const char *)bytes : "", count, SQLITE_STATIC, SQLITE_UTF8);
}

static inline void coffer_sqlite_result_blob(sqlite3_context *context, const void *bytes, sqlite3_uint64 count) {
  sqlite3_result_blob64(context, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

// SQLite's structures for a virtual table and its cursor, each followed by our data.

typedef struct coffer_sqlite_table {
  sqlite3_vtab base;
  void *owner;
} coffer_sqlite_table;

typedef struct coffer_sqlite_cursor {
  sqlite3_vtab_cursor base;
  void *owner;
  /// The number of following rows that equal the current row.
  sqlite3_int64 repeats;
  int is_at_end;
  /// The column with the same text in these rows, or -1, and the text.
  int text_column;
  const void *text;
  sqlite3_uint64 text_count;
} coffer_sqlite_cursor;

/// An open file in the VFS whose databases have their pages in the program.
typedef struct coffer_sqlite_paged_file {
  sqlite3_file base;
  void *owner;
} coffer_sqlite_paged_file;

/// Sets the number of unused bytes at the end of each page. The database must not have pages yet.
static inline int coffer_sqlite_reserve_bytes(sqlite3 *database, int count) {
  return sqlite3_file_control(database, "main", SQLITE_FCNTL_RESERVE_BYTES, &count);
}

// Full text: ranks the current rows in an FTS5 table that also contains outdated rows.

static inline fts5_api *coffer_sqlite_fts5(sqlite3 *database) {
  fts5_api *api = 0;
  sqlite3_stmt *statement = 0;
  if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, 0) == SQLITE_OK) {
    sqlite3_bind_pointer(statement, 1, &api, "fts5_api_ptr", 0);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return api;
}

/// The rows that count. The program sets them before a query, and a single statement at a time uses them.
typedef struct coffer_sqlite_ranking {
  /// The numbers of current rows and of their tokens.
  sqlite3_int64 rows;
  sqlite3_int64 tokens;
  /// The outdated rows, in ascending order.
  const sqlite3_int64 *outdated;
  sqlite3_int64 outdated_count;
  /// Whether each of the query's phrases is excluded from the score.
  const _Bool *ignored;
  int ignored_count;
} coffer_sqlite_ranking;

static inline int coffer_sqlite_is_ignored(const coffer_sqlite_ranking *ranking, int phrase) {
  return phrase < ranking->ignored_count && ranking->ignored[phrase];
}

static inline int coffer_sqlite_is_outdated(const coffer_sqlite_ranking *ranking, sqlite3_int64 row) {
  sqlite3_int64 low = 0, high = ranking->outdated_count;
  while (low < high) {
    sqlite3_int64 middle = low + (high - low) / 2;
    if (ranking->outdated[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low < ranking->outdated_count && ranking->outdated[low] == row;
}

/// The weights of a query's phrases, which are computed for its first row.
typedef struct coffer_sqlite_weights {
  double mean_tokens;
  int phrases;
  double of_phrase[];
} coffer_sqlite_weights;

typedef struct coffer_sqlite_phrase_count {
  const coffer_sqlite_ranking *ranking;
  sqlite3_int64 rows;
} coffer_sqlite_phrase_count;

static int coffer_sqlite_count_phrase(const Fts5ExtensionApi *api, Fts5Context *table, void *context) {
  coffer_sqlite_phrase_count *count = (coffer_sqlite_phrase_count *)context;
  if (!coffer_sqlite_is_outdated(count->ranking, api->xRowid(table))) count->rows++;
  return SQLITE_OK;
}

static int coffer_sqlite_make_weights(
    const Fts5ExtensionApi *api, Fts5Context *table, const coffer_sqlite_ranking *ranking,
    coffer_sqlite_weights **result) {
  int phrases = api->xPhraseCount(table);
  size_t size = sizeof(coffer_sqlite_weights) + (size_t)phrases * sizeof(double);
  coffer_sqlite_weights *weights = (coffer_sqlite_weights *)calloc(1, size);
  if (!weights) return SQLITE_NOMEM;
  weights->phrases = phrases;
  weights->mean_tokens = (double)ranking->tokens / (double)ranking->rows;
  for (int phrase = 0; phrase < phrases; phrase++) {
    if (coffer_sqlite_is_ignored(ranking, phrase)) continue;
    coffer_sqlite_phrase_count count = {ranking, 0};
    int status = api->xQueryPhrase(table, phrase, &count, coffer_sqlite_count_phrase);
    if (status != SQLITE_OK) {
      free(weights);
      return status;
    }
    double weight = log((ranking->rows - count.rows + 0.5) / (count.rows + 0.5));
    weights->of_phrase[phrase] = weight <= 0.0 ? 1e-6 : weight;
  }
  int status = api->xSetAuxdata(table, weights, free);
  // FTS5 has freed the weights if it couldn't keep them.
  *result = status == SQLITE_OK ? weights : 0;
  return status;
}

/// Returns Okapi BM25 with k1 = 1.2 and b = 0.75, like FTS5's own bm25() without column weights, or NULL for an
/// outdated row.
static void coffer_sqlite_rank(
    const Fts5ExtensionApi *api, Fts5Context *table, sqlite3_context *result, int count, sqlite3_value **values) {
  (void)count;
  (void)values;
  const coffer_sqlite_ranking *ranking = (const coffer_sqlite_ranking *)api->xUserData(table);
  // FTS5's internal commands don't have phrases or rows.
  if (api->xPhraseCount(table) == 0) return;
  if (coffer_sqlite_is_outdated(ranking, api->xRowid(table))) return;
  const double k1 = 1.2, b = 0.75;
  int status = SQLITE_OK;
  coffer_sqlite_weights *weights = (coffer_sqlite_weights *)api->xGetAuxdata(table, 0);
  if (!weights) status = coffer_sqlite_make_weights(api, table, ranking, &weights);
  int tokens = 0;
  if (status == SQLITE_OK) status = api->xColumnSize(table, -1, &tokens);
  double score = 0.0, length = (double)tokens;
  for (int phrase = 0; status == SQLITE_OK && phrase < weights->phrases; phrase++) {
    if (coffer_sqlite_is_ignored(ranking, phrase)) continue;
    // Count one phrase at a time, because xInst takes time for each pair of phrase and position, and memory for all
    // positions.
    double found = 0.0;
    Fts5PhraseIter place;
    int column, offset;
    status = api->xPhraseFirst(table, phrase, &place, &column, &offset);
    for (; status == SQLITE_OK && column >= 0; api->xPhraseNext(table, &place, &column, &offset)) found += 1.0;
    score += weights->of_phrase[phrase]
        * ((found * (k1 + 1.0)) / (found + k1 * (1 - b + b * length / weights->mean_tokens)));
  }
  if (status == SQLITE_OK) sqlite3_result_double(result, -1.0 * score);
  else sqlite3_result_error_code(result, status);
}

/// Registers the rank as an FTS5 auxiliary function. Returns SQLITE_ERROR if SQLite doesn't include FTS5.
static inline int coffer_sqlite_add_rank(sqlite3 *database, const char *name, coffer_sqlite_ranking *ranking) {
  fts5_api *api = coffer_sqlite_fts5(database);
  if (!api) return SQLITE_ERROR;
  return api->xCreateFunction(api, name, ranking, coffer_sqlite_rank, 0);
}

/// Registers an FTS5 tokenizer, whose context is destroyed with the connection or if this call fails. Returns
/// SQLITE_ERROR if SQLite doesn't include FTS5.
static inline int coffer_sqlite_add_tokenizer(
    sqlite3 *database, const char *name, void *context, fts5_tokenizer *tokenizer, void (*destroy)(void *)) {
  fts5_api *api = coffer_sqlite_fts5(database);
  int status = api ? api->xCreateTokenizer(api, name, context, tokenizer, destroy) : SQLITE_ERROR;
  if (status != SQLITE_OK) destroy(context);
  return status;
}

// Accesses the main database file through SQLite's own descriptor.

static inline sqlite3_file *coffer_sqlite_file(sqlite3 *database) {
  sqlite3_file *file = 0;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return 0;
  return file && file->pMethods ? file : 0;
}

static inline int coffer_sqlite_file_size(sqlite3 *database, sqlite3_int64 *size) {
  sqlite3_file *file = coffer_sqlite_file(database);
  return file ? file->pMethods->xFileSize(file, size) : SQLITE_CANTOPEN;
}

static inline int coffer_sqlite_read_file(sqlite3 *database, void *bytes, int count, sqlite3_int64 offset) {
  sqlite3_file *file = coffer_sqlite_file(database);
  return file ? file->pMethods->xRead(file, bytes, count, offset) : SQLITE_CANTOPEN;
}

static inline int coffer_sqlite_write_file(sqlite3 *database, const void *bytes, int count, sqlite3_int64 offset) {
  sqlite3_file *file = coffer_sqlite_file(database);
  return file ? file->pMethods->xWrite(file, bytes, count, offset) : SQLITE_CANTOPEN;
}

static inline int coffer_sqlite_sync_file(sqlite3 *database) {
  sqlite3_file *file = coffer_sqlite_file(database);
  return file ? file->pMethods->xSync(file, SQLITE_SYNC_FULL) : SQLITE_CANTOPEN;
}

#endif
