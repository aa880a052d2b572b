// Coffer: the module that apps import.
//
// Does: opens and creates stores, reads and writes in transactions, observes changes, and synchronizes collections.
//       Backups, copies, merging, verification and key changes are calls on the same DocumentStore.
// Knows: the public API (DocumentStore, StoreReading, WriteTransaction, KeySlots), observations of the store
//        (Observing), and the comparison with other data (Sync). CofferEngine, CofferSearch, CofferCopies and
//        CofferSync do the work.
// Doesn't know: file formats (CofferFormats), replication (CofferReplication), and terminals.
//
// Re-exports the public types of the targets below by name, so apps only import one module.
//
// First file to read: DocumentStore/DocumentStore.swift, then WriteTransaction/WriteTransaction.swift.

@_exported public import struct CofferCopies.CopyReport
@_exported public import struct CofferCopies.MergeConflict
@_exported public import struct CofferCopies.MergeOptions
@_exported public import enum CofferCopies.MergePolicy
@_exported public import struct CofferCopies.MergeReport
@_exported public import enum CofferCopies.NewerOriginal
@_exported public import enum CofferCopies.OriginalCheck
@_exported public import struct CofferCopies.OtherVersion
@_exported public import struct CofferCopies.PublicationReport
@_exported public import struct CofferCopies.ReleaseSource
@_exported public import enum CofferCopies.RestoreOutcome
@_exported public import enum CofferCopies.Selection
@_exported public import struct CofferCopies.StoreDifferences
@_exported public import struct CofferCopies.UpdatePlan
@_exported public import struct CofferCopies.UpdateReport
@_exported public import enum CofferDocuments.AttributeValue
@_exported public import struct CofferDocuments.Attributes
@_exported public import struct CofferDocuments.CollectionID
@_exported public import struct CofferDocuments.Document
@_exported public import struct CofferDocuments.DocumentHeader
@_exported public import struct CofferDocuments.DocumentID
@_exported public import struct CofferDocuments.DocumentKey
@_exported public import struct CofferDocuments.DocumentPosition
@_exported public import struct CofferDocuments.DraftAttachment
@_exported public import struct CofferDocuments.DraftBatch
@_exported public import protocol CofferDocuments.DraftSource
@_exported public import struct CofferDocuments.JSONPath
@_exported public import struct CofferDocuments.OpenedAttachment
@_exported public import struct CofferDocuments.OpenedDocument
@_exported public import enum CofferDocuments.Placement
@_exported public import struct CofferDocuments.Timestamp
@_exported public import enum CofferDocuments.TitleMode
@_exported public import enum CofferDocuments.TitleRule
@_exported public import struct CofferEngine.Attachment
@_exported public import struct CofferEngine.AttachmentContent
@_exported public import struct CofferEngine.AttachmentReference
@_exported public import struct CofferEngine.BulkOptions
@_exported public import struct CofferEngine.BulkReport
@_exported public import struct CofferEngine.CollectionInfo
@_exported public import struct CofferEngine.CreateOptions
@_exported public import struct CofferEngine.DocumentCollection
@_exported public import enum CofferEngine.DocumentIndex
@_exported public import struct CofferEngine.IndexedField
@_exported public import struct CofferEngine.KeySlot
@_exported public import struct CofferEngine.Migration
@_exported public import struct CofferEngine.OlderValue
@_exported public import struct CofferEngine.OpenOptions
@_exported public import typealias CofferEngine.ProgressHandler
@_exported public import struct CofferEngine.Publisher
@_exported public import struct CofferEngine.Recipient
@_exported public import struct CofferEngine.RekeyOptions
@_exported public import struct CofferEngine.RekeyReport
@_exported public import struct CofferEngine.Release
@_exported public import struct CofferEngine.ReleaseCustomer
@_exported public import struct CofferEngine.SearchMatch
@_exported public import struct CofferEngine.SearchPattern
@_exported public import struct CofferEngine.SigningKey
@_exported public import struct CofferEngine.StoreAnchor
@_exported public import struct CofferEngine.StoreChange
@_exported public import struct CofferEngine.StoreKey
@_exported public import struct CofferEngine.StorePin
@_exported public import struct CofferEngine.StoredValue
@_exported public import struct CofferEngine.ValueCoding
@_exported public import struct CofferEngine.Verdict
@_exported public import protocol CofferEngine.VersionedValue
@_exported public import struct CofferEngine.WorkProgress
@_exported public import struct CofferRecords.ErrorHint
@_exported public import struct CofferRecords.StoreError
@_exported public import struct CofferSQLite.QueryResult
@_exported public import struct CofferSQLite.SQLiteRow
@_exported public import enum CofferSQLite.SQLiteValue
@_exported public import protocol CofferSQLite.SQLiteValueConvertible
@_exported public import protocol CofferSQLite.SQLiteValueReadable
@_exported public import class CofferSealing.Secret
@_exported public import struct CofferSearch.QueryRows
@_exported public import struct CofferSearch.RankedMatches
@_exported public import struct CofferSync.FolderSyncReport
@_exported public import struct CofferSync.FolderSyncStatus
@_exported public import struct CofferSync.SyncDevice
