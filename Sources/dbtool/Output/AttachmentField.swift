internal import Coffer
internal import CofferDocuments

/// The fields of an attachment in JSON and tables.
enum AttachmentField: String, CaseIterable {
  case document, number, name, type, size, date, sha256

  private static func fields(as format: ListFormat?) -> [AttachmentField] {
    format == .json || format == .ndjson ? allCases : allCases.dropLast()
  }

  private var column: TableWriter.Column {
    TableWriter.Column(name: rawValue, isNumber: [.document, .number, .size].contains(self))
  }

  private func value(in attachment: Attachment) -> JSONValue {
    switch self {
    case .document: .integer(attachment.document.rawValue)
    case .number: .integer(attachment.id.rawValue)
    case .name: .string(attachment.name)
    case .type: .string(attachment.mediaType)
    case .size: .integer(attachment.byteCount)
    case .date: .date(attachment.date)
    case .sha256: .string(Hexadecimal.text(attachment.sha256))
    }
  }

  static func table(as format: ListFormat?) -> TableWriter {
    TableWriter(columns: fields(as: format).map(\.column), format: format)
  }

  static func cells(of attachment: Attachment, as format: ListFormat?) -> [JSONValue?] {
    fields(as: format).map { $0.value(in: attachment) }
  }

  /// Returns one document's attachments as a member of its object.
  static func json(of attachments: [Attachment]) -> JSONValue {
    .array(
      attachments.map { attachment in
        .object(allCases.filter { $0 != .document }.map { ($0.rawValue, $0.value(in: attachment)) })
      })
  }

  /// Prints a table of only these attachments.
  static func print(_ attachments: [Attachment], as format: ListFormat?) throws {
    var table = table(as: format)
    for attachment in attachments { try table.add(cells(of: attachment, as: format)) }
    try table.finish()
  }
}
