internal import CofferDocuments

/// Writes documents as JSON objects with all their fields.
struct DocumentObjects<Output: ByteSink>: Sendable {
  var output: EncodedOutput<Output>
  private var dates = DateWriter()
  /// The collection of the last document, and the beginning of its objects.
  private var collection: String?
  private var opening: [UInt8] = []
  /// The last document's position in its collection, from 1, and the last positions in the other collections.
  private var place: Int64 = 0
  private var places: [[UInt8]: Int64] = [:]
  /// Receives attachment contents. Otherwise, only the metadata of attachments is written.
  private var folder: AttachmentFolder?

  init(_ sink: Output, attachments folder: AttachmentFolder? = nil) {
    output = EncodedOutput(sink)
    self.folder = folder
  }

  mutating func begin() throws(FormatError) {
    try folder?.begin()
  }

  mutating func finish() throws(FormatError) {
    try folder?.finish()
    try output.finish()
  }

  /// Appends a document's object.
  ///
  /// - Parameters:
  ///   - file: The text file's path, which is written first, instead of the text and the position.
  ///   - withAttributes: Whether to include the attributes.
  ///   - written: The document's attachments, if their contents are already in files.
  mutating func append(
    _ document: OpenedDocument, inCollection name: String, file: String? = nil, withAttributes: Bool = true,
    _ written: (attachments: [OpenedAttachment], files: [String])? = nil
  ) throws {
    if collection?.utf8.elementsEqual(name.utf8) != true { setCollection(name) }
    let header = document.header
    if let file {
      append("{\"file\":")
      JSONWriter.appendString(file, to: &output.buffer)
      append(",")
      output.buffer += opening.dropFirst()
    } else {
      output.buffer += opening
    }
    JSONWriter.appendInteger(header.id.rawValue, to: &output.buffer)
    if file == nil {
      append(",\"position\":")
      place += 1
      JSONWriter.appendInteger(place, to: &output.buffer)
    }
    if let title = header.title {
      append(",\"title\":")
      JSONWriter.appendString(title, to: &output.buffer)
    }
    if file == nil {
      append(",\"text\":\"")
      try output.append(document.utf8) { JSONWriter.appendEscaped($0, to: &$1) }
      append("\"")
    }
    if let key = header.key {
      append(",\"key\":")
      JSONWriter.append(key, to: &output.buffer)
    }
    append(",\"created\":\"")
    dates.append(header.created, to: &output.buffer)
    append("\",\"modified\":\"")
    dates.append(header.modified, to: &output.buffer)
    append("\"")
    if withAttributes, !header.attributes.isEmpty {
      append(",\"attributes\":")
      output.buffer += header.attributes.canonicalJSON
    }
    if let parent = header.parent {
      append(",\"parent\":")
      JSONWriter.appendInteger(parent.rawValue, to: &output.buffer)
    }
    if header.isJSON { append(",\"json\":true") }
    let attachments = try written?.attachments ?? document.attachments()
    if !attachments.isEmpty {
      let files = try written?.files ?? folder?.write(attachments, of: header)
      append(",\"attachments\":")
      output.buffer.append(attachments, files: files, &dates)
    }
    append("}")
    try output.writeIfFull()
  }

  private mutating func setCollection(_ name: String) {
    if let collection { places[Array(collection.utf8)] = place }
    collection = name
    place = places[Array(name.utf8)] ?? 0
    opening = Array("{\"collection\":".utf8)
    JSONWriter.appendString(name, to: &opening)
    opening += ",\"id\":".utf8
  }

  @inline(__always)
  mutating func append(_ text: StaticString) {
    output.buffer.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
