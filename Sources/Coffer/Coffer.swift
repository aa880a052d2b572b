// Coffer: the store, what apps import.
//
// Does: creates and opens store files, reads and writes documents in transactions, lists, verifies, changes keys and
//       re-encrypts. A document's walk in: StoreWriter → RecordSealer → SQLite; out: StoreReader → RecordOpener → SQLite.
// Knows: FORMAT.md, the only room that knows all of it (Format/); one session's keys (Session/).
// Does not know: files of data and their formats, terminals.
//
// First files to read: DocumentStore.swift, then Scopes/StoreWriter.swift; Format/RecordRow.swift for what stands on disk.

@_exported public import CofferDocuments

@_exported public import struct CofferRecords.StoreError
@_exported public import struct CofferSQLite.QueryResult
@_exported public import struct CofferSQLite.SQLiteRow
@_exported public import enum CofferSQLite.SQLiteValue
@_exported public import protocol CofferSQLite.SQLiteValueConvertible
@_exported public import struct CofferSealing.KeyLine
@_exported public import struct CofferSealing.SealingError
@_exported public import class CofferSealing.Secret
