// CofferSync: the same documents on several devices, by a folder that anything carries from place to place.
//
// Does: publishes a store's changes as sealed files, takes what other devices published, and reports what a carrier or a
//       copied device did to the folder.
// Knows: the files of the folder (SyncFile), their names (SyncNames), and what a store remembers of them (SyncMemory).
//        CofferCopies makes and merges changesets.
// Doesn't know: the carrier. Folders are read and written by SyncDirectory only, so that a simulation can be one.
//
// First file to read: SyncSession.swift, then SyncFile.swift.
