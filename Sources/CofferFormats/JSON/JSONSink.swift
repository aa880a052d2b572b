public import CofferDocuments

/// One JSON array with an object for each document, as ``NDJSONSink`` writes them.
///
/// ``JSONSource`` reads equal documents back.
public struct JSONSink<Output: ByteSink>: DocumentSink, Sendable {
  private var objects: DocumentObjects<Output>
  private var isFirst = true

  /// Writes the array into `sink`, in UTF-8, and the contents of attachments into a folder, or nowhere.
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
