// CofferSQLite: any SQL from Swift, with the system's SQLite.
//
// Does: connections, statements and their cache, transactions, typed results, backup, interruption.
// Knows: SQLite's C interface, which only this module imports. Its pointers aren't visible to other modules.
// Doesn't know: keys, documents, Foundation.
//
// First file to read: Database.swift. For usage, see CofferSQLite.docc/CofferSQLite.md, whose example a test runs.
