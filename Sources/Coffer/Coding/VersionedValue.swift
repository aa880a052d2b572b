internal import CofferRecords

/// A Codable type whose members change over time. A value's schema version is stored as its attribute `schema`.
///
/// ```swift
/// struct Note: VersionedValue {
///   static let schema = 2
///   static var defaults: Note? { Note(title: "") }
///   var title: String
///   var isPinned = false
/// }
/// ```
///
/// Older values are converted when they are read; the file keeps them as they are until something writes them, or
/// ``StoreWriter/migrateValues(_:in:)`` writes them all.
///
/// A call that replaces all attributes of such a value's document must keep `schema`, or the value counts as one of
/// version 1: change single attributes (`$0.attributes["pinned"] = true`), or the value by `StoreWriter.update(_:as:_:)`.
public protocol VersionedValue: Codable, Sendable {
  /// The current schema version, from 1. Values without the attribute have version 1.
  static var schema: Int { get }

  /// A value that gives an older value the members that it lacks; nil, the default, if none may be missing.
  ///
  /// Only members of the value itself are filled in, not those of values within it.
  static var defaults: Self? { get }

  /// Makes a value of the current schema version from one of an older version. The default decodes it as the current
  /// type, with members from ``defaults``.
  ///
  /// - Returns: the value of the current version.
  /// - Throws: any error. The call that reads the value then throws `notDecodable` with the document's id; a
  ///   ``StoreError`` is thrown as it is.
  static func migrate(_ old: OlderValue<Self>) throws -> Self
}

extension VersionedValue {
  public static var schema: Int { 1 }
  public static var defaults: Self? { nil }
  public static func migrate(_ old: OlderValue<Self>) throws -> Self { try old.decode() }
}

/// A stored value of an older schema version, passed to ``VersionedValue/migrate(_:)``.
public struct OlderValue<Value: VersionedValue> {
  /// Its schema version.
  public let schema: Int
  /// Its document, without the text.
  public var header: DocumentHeader { opened.header }
  let opened: OpenedDocument
  let values: CodableValues

  /// Decodes it as a type of the schema version that it has.
  ///
  /// - Returns: the older value.
  /// - Throws: `notDecodable`.
  public func decode<Old: Decodable>(as type: Old.Type) throws(StoreError) -> Old {
    try values.decode(type, opened)
  }

  /// Decodes it as the current type; ``VersionedValue/defaults`` supplies the members that it lacks.
  ///
  /// - Returns: the value as the current type.
  /// - Throws: `notDecodable`.
  public func decode() throws(StoreError) -> Value {
    try values.decodeFilled(Value.self, opened)
  }
}
