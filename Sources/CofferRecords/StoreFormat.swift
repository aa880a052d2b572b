internal import CofferSealing

/// Numbers of FORMAT, "The SQLite file" and "Column classes and sizes": names here, reasons there.
package enum StoreFormat {
  /// "COFR"
  package static let applicationID: UInt32 = 0x434F_4652
  package static let version: UInt32 = 2
  /// Writers choose it; readers accept any. Compared with 4096, measured with our rows: bulk insert and file are an
  /// eighth less, scans faster, random reads up to a tenth slower.
  package static let pageSize = 8192
  package static let storeIDCount = 16
  package static let commitmentCount = 32
  /// Bytes of a commitment in pins, anchors and origins.
  package static let shortCommitmentCount = 16
  package static let macCount = 32
  /// The column `lookup` holds the blind index of a key.
  package static let blindIndexCount = 16
  /// Nonce and tag of a body.
  package static let bodyTagCount = 40
  package static let maximumHead = 1 << 20
  package static let maximumTitle = 1 << 16
  /// The most bytes of a head's data beside its title, so that any title fits every head.
  package static let maximumHeadWithoutTitle = 900 << 10
  /// The longest frame of a body that is a column of its record; a longer one has its own row, so that a change of the
  /// head never rewrites a large text.
  package static let maximumBodyInRecord = 2048
  package static let maximumText = 256 << 20
  package static let maximumCollectionName = 1 << 10
  /// The longest attributes of a collection, in bytes of JSON.
  package static let maximumCollectionData = 64 << 10
  /// SQLite's own limit for one value.
  package static let maximumValue: Int32 = 320 << 20
  /// The distance between neighbours at either end of the order.
  package static let positionGap: Int64 = 1 << 32
  /// The highest generation, root key generation, phase and revision.
  package static let maximumCounter = Int64(Keyring.maximumCounter)
  /// The most records of a store.
  package static let maximumCount: UInt64 = 1 << 40
  /// The highest number of a u32 column.
  package static let maximumNumber = Int64(Int32.max)
  /// Ids of documents. The state's next id, which is above them all, is an i64 itself.
  package static let documentIDs: ClosedRange<Int64> = 1...Int64.max - 1

  /// Feature bits that a reader must support.
  package struct Incompatible: OptionSet {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The store may have test keys and no other keys.
    package static let test = Incompatible(rawValue: 1)
    /// Frames are padded.
    package static let padded = Incompatible(rawValue: 2)
    package static let known: Incompatible = [.test, .padded]
  }

  /// Row flags.
  package struct RowFlags: OptionSet {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The text is JSON of a Codable value.
    package static let json = RowFlags(rawValue: 1)
    package static let known: RowFlags = [.json]

    package init(isJSON: Bool) { self = isJSON ? .json : [] }
  }
}
