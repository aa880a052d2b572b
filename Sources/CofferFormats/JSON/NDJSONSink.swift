public import CofferDocuments

/// A sink that writes each document as a line of JSON with all its fields.
///
/// The members are `collection`, `id`, `position`, `title`, `text`, `key` (`{"$base64":…}` if it isn't text),
/// `created`, `modified`, `attributes`, `parent`, `json` and `attachments`. Missing parts are omitted. `position`
/// counts the documents in a collection. ``NDJSONSource`` reads equal documents, with their attachments if a folder
/// contains the contents.
public struct NDJSONSink<Output: ByteSink>: DocumentSink, Sendable {
  private var objects: DocumentObjects<Output>

  /// Creates a sink that writes the lines to `sink` in UTF-8, and attachment contents to a folder, if there is one.
  public init(_ sink: Output, attachments: AttachmentFolder? = nil) {
    objects = DocumentObjects(sink, attachments: attachments)
  }

  /// The destination, complete after ``finish()``.
  public var sink: Output { objects.output.sink }

  public mutating func begin() throws(FormatError) {
    try objects.begin()
  }

  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws {
    try objects.append(document, inCollection: name)
    objects.append("\n")
  }

  public mutating func finish() throws(FormatError) {
    try objects.finish()
  }
}

extension JSONWriter {
  /// Appends a key as a string, or as `{"$base64":"…"}` if its bytes aren't text.
  static func append(_ key: DocumentKey, to output: inout [UInt8]) {
    key.bytes.withUnsafeBytes { bytes in
      if key.text != nil {
        appendString(bytes, to: &output)
      } else {
        append(base64: bytes, to: &output)
      }
    }
  }
}
