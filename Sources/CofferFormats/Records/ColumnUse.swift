/// One column of a table, and the part of a document that it became.
public struct ColumnUse: Hashable, Sendable {
  /// The use of a column: a part of the document by that name, or one of the others.
  public enum Use: String, Hashable, Sendable {
    /// The part of the document of that name.
    case id, title, text, key, collection, created, modified, attributes, parent, json, position
    /// An attribute by the column's name.
    case attribute
    /// A member of the text, which is the whole row as a JSON object.
    case row
    /// An id in a file of ours, while new ids are given.
    case dropped
  }

  /// The column's name as the input has it.
  public let name: String
  /// The part of the document that the column became.
  public let use: Use

  /// - Parameters:
  ///   - parts: the columns of each part; the first one counts.
  ///   - others: the use of all other columns.
  static func list(_ names: [String], parts: [(Use, Int?)], others: Use) -> [ColumnUse] {
    names.indices.map { index in
      ColumnUse(name: names[index], use: parts.first { $0.1 == index }?.0 ?? others)
    }
  }
}
