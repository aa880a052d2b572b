internal import CofferPropertyLists
internal import CofferText

/// The first bytes of a property list, which tell its form and its encoding.
struct PropertyListHead {
  /// Enough for any XML declaration.
  static let byteCount = 1024

  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isBinary: Bool { PropertyList.isBinary(bytes) }

  /// An archive of NSArchiver, which is no property list.
  var isTypedStream: Bool {
    bytes.starts(with: [0x04, 0x0B]) && ["streamtyped", "typedstream"].contains { bytes[2...].starts(with: $0.utf8) }
  }

  /// The encoding of XML: the given one, else that of its byte order mark, else that of its declaration.
  ///
  /// - Throws: `undecodable` for a declaration of an encoding that is not read, or that the bytes contradict.
  func encoding(given: EncodingChoice) throws(FormatError) -> EncodingChoice {
    guard case .automatic = given, !isBinary else { return given }
    // XML begins with `<`, which UTF-16 writes with a zero on one side, followed by another such character.
    switch bytes.prefix(4).map({ $0 == 0 }) {
    case [false, true, false, true] where bytes[0] == UInt8(ascii: "<"): return .fixed(.utf16LittleEndian)
    case [true, false, true, false] where bytes[1] == UInt8(ascii: "<"): return .fixed(.utf16BigEndian)
    default: break
    }
    guard bytes.starts(with: "<?xml".utf8), let name = declaredEncoding else { return given }
    switch name {
    case "utf-8", "utf8", "us-ascii", "ascii": return .automatic
    default: break
    }
    guard let encoding = TextEncoding(rawValue: name), !encoding.isUTF16 else {
      throw FormatError(
        .undecodable, "the XML declaration names an encoding that is not read, or that the bytes are not in",
        at: InputLocation(line: 1, column: 1, byteOffset: 0))
    }
    return .fixed(encoding)
  }

  /// The declaration's value of `encoding`, in lower case.
  private var declaredEncoding: String? {
    let word = Array("encoding".utf8)
    let declaration = bytes.prefix { $0 != UInt8(ascii: ">") }
    // A declaration that is cut off is a different error, reported by the XML reader.
    guard declaration.count < bytes.count,
      let place = declaration.indices.first(where: { declaration[$0...].starts(with: word) })
    else { return nil }
    let quoted = declaration[(place + word.count)...].drop { $0 != Byte.quote && $0 != UInt8(ascii: "'") }
    guard let quote = quoted.first else { return nil }
    return String(decoding: quoted.dropFirst().prefix { $0 != quote }, as: UTF8.self).lowercased()
  }
}

extension TextEncoding {
  fileprivate var isUTF16: Bool { self == .utf16LittleEndian || self == .utf16BigEndian }
}
