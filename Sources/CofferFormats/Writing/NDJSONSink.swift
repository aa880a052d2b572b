public import CofferDocuments

/// A line of JSON for each document, with everything that is known of it.
///
/// Members: `collection`, `id`, `position`, `title`, `text`, `key` (`{"$base64":…}` where it is not text), `created`,
/// `modified`, `attributes`, `parent`, `json`; absent ones are left out. ``NDJSONSource`` reads equal documents back.
public struct NDJSONSink<Output: ByteSink>: DocumentSink, Sendable {
  private var output: EncodedOutput<Output>
  private var dates = DateWriter()
  /// The collection of the last document, and how its documents begin.
  private var collection: String?
  private var opening: [UInt8] = []

  public init(_ sink: Output) {
    output = EncodedOutput(sink)
  }

  /// Where it writes to; complete after ``finish()``.
  public var sink: Output { output.sink }

  public mutating func begin() throws(FormatError) {}

  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws(FormatError) {
    if collection != name { setCollection(name) }
    let header = document.header
    output.buffer += opening
    JSONWriter.appendInteger(header.id.rawValue, to: &output.buffer)
    append(",\"position\":")
    JSONWriter.appendInteger(header.position, to: &output.buffer)
    if let title = header.title {
      append(",\"title\":")
      JSONWriter.appendString(title, to: &output.buffer)
    }
    append(",\"text\":\"")
    try output.append(document.utf8) { JSONWriter.appendEscaped($0, to: &$1) }
    append("\"")
    if let key = header.key {
      append(",\"key\":")
      JSONLine.append(key, to: &output.buffer)
    }
    append(",\"created\":\"")
    dates.append(header.created, to: &output.buffer)
    append("\",\"modified\":\"")
    dates.append(header.modified, to: &output.buffer)
    append("\"")
    if !header.attributes.isEmpty {
      append(",\"attributes\":")
      output.buffer += header.attributes.canonicalJSON
    }
    if let parent = header.parent {
      append(",\"parent\":")
      JSONWriter.appendInteger(parent.rawValue, to: &output.buffer)
    }
    if header.isJSON { append(",\"json\":true") }
    append("}\n")
    try output.writeIfFull()
  }

  public mutating func finish() throws(FormatError) {
    try output.finish()
  }

  private mutating func setCollection(_ name: String) {
    collection = name
    opening = Array("{\"collection\":".utf8)
    JSONWriter.appendString(name, to: &opening)
    opening += ",\"id\":".utf8
  }

  @inline(__always)
  private mutating func append(_ text: StaticString) {
    output.buffer.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}

enum JSONLine {
  /// Appends a key as a string, or as `{"$base64":"…"}` where its bytes are no text.
  static func append(_ key: ExternalKey, to output: inout [UInt8]) {
    if key.text != nil {
      key.bytes.withUnsafeBytes { JSONWriter.appendString($0, to: &output) }
    } else {
      output += "{\"$base64\":\"".utf8
      Base64.append(encoding: key.bytes, to: &output)
      output += "\"}".utf8
    }
  }
}
