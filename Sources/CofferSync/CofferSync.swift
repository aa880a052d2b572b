// CofferSync: syncs documents between devices through a folder that any carrier copies.
//
// Does: publishes a store's changes as sealed files, takes the files of other devices, and reports problems that a
//       carrier or a copied device caused in the folder.
// Knows: the folder's files (SyncFile), their names (SyncNames), and a store's memory of them (SyncMemory).
//        CofferCopies makes and merges changesets.
// Doesn't know: the carrier. Only SyncDirectory reads and writes folders, so a simulation can replace them.
//
// First file to read: SyncSession.swift, then SyncFile.swift.
