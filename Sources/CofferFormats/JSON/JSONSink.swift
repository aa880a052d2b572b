public import CofferDocuments

/// A sink that writes a JSON array with an object for each document, in the same form as ``NDJSONSink``.
///
/// ``JSONSource`` reads equal documents.
public struct JSONSink<Output: ByteSink>: DocumentSink, Sendable {
  private var objects: DocumentObjects<Output>
  private var isFirst = true

  /// Creates a sink that writes the array to `sink` in UTF-8, and attachment contents to a folder, if there is one.
  public init(_ sink: Output, attachments: AttachmentFolder? = nil) {
    objects = DocumentObjects(sink, attachments: attachments)
  }

  /// The destination, complete after ``finish()``.
  public var sink: Output { objects.output.sink }

  public mutating func begin() throws(FormatError) {
    try objects.begin()
    objects.append("[")
  }

  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws {
    objects.append(isFirst ? "\n" : ",\n")
    isFirst = false
    try objects.append(document, inCollection: name)
  }

  public mutating func finish() throws(FormatError) {
    objects.append(isFirst ? "]\n" : "\n]\n")
    try objects.finish()
  }
}
