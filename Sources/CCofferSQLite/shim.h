// SQLite 3 for CofferSQLite, the only room that imports it.
//
// The helpers give Swift what it can't import: variadic functions and the two destructor constants.
#ifndef COFFER_SQLITE_SHIM_H
#define COFFER_SQLITE_SHIM_H

#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

/// SQLITE_CONFIG_MEMSTATUS off. SQLITE_MISUSE once SQLite has been initialized.
static inline int coffer_sqlite_disable_memory_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// A yes-or-no option of sqlite3_db_config.
static inline int coffer_sqlite_set_option(sqlite3 *database, int option, int is_on) {
  int now = 0;
  return sqlite3_db_config(database, option, is_on, &now);
}

// SQLite takes a null pointer for NULL: what is empty gets an address here, so that it stays an empty text or blob.

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

/// A text that stays where it is until the statement is reset.
static inline void coffer_sqlite_result_lent_text(sqlite3_context *context, const void *bytes, sqlite3_uint64 count) {
  sqlite3_result_text64(context, bytes ? (const char *)bytes : "", count, SQLITE_STATIC, SQLITE_UTF8);
}

static inline void coffer_sqlite_result_blob(sqlite3_context *context, const void *bytes, sqlite3_uint64 count) {
  sqlite3_result_blob64(context, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

// What SQLite holds of a virtual table and of a cursor on it, each with ours behind.

typedef struct coffer_sqlite_table {
  sqlite3_vtab base;
  void *owner;
} coffer_sqlite_table;

typedef struct coffer_sqlite_cursor {
  sqlite3_vtab_cursor base;
  void *owner;
  /// The number of rows that follow and equal the row at hand.
  sqlite3_int64 repeats;
  int is_at_end;
  /// The column in which these rows have the same text, and that text; -1 for none.
  int text_column;
  const void *text;
  sqlite3_uint64 text_count;
} coffer_sqlite_cursor;

// The main database file by its own descriptor, as SQLite's VFS sees it.

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
