// CofferSQLite: any SQL from Swift, on the SQLite the system has.
//
// Does: connections, statements and their cache, transactions, typed results, backup, interruption.
// Knows: SQLite's C interface; it is the only room that does, and above it nobody sees one of its pointers.
// Does not know: keys, documents, Foundation.
//
// First file to read: Database.swift. In use: CofferSQLite.docc/CofferSQLite.md, whose example a test runs.
