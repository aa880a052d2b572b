// SQLite 3 for CofferSQLite, the only room that imports it.
#ifndef COFFER_SQLITE_SHIM_H
#define COFFER_SQLITE_SHIM_H

#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

#endif
