internal import CofferDocuments
public import CofferText

/// The formats of inputs. The raw value is the usual name.
public enum InputFormat: String, CaseIterable, Hashable, Sendable {
  /// A single text.
  case text
  /// A document for each line. This format is never detected.
  case lines
  /// A table with commas or another delimiter.
  case csv
  /// A table with tabs.
  case tsv
  /// A JSON value, or an array of JSON values.
  case json
  /// A JSON value in each line.
  case ndjson
  /// An XML or binary property list.
  case plist
  /// A keyed archive, which is a property list with archived objects.
  case keyedArchive = "keyed-archive"
  /// A SQLite database.
  case sqlite

  /// Creates the usual format for an extension (`csv`, `tsv`, `tab`, `json`, `ndjson`, `jsonl`), or returns `nil` for
  /// other extensions.
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
  /// The maximum number of bytes for detection.
  static let detectionByteCount = 64 << 10

  /// Detects a format by the first bytes, then by the extension. Never returns `lines`.
  ///
  /// - Parameters:
  ///   - head: The first 64 KiB, or the entire input.
  ///   - headIsWhole: Whether the head is the entire input.
  ///   - pathExtension: The extension without its dot, or `nil` for an input without a name, such as standard input.
  ///   - encoding: The encoding of texts, if it's known.
  /// - Returns: The format, or `nil` if the content is ambiguous and there isn't a name, so the user must decide.
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
      // A single object in one line matches both formats, so its name decides.
      return pathExtension?.lowercased() == "json" && text.isOneLine && headIsWhole ? .json : json
    }
    guard let pathExtension else { return nil }
    if let usual = InputFormat(pathExtension: pathExtension) { return usual }
    // Spreadsheets save "Unicode Text" with this extension.
    let isTable = text.withUnsafeBytes {
      DelimiterChoice.isTable($0, from: 0, isFinal: headIsWhole, .tsv, needsHeader: true)
    }
    return isTable && pathExtension.lowercased() == "txt" ? .tsv : .text
  }

  /// Returns the head in UTF-8, with invalid bytes replaced.
  private static func decoded(_ head: [UInt8], isWhole: Bool, _ encoding: EncodingChoice) -> [UInt8] {
    var reader = DecodedReader(
      MemoryByteSource(head), encoding: encoding, onError: .replace, maximum: 4 * head.count + 64,
      capacity: 3 * head.count + 128)
    _ = reader.fill()
    var text = Array(reader.bytes[reader.start..<reader.end])
    // An incomplete last character counts as replaced. Detection doesn't need it.
    if !isWhole, let last = reader.replacements.last, last.position == text.count - 3 { text.removeLast(3) }
    return text
  }

  /// Returns NDJSON if each line is a value, JSON if a value spans several lines, or `nil` for other texts.
  private static func detectJSON(_ text: [UInt8], isWhole: Bool) -> InputFormat? {
    text.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      scanner.skipWhitespace()
      guard let first = scanner.next, first == JSONByte.openBrace || first == JSONByte.openBracket else { return nil }
      let start = scanner.position
      do throws(JSONError) {
        try scanner.skipValue()
      } catch {
        // An incomplete value is detected at the very end, and an incomplete escape at most 12 bytes before the end.
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
