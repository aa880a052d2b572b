internal import CofferDocuments
public import CofferText

/// The formats of inputs; the raw value is the usual name.
public enum InputFormat: String, CaseIterable, Hashable, Sendable {
  /// The whole input is one text.
  case text
  /// A document for each line; never detected.
  case lines
  /// A table with commas or another delimiter.
  case csv
  /// A table with tabs.
  case tsv
  /// One JSON value, or an array of them.
  case json
  /// A JSON value in each line.
  case ndjson
  /// A property list, XML or binary.
  case plist
  /// A keyed archive, which is a property list of archived objects.
  case keyedArchive = "keyed-archive"
  /// A SQLite database.
  case sqlite

  /// The usual format for an extension: `csv`, `tsv`, `tab`, `json`, `ndjson`, `jsonl`; nil for others.
  public init?(pathExtension: some StringProtocol) {
    switch pathExtension.lowercased() {
    case "csv": self = .csv
    case "tsv", "tab": self = .tsv
    case "json": self = .json
    case "ndjson", "jsonl": self = .ndjson
    default: return nil
    }
  }
}

extension InputFormat {
  /// The number of bytes that detection inspects at most.
  static let detectionByteCount = 64 << 10

  /// Detects a format by the first bytes, then by the extension. Never answers `lines`.
  ///
  /// - Parameters:
  ///   - head: the first 64 KiB, or the whole input.
  ///   - headIsWhole: whether the head is the whole input.
  ///   - pathExtension: without its dot; nil for an input without a name, such as standard input.
  ///   - encoding: the encoding of texts, if it is known.
  /// - Returns: nil if the content is undecided and there is no name: the user must decide.
  public static func detect(
    head: [UInt8], headIsWhole: Bool, pathExtension: String?, encoding: EncodingChoice = .automatic
  ) -> InputFormat? {
    if head.starts(with: "SQLite format 3\0".utf8) { return .sqlite }
    let list = PropertyListHead(head)
    if list.isTypedStream { return .keyedArchive }
    if list.isBinary { return head.holds("NSKeyedArchiver") ? .keyedArchive : .plist }
    let text = decoded(head, isWhole: headIsWhole, (try? list.encoding(given: encoding)) ?? encoding)
    if ["<?xml", "<!DOCTYPE plist", "<plist"].contains(where: { text.starts(with: $0.utf8) }), text.holds("<plist") {
      return text.holds("NSKeyedArchiver") ? .keyedArchive : .plist
    }
    if let json = detectJSON(text, isWhole: headIsWhole) {
      // One object in one line is both; its name says which.
      return pathExtension?.lowercased() == "json" && text.isOneLine && headIsWhole ? .json : json
    }
    guard let pathExtension else { return nil }
    if let usual = InputFormat(pathExtension: pathExtension) { return usual }
    // A spreadsheet saves its "Unicode Text" under that name.
    let isTable = text.withUnsafeBytes {
      DelimiterChoice.isTable($0, from: 0, isFinal: headIsWhole, .tsv, needsHeader: true)
    }
    return isTable && pathExtension.lowercased() == "txt" ? .tsv : .text
  }

  /// The head in UTF-8 as far as it can be decoded.
  private static func decoded(_ head: [UInt8], isWhole: Bool, _ encoding: EncodingChoice) -> [UInt8] {
    var reader = DecodedReader(
      MemoryByteSource(head), encoding: encoding, onError: .replace, maximum: 4 * head.count + 64,
      capacity: 3 * head.count + 128)
    _ = reader.fill()
    var text = Array(reader.bytes[reader.start..<reader.end])
    // An incomplete last character counts as replaced; it is not needed here.
    if !isWhole, let last = reader.replacements.last, last.position == text.count - 3 { text.removeLast(3) }
    return text
  }

  /// NDJSON if each line is a value, JSON if one value spans several; nil for anything else.
  private static func detectJSON(_ text: [UInt8], isWhole: Bool) -> InputFormat? {
    text.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      scanner.skipWhitespace()
      guard let first = scanner.next, first == JSONByte.openBrace || first == JSONByte.openBracket else { return nil }
      let start = scanner.position
      do throws(JSONError) {
        try scanner.skipValue()
      } catch {
        // An incomplete value is noticed at the very end, an incomplete escape at most 12 bytes before.
        guard !isWhole, error.code == .malformed || error.code == .loneSurrogate,
          error.byteOffset + 12 >= bytes.count
        else { return nil }
        let isOneLine = bytes.firstOffset(of: Byte.lineFeed, from: start) == nil
        return first == JSONByte.openBrace && isOneLine ? .ndjson : .json
      }
      let value = UnsafeRawBufferPointer(rebasing: bytes[start..<scanner.position])
      let isOneLine = value.firstOffset(of: Byte.lineFeed, from: 0) == nil
      scanner.skipWhitespace()
      if scanner.next == nil, isWhole || scanner.position == start + value.count {
        return first == JSONByte.openBrace && isOneLine ? .ndjson : .json
      }
      return isOneLine && everyLineIsJSON(bytes, isWhole: isWhole) ? .ndjson : nil
    }
  }

  private static func everyLineIsJSON(_ bytes: UnsafeRawBufferPointer, isWhole: Bool) -> Bool {
    var position = 0
    while position < bytes.count, let line = bytes.line(from: position, isFinal: isWhole) {
      var scanner = JSONScanner(bytes, in: line.content)
      scanner.skipWhitespace()
      if scanner.next != nil, (try? scanner.scanDocument()) == nil { return false }
      position = line.end
    }
    return true
  }
}

extension [UInt8] {
  fileprivate var isOneLine: Bool {
    drop { $0 == Byte.lineFeed }.firstIndex(of: Byte.lineFeed).map { $0 == count - 1 } ?? true
  }

  fileprivate func holds(_ text: StaticString) -> Bool {
    let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    return indices.contains { self[$0] == wanted[0] && self[$0...].starts(with: wanted) }
  }
}
