// CofferSQLite: any SQL from Swift, on the SQLite the system has.
//
// Does: connections, statements and their cache, transactions, typed results, backup, interruption.
// Knows: SQLite's C interface; it is the only room that does, and above it nobody sees one of its pointers.
// Does not know: keys, documents, Foundation.
//
// First file to read: Database.swift. In use:
//
//     let database = try Database("notes.db", mode: .create)
//     try database.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, size REAL)")
//     let id = try database.execute("INSERT INTO note(title, size) VALUES(?, ?)", "Plans", 2.5).insertedID
//     let result = try database.query("SELECT title, size FROM note WHERE id = ?", id)
//     for row in result.rows { print(row["title"]!, row[1]) }
//
//     try database.transaction {  // commits on return, rolls back on throw
//       let insert = try database.statement("INSERT INTO note(title) VALUES(?)")
//       for title in ["one", "two"] {
//         try insert.bind(title, at: 1)
//         try insert.run()
//       }
//     }
