// CofferCopies: everything that reads a second store or writes a new store.
//
// Does: copies documents to a new store, makes and follows editable copies, merges and compares stores, restores single
//       documents from a backup, and salvages damaged stores.
// Knows: new files and their keys (Copy), a copy's original (EditableCopies), how replicas, version vectors and
//        identities relate two stores (Differences, Merge, Restore), and rows that trees no longer reach (Salvage).
//        Each source is verified before its contents are used.
// Doesn't know: plaintext formats (CofferFormats), sockets (CofferReplication), and the public API (Coffer).
//
// First file to read: Copy/CopyWalk.swift, then Merge/StoreMerge.swift.
