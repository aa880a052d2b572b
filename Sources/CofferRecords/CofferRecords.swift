// CofferRecords: the store format, including its tables, rows and seals.
//
// Does: seals documents into rows and opens rows, writes rows and updates the state accordingly, and reads and verifies
//       the header, slots, state and collections.
// Knows: all of FORMAT.md, and SQLite through StoreDatabase, which throws StoreError.
// Doesn't know: paths, files, locks, threads, passphrases, or any public API except StoreError.
//
// First files to read: RecordRow.swift for the columns, RecordWriter.swift for writing, and RecordReader.swift for
// reading. StoreFormat.swift contains the numbers, SQL.swift the statements, and Schema.swift the tables.
