internal import CofferSealing

/// The entries of later versions at the end of head data and other sealed data (FORMAT, "Extension parts").
package struct ExtensionPart {
  /// The owner of an extension part, which limits its length and the parts that its entries can belong to.
  package enum Owner {
    case head, collection, attachment, deletion, replicas, state

    /// The maximum number of bytes.
    package var limit: Int {
      switch self {
      case .head, .collection, .attachment: 65_536
      case .replicas: 1_048_576
      case .deletion, .state: 300
      }
    }
    fileprivate var greatestPart: UInt16 { self == .head ? 5 : 0 }
  }

  /// The parts of a document that entries belong to.
  package struct Parts: OptionSet {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The document itself.
    package static let document = Parts(rawValue: 1)
    package static let text = Parts(rawValue: 1 << 1)
    package static let title = Parts(rawValue: 1 << 2)
    package static let key = Parts(rawValue: 1 << 3)
    package static let attributes = Parts(rawValue: 1 << 4)
    package static let place = Parts(rawValue: 1 << 5)
  }

  private static let entryHeaderCount = 6
  private static let mustUnderstand: UInt16 = 1 << 15
  private static let reserved: UInt16 = 0x7000

  package let bytes: UnsafeRawBufferPointer
  /// Whether an entry from a later version must be understood.
  package private(set) var isNewer = false

  /// The part for a writer that doesn't add entries.
  package static var empty: ExtensionPart { ExtensionPart() }

  private init() {
    bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// Checks the entries, or returns `nil` for invalid bytes.
  ///
  /// The part refers to the bytes.
  @inline(__always)
  package init?(_ bytes: UnsafeRawBufferPointer, of owner: Owner) {
    self.bytes = bytes
    guard !bytes.isEmpty else { return }
    guard check(owner) else { return nil }
  }

  private mutating func check(_ owner: Owner) -> Bool {
    guard bytes.count <= owner.limit else { return false }
    var reader = ByteReader(bytes)
    var last: UInt16?
    while !reader.isAtEnd {
      guard let type: UInt16 = reader.integer(), let count: UInt32 = reader.integer(),
        reader.bytes(Int(count)) != nil, last.map({ $0 < type }) ?? true, type & Self.reserved == 0,
        Self.part(of: type) <= owner.greatestPart
      else { return false }
      last = type
      // This version doesn't define types that must be understood.
      if type & Self.mustUnderstand != 0 { isNewer = true }
    }
    return true
  }

  private static func part(of type: UInt16) -> UInt16 { type >> 8 & 15 }

  /// The replicas' entry with the memory of a sync folder.
  package static let syncMemory: UInt16 = 1

  /// Returns an entry's bytes, or `nil` if it's missing.
  package static func entry(_ type: UInt16, in bytes: [UInt8]) -> [UInt8]? {
    guard !bytes.isEmpty else { return nil }
    return entries(of: bytes).first { $0.type == type }.map { Array($0.bytes.dropFirst(entryHeaderCount)) }
  }

  /// Returns checked entries after replacing, adding or removing an entry.
  package static func setting(_ type: UInt16, to value: [UInt8]?, in bytes: [UInt8]) -> [UInt8] {
    var all = entries(of: bytes).filter { $0.type != type }
    if let value {
      var builder = ByteBuilder(reserving: entryHeaderCount + value.count)
      builder.append(type)
      builder.append(UInt32(value.count))
      builder.append(bytes: value)
      all.append((type, builder.bytes))
    }
    return all.sorted { $0.type < $1.type }.flatMap(\.bytes)
  }

  /// Returns the entries in checked bytes, each with its header.
  private static func entries(of bytes: [UInt8]) -> [(type: UInt16, bytes: [UInt8])] {
    bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      var found: [(UInt16, [UInt8])] = []
      while !reader.isAtEnd {
        let start = bytes.count - reader.remaining
        guard let type: UInt16 = reader.integer(), let count: UInt32 = reader.integer(),
          reader.bytes(Int(count)) != nil
        else { preconditionFailure("internal error: an extension part was not checked") }
        found.append((type, Array(bytes[start..<start + entryHeaderCount + Int(count)])))
      }
      return found
    }
  }

  /// Returns the entries of two states of one document, each from the state that the entry's part comes from.
  ///
  /// - Parameter parts: The parts that come from the second state.
  package static func joining(_ one: [UInt8], _ other: [UInt8], taking parts: Parts) -> [UInt8] {
    func isTaken(_ type: UInt16) -> Bool { parts.contains(Parts(rawValue: 1 << part(of: type))) }
    let kept = entries(of: one).filter { !isTaken($0.type) } + entries(of: other).filter { isTaken($0.type) }
    return kept.sorted { $0.type < $1.type }.flatMap(\.bytes)
  }

  /// Returns the entries that remain when a writer that doesn't know them changes parts of the document.
  package func bytes(withoutThoseOf changed: Parts) -> [UInt8] {
    let kept = Self.entries(of: Array(bytes)).filter { !changed.contains(Parts(rawValue: 1 << Self.part(of: $0.type))) }
    return kept.flatMap(\.bytes)
  }
}
