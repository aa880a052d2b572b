// Coffer: the store that apps import.
//
// Does: creates and opens store files, runs transactions on them, lists, searches, verifies, exports, salvages, changes
//       keys and re-encrypts.
// Knows: files and their names (Files), locks and threads (Connections, Conveyor), the keys of an open store (Keys,
//       Engine). The format of rows is CofferRecords'.
// Does not know: files of data and their formats, terminals.
//
// First files to read: API/DocumentStore.swift and API/StoreWriter.swift for what apps call,
// Transactions/StoreTransaction.swift for the rules, then RecordWriter.swift and RecordReader.swift in CofferRecords.
//
// Folders, each using only those before it: Coding, Values, Files, Conveyor, Search, Changes, Keys, Transactions,
// Connections, Engine; then Observing, Bulk, Indexing, Sync, Creating, Copies, Rekey, Salvage, SQLView, Verify and Merging; and
// API, the public face.

@_exported public import CofferDocuments

@_exported public import struct CofferPatterns.TextDifferences
@_exported public import struct CofferRecords.ErrorHint
@_exported public import struct CofferRecords.StoreError
@_exported public import struct CofferSQLite.QueryResult
@_exported public import struct CofferSQLite.SQLiteError
@_exported public import struct CofferSQLite.SQLiteRow
@_exported public import enum CofferSQLite.SQLiteValue
@_exported public import protocol CofferSQLite.SQLiteValueConvertible
@_exported public import protocol CofferSQLite.SQLiteValueReadable
@_exported public import struct CofferSealing.KeyLine
@_exported public import struct CofferSealing.SealingError
@_exported public import class CofferSealing.Secret
