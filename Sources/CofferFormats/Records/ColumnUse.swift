/// A column of a table, or a member of JSON objects or dictionaries, with its use.
public struct ColumnUse: Hashable, Sendable {
  /// The use of a column, such as a document part.
  public enum Use: String, Hashable, Sendable {
    /// The document part with this name.
    case id, title, text, key, collection, created, modified, attributes, parent, json, position, attachments
    /// An attribute with the column's name.
    case attribute
    /// A member of a value, which is an entire record without a text.
    case value
    /// An unused ID in an exported file, because documents get new IDs.
    case dropped
    /// A mapped member that isn't in any record.
    case missing
  }

  /// The column's name in the input.
  public let name: String
  /// The column's use. A member can have several uses in different records, so a name can occur several times.
  public let use: Use

  /// - Parameters:
  ///   - parts: The columns for each part. The first column counts.
  ///   - others: The use of other columns.
  static func list(_ names: [String], parts: [(Use, Int?)], others: Use) -> [ColumnUse] {
    names.indices.map { index in
      ColumnUse(name: names[index], use: parts.first { $0.1 == index }?.0 ?? others)
    }
  }
}
