public import CofferDocuments

/// Writes a line of JSON for each document, with all its fields.
///
/// Members: `collection`, `id`, `position`, `title`, `text`, `key` (`{"$base64":…}` if it is not text), `created`,
/// `modified`, `attributes`, `parent`, `json`, `attachments`; absent ones are left out. `position` counts the documents of
/// a collection. ``NDJSONSource`` reads equal documents back, with their attachments if a folder has the contents.
public struct NDJSONSink<Output: ByteSink>: DocumentSink, Sendable {
  private var objects: DocumentObjects<Output>

  /// Writes the lines into `sink`, in UTF-8, and the contents of attachments into a folder, or nowhere.
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
  /// Appends a key as a string, or as `{"$base64":"…"}` where its bytes are not text.
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
