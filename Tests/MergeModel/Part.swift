/// The name of a part of a record.
public enum PartName: Hashable, Comparable, Sendable {
  /// The existence of the record. The part has no value; its dot is the record's creation, or a decision to keep it.
  case born
  // The parts of a document.
  case text, title, key, place
  /// One member of a document's attributes.
  case attribute(String)
  // The parts of a collection.
  case name, settings, dropped
}

extension PartName {
  /// The schema version of a value.
  static let schema = PartName.attribute("schema")
}

/// The value of a part.
public enum PartValue: Hashable, Comparable, Sendable {
  case empty, no, yes
  case string(String)
  case place(Place)

  /// The string, or `nil` if the value is something else.
  public var string: String? {
    if case .string(let string) = self { string } else { nil }
  }

  /// Creates a string value, or the empty value from `nil`.
  public init(_ string: String?) {
    self = string.map(Self.string) ?? .empty
  }
}

/// Where a document belongs.
public struct Place: Hashable, Comparable, Sendable {
  public var collection: RecordID
  public var position: Position
  public var parent: RecordID?

  public init(collection: RecordID, position: Position, parent: RecordID?) {
    self.collection = collection
    self.position = position
    self.parent = parent
  }

  public static func < (lhs: Place, rhs: Place) -> Bool {
    let none = RecordID(high: 0, low: 0)
    return (lhs.collection, lhs.position, lhs.parent ?? none) < (rhs.collection, rhs.position, rhs.parent ?? none)
  }
}

/// A value, and the commit that wrote it.
public struct Part: Hashable, Sendable {
  /// A part that nobody has written.
  public static let unset = Part(.empty, .never)

  public var value: PartValue
  public var dot: Dot

  public init(_ value: PartValue, _ dot: Dot) {
    self.value = value
    self.dot = dot
  }
}
