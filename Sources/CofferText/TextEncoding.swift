/// A text encoding. The raw value is its common name.
public enum TextEncoding: String, CaseIterable, Hashable, Sendable {
  case utf8 = "utf-8"
  case utf16LittleEndian = "utf-16le"
  case utf16BigEndian = "utf-16be"
  case windows1250 = "windows-1250"
  case windows1251 = "windows-1251"
  case windows1252 = "windows-1252"
  case windows1253 = "windows-1253"
  case windows1254 = "windows-1254"
  case windows1255 = "windows-1255"
  case windows1256 = "windows-1256"
  case windows1257 = "windows-1257"
  case windows1258 = "windows-1258"
  case koi8R = "koi8-r"
  case iso88591 = "iso-8859-1"
  case iso885915 = "iso-8859-15"

  /// The bytes of U+FEFF in this encoding, or an empty array for a code page.
  public var byteOrderMark: [UInt8] {
    switch self {
    case .utf8: [0xEF, 0xBB, 0xBF]
    case .utf16LittleEndian: [0xFF, 0xFE]
    case .utf16BigEndian: [0xFE, 0xFF]
    default: []
    }
  }

  /// Returns the encoding for a text after a byte order mark. This is UTF-16BE instead of UTF-16LE if the text begins
  /// with U+0000, because the UTF-16LE mark would then be read as UTF-32's.
  package func behindMark(of text: UnsafeRawBufferPointer) -> TextEncoding {
    self == .utf16LittleEndian && text.first == 0 ? .utf16BigEndian : self
  }
}

extension TextEncoding {
  /// The encoding's table, or `nil` for Unicode encodings.
  var codePage: CodePage? {
    switch self {
    case .utf8, .utf16LittleEndian, .utf16BigEndian: nil
    case .windows1250: CodePage(upperHalf: CodePage.windows1250)
    case .windows1251: CodePage(upperHalf: CodePage.windows1251)
    case .windows1252: CodePage(upperHalf: CodePage.windows1252)
    case .windows1253: CodePage(upperHalf: CodePage.windows1253)
    case .windows1254: CodePage(upperHalf: CodePage.windows1254)
    case .windows1255: CodePage(upperHalf: CodePage.windows1255)
    case .windows1256: CodePage(upperHalf: CodePage.windows1256)
    case .windows1257: CodePage(upperHalf: CodePage.windows1257)
    case .windows1258: CodePage(upperHalf: CodePage.windows1258)
    case .koi8R: CodePage(upperHalf: CodePage.koi8R)
    case .iso88591: CodePage(upperHalf: CodePage.iso88591)
    case .iso885915: CodePage(upperHalf: CodePage.iso885915)
    }
  }
}

/// A choice of encoding for reading a text.
public enum EncodingChoice: Hashable, Sendable {
  /// The byte order mark's encoding. Without a mark, the text must be valid UTF-8 without U+0000. The encoding is never
  /// guessed.
  case automatic
  /// UTF-16 with the byte order of its mark, which is required.
  case utf16WithMark
  /// A specific encoding, whose byte order mark is dropped if the text has one.
  case fixed(TextEncoding)

  /// Creates a choice from a name in ``allNames``, in lowercase or uppercase.
  public init?(name: some StringProtocol) {
    let name = name.lowercased()
    switch name {
    case "auto": self = .automatic
    case "utf-16": self = .utf16WithMark
    default:
      guard let encoding = TextEncoding(rawValue: name) else { return nil }
      self = .fixed(encoding)
    }
  }

  public var name: String {
    switch self {
    case .automatic: "auto"
    case .utf16WithMark: "utf-16"
    case .fixed(let encoding): encoding.rawValue
    }
  }

  /// All names, including `auto` and `utf-16`, in the order for help texts.
  public static var allNames: [String] {
    [EncodingChoice.automatic, .fixed(.utf8), .utf16WithMark].map(\.name)
      + TextEncoding.allCases.dropFirst().map(\.rawValue)
  }
}

/// The treatment of invalid bytes, and of characters that aren't in an encoding.
public enum CodingErrorMode: Hashable, Sendable {
  /// Throws an error with the offset of the first invalid byte.
  case fail
  /// Decoding writes U+FFFD like WHATWG's decoders, and encoding to a code page writes `?`.
  case replace
}
