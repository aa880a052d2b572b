internal import CofferDocuments

/// An attachment as listed in an export:
/// `{"name":"photo.png","type":"image/png","date":"2024-05-01T09:30:00.000Z","size":48213,"sha256":"…","file":"Plans.files/photo.png"}`.
///
/// Only the name is required. The file is a path in the contents folder. Other members are ignored.
struct AttachmentEntry: Sendable {
  /// The lengths of a name and a media type (FORMAT, "Attachments").
  private static let names = 1...1024
  private static let mediaTypes = 0...255

  let name: String
  let mediaType: String?
  let date: Timestamp?
  let sha256: [UInt8]?
  let file: [UInt8]?

  /// Reads the object at the scanner's position.
  init(_ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer) throws(JSONError) {
    let start = scanner.position
    guard scanner.next == JSONByte.openBrace else {
      throw JSONError(.malformed, at: start, "an attachment that is not an object")
    }
    var name: String?
    var mediaType: String?
    var date: Timestamp?
    var sha256: [UInt8]?
    var file: [UInt8]?
    var fault: JSONError?
    try scanner.forEachMember { member, value, scanner in
      guard case .string(let token) = value.content else { return }
      let text = scanner.value(of: token)
      func refuse(_ reason: String) { fault = fault ?? JSONError(.malformed, at: value.source.lowerBound, reason) }
      if scanner.equals(member, "name") {
        name = String(decoding: text, as: UTF8.self)
        if !Self.names.contains(text.count) { refuse("an attachment's name that has not 1 to 1024 bytes") }
      } else if scanner.equals(member, "type") {
        mediaType = String(decoding: text, as: UTF8.self)
        if !Self.mediaTypes.contains(text.count) || !text.allSatisfy({ (0x21...0x7E).contains($0) }) {
          refuse("an attachment's type that is no media type")
        }
      } else if scanner.equals(member, "date") {
        var reader = DateReader(unit: nil)
        date = text.withUnsafeBytes { try? reader.read($0) }
        if date == nil { refuse("an attachment's date that is no date") }
      } else if scanner.equals(member, "sha256") {
        sha256 = Hexadecimal.bytes(String(decoding: text, as: UTF8.self)[...]).flatMap { $0.count == 32 ? $0 : nil }
        if sha256 == nil { refuse("an attachment's sha256 that has not 64 hexadecimal digits") }
      } else if scanner.equals(member, "file") {
        file = text
      }
    }
    if let fault { throw fault }
    guard let name else { throw JSONError(.malformed, at: start, "an attachment without a name") }
    (self.name, self.mediaType, self.date, self.sha256, self.file) = (name, mediaType, date, sha256, file)
  }

  /// Reads the array in a range of the bytes.
  static func list(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) throws(JSONError) -> [AttachmentEntry] {
    var scanner = JSONScanner(bytes, in: range)
    var entries: [AttachmentEntry] = []
    try scanner.openArray(depth: 2)
    while try scanner.hasNextElement(isFirst: entries.isEmpty) {
      entries.append(try AttachmentEntry(&scanner, bytes))
    }
    return entries
  }
}

extension [UInt8] {
  /// Appends the array of a document's attachments, each with its file if the contents are written.
  mutating func append(_ attachments: [OpenedAttachment], files: [String]?, _ dates: inout DateWriter) {
    append(JSONByte.openBracket)
    for (index, attachment) in attachments.enumerated() {
      if index > 0 { append(JSONByte.comma) }
      self += "{\"name\":".utf8
      JSONWriter.appendString(attachment.name, to: &self)
      self += ",\"type\":".utf8
      JSONWriter.appendString(attachment.mediaType, to: &self)
      self += ",\"date\":\"".utf8
      dates.append(attachment.date, to: &self)
      self += "\",\"size\":".utf8
      JSONWriter.appendInteger(Int64(attachment.byteCount), to: &self)
      self += ",\"sha256\":\"\(Hexadecimal.text(attachment.sha256))\"".utf8
      if let files {
        self += ",\"file\":".utf8
        JSONWriter.appendString(files[index], to: &self)
      }
      append(JSONByte.closeBrace)
    }
    append(JSONByte.closeBracket)
  }
}
