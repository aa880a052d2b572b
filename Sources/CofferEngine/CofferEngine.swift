// CofferEngine: the open store below the public API.
//
// Does: opens, creates and verifies store files, runs transactions on them, and changes keys.
// Knows: files and their names (Files), locks and threads (Connections, Conveyor), the keys of an open store (Keys), and
//        the rules of transactions (Transactions). CofferRecords defines the rows.
// Doesn't know: searches and indexes (CofferSearch), second stores (CofferCopies), and the public API (Coffer).
//
// First file to read: Transactions/StoreTransaction.swift, then Engine/StoreEngine.swift.

@_exported public import CofferDocuments

@_exported public import struct CofferRecords.ErrorHint
@_exported public import struct CofferRecords.StoreError
@_exported public import class CofferSealing.Secret
