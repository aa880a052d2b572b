internal import ArgumentParser
internal import CofferText

/// An encoding by its common name.
struct EncodingName: ExpressibleByArgument {
  let choice: EncodingChoice

  init(choice: EncodingChoice) {
    self.choice = choice
  }

  init?(argument: String) {
    guard let choice = EncodingChoice(name: argument) else { return nil }
    self.choice = choice
  }

  var defaultValueDescription: String { choice.name }

  static var allValueStrings: [String] { EncodingChoice.allNames }
}

/// The encodings that a verb can write, each with a fixed byte order.
protocol WritableEncodings {
  static var all: [TextEncoding] { get }
}

enum AnyEncoding: WritableEncodings {
  static let all = TextEncoding.allCases
}

/// The encodings of exports, which can encode every text in a store.
enum UnicodeEncoding: WritableEncodings {
  static let all: [TextEncoding] = [.utf8, .utf16LittleEndian, .utf16BigEndian]
}

/// An output encoding by its common name, including `utf-8-bom`, and `utf-16` with a byte order mark.
struct OutputEncodingName<Known: WritableEncodings>: ExpressibleByArgument {
  let encoding: TextEncoding
  /// A Boolean value that indicates whether the output begins with a byte order mark.
  let hasMark: Bool

  init(_ encoding: TextEncoding, hasMark: Bool = false) {
    self.encoding = encoding
    self.hasMark = hasMark
  }

  init?(argument: String) {
    switch argument.lowercased() {
    case "utf-8-bom": self.init(.utf8, hasMark: true)
    case "utf-16": self.init(.utf16LittleEndian, hasMark: true)
    default:
      guard case .fixed(let encoding) = EncodingChoice(name: argument), Known.all.contains(encoding) else { return nil }
      self.init(encoding)
    }
  }

  var defaultValueDescription: String { encoding.rawValue }

  static var allValueStrings: [String] { Known.all.map(\.rawValue) + ["utf-8-bom", "utf-16"] }
}
