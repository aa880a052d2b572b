/// Numbers of FORMAT, "The SQLite file" and "Column classes and sizes": names here, reasons there.
enum StoreFormat {
  /// "COFR"
  static let applicationID: UInt32 = 0x434F_4652
  static let version: UInt32 = 1
  /// Writers choose it; readers take any. Against 4096, measured with our rows: bulk insert and file an eighth less,
  /// scans faster, random reads up to a tenth slower.
  static let pageSize = 8192
  static let storeIDCount = 16
  static let commitmentCount = 32
  static let macCount = 32
  static let lookupCount = 16
  /// Nonce and tag of a body.
  static let bodyTagCount = 40
  static let maximumHead = 1 << 20
  static let maximumText = 256 << 20
  static let maximumCollectionName = 1 << 10
  /// SQLite's own limit for one value.
  static let maximumValue: Int32 = 320 << 20
  /// The distance between neighbours that are placed at an end.
  static let positionGap: Int64 = 1 << 32
  /// The highest number of a u32 column.
  static let maximumNumber = Int64(Int32.max)
  /// Numbers of documents: the state's next id, which is above them all, is an i64 itself.
  static let documentIDs: ClosedRange<Int64> = 1...Int64.max - 1

  /// Feature bits that a reader must know.
  struct Incompatible: OptionSet {
    let rawValue: UInt64
    /// May have test keys, and no others.
    static let test = Incompatible(rawValue: 1)
    /// Frames are padded.
    static let padded = Incompatible(rawValue: 2)
    static let known: Incompatible = [.test, .padded]
  }

  /// Row flags.
  struct RowFlags: OptionSet {
    let rawValue: UInt32
    /// The text is JSON of a Codable value.
    static let json = RowFlags(rawValue: 1)
    static let known: RowFlags = [.json]
  }
}
