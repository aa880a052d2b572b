// CofferSearch: indexes, searches and queries for an open store.
//
// Does: updates indexes of words, substrings, fields and titles when a search, query or list needs them, ranks and
//       marks search results, and runs SQL over documents.
// Knows: the index tables and their pages (Indexes), and the read-only SQL view of documents (Queries). CofferRecords
//        defines the index rows.
// Doesn't know: writing documents, second stores (CofferCopies), and the app API (Coffer).
//
// First file to read: Indexes/StoreIndexes.swift, then Queries/QueryView.swift.
