// CofferRecords: the format of a store, as tables, rows and seals.
//
// Does: seals documents into rows and opens rows again, writes rows with everything that is counted along with them,
//       reads and proves header, slots, state and collections.
// Knows: FORMAT.md, all of it; SQLite through StoreDatabase, whose errors are a store's.
// Does not know: paths, files, locks, threads, passphrases, or any API that apps see but StoreError.
//
// First files to read: RecordRow.swift for the columns on disk, RecordWriter.swift for the way in, RecordReader.swift
// for the way out; StoreFormat.swift has the numbers, SQL.swift the statements, Schema.swift the tables.
