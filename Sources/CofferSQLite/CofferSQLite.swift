// CofferSQLite: any SQL from Swift, on the SQLite of the system.
//
// Does: connections, statements and their cache, transactions, typed results, backup, interruption.
// Knows: SQLite's C interface, as the only module; its pointers are not visible to others.
// Does not know: keys, documents, Foundation.
//
// First file to read: Database.swift. In use: CofferSQLite.docc/CofferSQLite.md, whose example a test runs.
