internal import CofferSealing

/// The numbers of FORMAT, "The SQLite file" and "Column classes and sizes", which explain them.
package enum StoreFormat {
  /// "COFR"
  package static let applicationID: UInt32 = 0x434F_4652
  package static let version: UInt32 = 3
  /// The page size of new stores. Readers accept any size. Compared with 4096 in measurements of our rows, bulk
  /// insertion and the file are an eighth smaller, scans are faster, and random reads are up to a tenth slower.
  package static let pageSize = 8192
  package static let storeIDCount = 16
  package static let commitmentCount = 32
  package static let macCount = 32
  /// The number of bytes in the `lookup` column, which contains a key's blind index.
  package static let blindIndexCount = 16
  /// The size of a body's nonce and tag, in bytes.
  package static let bodyTagCount = 40
  package static let maximumHead = 1 << 20
  /// The maximum size of a collection's sealed name, settings and entries of later versions, in bytes.
  package static let maximumSealedCollection = 192 << 10
  package static let maximumTitle = 1 << 16
  /// The maximum size of head data without the title, in bytes, so any title fits in every head.
  package static let maximumHeadWithoutTitle = 900 << 10
  /// The maximum length of a frame that's stored in its record. A longer body has a separate row, so changing the head
  /// never rewrites a large text.
  package static let maximumBodyInRecord = 2048
  package static let maximumText = 256 << 20
  package static let maximumCollectionName = 1 << 10
  /// The maximum length of a collection's attributes as JSON, in bytes.
  package static let maximumCollectionData = 64 << 10
  /// The bytes that are read of a value in the header, the slots or the state, which are all shorter.
  package static let headerValueLimit = 16 << 10
  /// The bytes that are read of the header's spare copy, which is shorter.
  package static let spareLimit = 1 << 20
  /// SQLite's limit for a single value.
  package static let maximumValue: Int32 = 320 << 20
  /// The highest generation, revision and counter of a dot.
  package static let maximumGeneration = Int64(Keyring.maximumGeneration)
  /// The highest root key generation and phase.
  package static let maximumCounter: Int64 = 1 << 62
  /// The maximum size of a sealed deletion, in bytes.
  package static let maximumSealedDeletion = 64 << 10
  package static let maximumSealedAttachment = 192 << 10
  /// The lengths of an attachment's name in bytes.
  package static let attachmentNames = 1...1024
  /// The lengths of a media type in bytes.
  package static let mediaTypes = 0...255
  /// The possible numbers of keys for an attachment's chunks.
  package static let chunkKeys = 1...64
  /// The maximum of the state's next attachment.
  package static let maximumNextAttachment: UInt64 = 1 << 39
  /// The maximum size of the sealed replicas, in bytes.
  package static let maximumSealedReplicas = 4 << 20
  /// The maximum number of records in a store, and of deletions.
  package static let maximumCount: UInt64 = 1 << 40
  /// The highest number in a u32 column.
  package static let maximumNumber = Int64(Int32.max)
  /// The valid document IDs. The state's next ID is higher than all IDs, and is also an i64.
  package static let documentIDs: ClosedRange<Int64> = 1...Int64.max - 1

  /// The feature bits that a reader must support.
  package struct Incompatible: OptionSet {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The store may only have test keys.
    package static let test = Incompatible(rawValue: 1)
    /// Frames are padded.
    package static let padded = Incompatible(rawValue: 2)
    /// The store has attachment tables.
    package static let attachments = Incompatible(rawValue: 4)
    package static let known: Incompatible = [.test, .padded, .attachments]
  }

  /// Row flags.
  package struct RowFlags: OptionSet {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The text is a Codable value's JSON.
    package static let json = RowFlags(rawValue: 1)
    /// Another document in the collection holds the key, so this document reads as having no key.
    package static let keyHeldElsewhere = RowFlags(rawValue: 2)
    package static let known: RowFlags = [.json, .keyHeldElsewhere]

    package init(isJSON: Bool, isKeyHeldElsewhere: Bool = false) {
      self = isJSON ? .json : []
      if isKeyHeldElsewhere { insert(.keyHeldElsewhere) }
    }
  }
}
