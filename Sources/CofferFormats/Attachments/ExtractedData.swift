internal import CofferDocuments

/// The data extracted from one record. Its bytes become attachments, and the record refers to them by their SHA-256.
///
/// Repeated bytes become one attachment.
final class ExtractedData {
  private static let longestName = 200
  private static let member: StaticString = "$attachment"

  /// The data that doesn't have a name yet, by the digits of its SHA-256.
  private var unnamed: [String: [UInt8]] = [:]
  private var seen: Set<String> = []
  private(set) var attachments: [DraftAttachment] = []

  /// Appends a JSON reference to bytes, which is `{"$attachment":"…"}` or a bare string of digits.
  ///
  /// - Parameters:
  ///   - name: The attachment's name, or `nil` to derive it from the position of the bytes in the record.
  ///   - isBare: Whether to append only the string.
  func append(
    _ bytes: UnsafeRawBufferPointer, named name: String? = nil, isBare: Bool = false, to output: inout [UInt8]
  ) {
    let digest = ContentDigest()
    digest.update(bytes)
    let digits = Hexadecimal.text(digest.finish())
    output += (isBare ? "\"\(digits)\"" : "{\"\(Self.member)\":\"\(digits)\"}").utf8
    guard seen.insert(digits).inserted else { return }
    if let name { attach(Array(bytes), as: name) } else { unnamed[digits] = Array(bytes) }
  }

  /// Names the data by its path in the JSON record, such as `photos.0.image`.
  func nameByPlace(in record: [UInt8]) throws(JSONError) {
    guard !unnamed.isEmpty else { return }
    let result: Result<Void, JSONError> = record.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in
        var scanner = JSONScanner(bytes)
        try visit(&scanner, path: "", depth: 1)
      }
    }
    try result.get()
  }

  private func visit(_ scanner: inout JSONScanner, path: String, depth: Int) throws(JSONError) {
    switch scanner.next {
    case JSONByte.openBrace:
      try scanner.openObject(depth: depth)
      var isFirst = true
      while let name = try scanner.nextName(isFirst: isFirst) {
        isFirst = false
        if scanner.equals(name, Self.member), scanner.next == JSONByte.quote {
          let digits = String(decoding: scanner.value(of: try scanner.scanString()), as: UTF8.self)
          if let bytes = unnamed.removeValue(forKey: digits) { attach(bytes, as: path) }
        } else {
          let name = String(decoding: scanner.value(of: name), as: UTF8.self)
          try visit(&scanner, path: Self.joined(path, name), depth: depth + 1)
        }
      }
    case JSONByte.openBracket:
      try scanner.openArray(depth: depth)
      var count = 0
      while try scanner.hasNextElement(isFirst: count == 0) {
        try visit(&scanner, path: Self.joined(path, "\(count)"), depth: depth + 1)
        count += 1
      }
    default:
      try scanner.skipValue(depth: depth)
    }
  }

  /// Joins the names of a path. If the path becomes too long, only the last names are kept.
  private static func joined(_ path: String, _ name: String) -> String {
    let name = name.utf8.count > longestName ? String(name.prefix(longestName / 4)) : name
    return path.isEmpty || path.utf8.count + name.utf8.count >= longestName ? name : "\(path).\(name)"
  }

  private func attach(_ bytes: [UInt8], as path: String) {
    var name = path.isEmpty ? "data" : Self.joined("", path)
    if let ending = ContentKind(bytes)?.rawValue, !name.lowercased().hasSuffix(".\(ending)") { name += ".\(ending)" }
    attachments.append(DraftAttachment(name: name, bytes: bytes))
  }
}

/// The kinds of content with a file name extension, detected by their first bytes.
enum ContentKind: String {
  case png, jpg, gif, pdf, heic, tiff, webp, mp4, mov, zip

  init?(_ bytes: [UInt8]) {
    func holds(_ text: String, at offset: Int) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
      self = .png
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpg
    } else if holds("GIF8", at: 0) {
      self = .gif
    } else if holds("%PDF-", at: 0) {
      self = .pdf
    } else if bytes.starts(with: [0x49, 0x49, 0x2A, 0]) || bytes.starts(with: [0x4D, 0x4D, 0, 0x2A]) {
      self = .tiff
    } else if holds("RIFF", at: 0), holds("WEBP", at: 8) {
      self = .webp
    } else if holds("ftyp", at: 4) {
      self = ["heic", "heix", "mif1"].contains { holds($0, at: 8) } ? .heic : holds("qt  ", at: 8) ? .mov : .mp4
    } else if bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) {
      self = .zip
    } else {
      return nil
    }
  }
}
