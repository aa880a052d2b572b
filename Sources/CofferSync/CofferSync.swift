// CofferSync: the same documents on several devices, through a folder that any carrier copies between them.
//
// Does: publishes a store's changes as encrypted files, merges other devices' files, and reports problems that a
//       carrier or a copied device caused.
// Knows: the files of the folder (SyncFile), their names (SyncNames), and a store's memory of them (SyncMemory).
//        CofferCopies creates and merges changesets.
// Doesn't know: the carrier. Only SyncDirectory reads and writes folders, so a simulation can replace it.
//
// First file to read: SyncSession.swift, then SyncFile.swift.
