internal import ArgumentParser
internal import CofferText

/// An encoding as people name it.
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

/// Encodings that a verb can write; each says its byte order.
protocol WritableEncodings {
  static var all: [TextEncoding] { get }
}

enum AnyEncoding: WritableEncodings {
  static let all = TextEncoding.allCases
}

/// The encodings of exports, which can encode every text of a store.
enum UnicodeEncoding: WritableEncodings {
  static let all: [TextEncoding] = [.utf8, .utf16LittleEndian, .utf16BigEndian]
}

/// An encoding for output, by the name that users give it.
struct OutputEncodingName<Known: WritableEncodings>: ExpressibleByArgument {
  let encoding: TextEncoding

  init(_ encoding: TextEncoding) {
    self.encoding = encoding
  }

  init?(argument: String) {
    guard case .fixed(let encoding) = EncodingChoice(name: argument), Known.all.contains(encoding) else { return nil }
    self.encoding = encoding
  }

  var defaultValueDescription: String { encoding.rawValue }

  static var allValueStrings: [String] { Known.all.map(\.rawValue) }
}
