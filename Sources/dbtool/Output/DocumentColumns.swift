internal import Coffer
internal import CofferDocuments

/// The fields of a header in JSON and tables.
enum HeaderField: String, CaseIterable {
  case collection, id, title, size, key, created, modified, attributes, attachments

  /// The columns of a short list.
  static let short: [HeaderField] = [.id, .title, .size, .modified]
  static let long: [HeaderField] = [.id, .title, .size, .key, .created, .modified, .attributes, .attachments]

  /// Returns the columns of a list with documents of one or more collections. Other programs always get the collection
  /// as the last column. A table shows it only for several collections.
  static func columns(_ columns: [HeaderField], of collections: [String], as format: ListFormat?) -> [HeaderField] {
    if format == .json || format == .ndjson { return allCases }
    return columns + (collections.count > 1 || !TableWriter.isTable(format) ? [.collection] : [])
  }

  var column: TableWriter.Column {
    TableWriter.Column(name: rawValue, isNumber: [.id, .size, .attachments].contains(self))
  }

  func value(in header: DocumentHeader, of collection: String) -> JSONValue? {
    switch self {
    case .collection: .string(collection)
    case .id: .integer(header.id.rawValue)
    case .title: header.title.map { .string($0) }
    case .size: .integer(header.byteCount)
    case .key: header.key.map(Self.json(of:))
    case .created: .date(header.created)
    case .modified: .date(header.modified)
    case .attributes: header.attributes.isEmpty ? nil : .raw(header.attributes.canonicalJSON)
    case .attachments: header.attachmentCount > 0 ? .integer(header.attachmentCount) : nil
    }
  }

  /// The columns for documents that a verb changes or would change.
  private static let brief: [HeaderField] = [.id, .title, .size]

  static func briefTable(as format: ListFormat?) -> TableWriter {
    TableWriter(columns: brief.map(\.column), format: format)
  }

  static func briefCells(of header: DocumentHeader) -> [JSONValue?] {
    brief.map { $0.value(in: header, of: "") }
  }

  /// Prints a brief table of only these documents.
  ///
  /// - Parameter unreadable: The documents with unreadable headers, which have only an ID in the table.
  static func print(
    _ headers: [DocumentHeader], unreadable: [DocumentID] = [], as format: ListFormat?
  ) throws {
    var table = briefTable(as: format)
    for header in headers { try table.add(briefCells(of: header)) }
    for id in unreadable { try table.add(brief.map { $0 == .id ? .integer(id.rawValue) : nil }) }
    try table.finish()
  }

  /// Returns a key as text, or as bytes if it isn't text.
  private static func json(of key: DocumentKey) -> JSONValue {
    key.text.map { .string($0) } ?? .object([("$base64", .string(Base64.text(key.bytes)))])
  }
}
