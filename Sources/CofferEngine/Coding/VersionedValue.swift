internal import CofferRecords

/// A Codable type whose members change over time. A value's schema version is stored in its attribute `schema`.
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
/// Older values are converted when they're read. The file keeps the old version until the value is written, either
/// separately or by ``WriteTransaction/migrateValues(_:in:)``, which writes all values.
///
/// A program never reads or replaces a value with a newer version than its type's version. Reading, `put`, `update` and
/// bulk insertion throw `notDecodable`, and the value is unchanged. A type that isn't a `VersionedValue` has version 1.
///
/// Within a version, a type can gain members, and programs with and without these members can write the value in turn.
/// `put` and `update` keep the members that the program's type doesn't have. To remove a member or change its meaning,
/// increase ``schema``.
///
/// If you replace all attributes of such a document, keep `schema`. Otherwise, the value counts as version 1. Instead,
/// change single attributes (`$0.attributes["pinned"] = true`), or use `WriteTransaction.update(_:as:_:)` to change the
/// value.
public protocol VersionedValue: Codable, Sendable {
  /// The current schema version, starting at 1. Values without the attribute have version 1.
  static var schema: Int { get }

  /// A value that supplies the missing members of older values, or `nil` (the default) if all members are required.
  ///
  /// Only the value's own members are filled in. Nested values are unchanged.
  static var defaults: Self? { get }

  /// Converts a value from an older schema version. The default implementation decodes it as the current type, with
  /// missing members from ``defaults``.
  ///
  /// - Returns: The value in the current version.
  /// - Throws: Any error. The call that reads the value then throws `notDecodable` with the document's ID, but rethrows
  ///   a ``StoreError`` unchanged.
  static func migrate(_ old: OlderValue<Self>) throws -> Self
}

extension VersionedValue {
  public static var schema: Int { 1 }
  public static var defaults: Self? { nil }
  public static func migrate(_ old: OlderValue<Self>) throws -> Self { try old.decode() }
}

/// A stored value with an older schema version, passed to ``VersionedValue/migrate(_:)``.
public struct OlderValue<Value: VersionedValue> {
  /// The value's schema version.
  public let schema: Int
  /// The value's document, without the text.
  public var header: DocumentHeader { opened.header }
  let opened: OpenedDocument
  let values: CodableValues

  /// Decodes the value as a type that matches its schema version. If the type is a ``VersionedValue``, its
  /// ``VersionedValue/defaults`` supply missing members.
  ///
  /// - Returns: The older value.
  /// - Throws: `notDecodable`.
  public func decode<Old: Decodable>(as type: Old.Type) throws(StoreError) -> Old {
    guard let versioned = type as? any VersionedValue.Type else { return try values.decode(type, opened) }
    guard let old = try values.decodeFilled(versioned, opened) as? Old else {
      preconditionFailure("internal error: a value of another type than asked for")
    }
    return old
  }

  /// Decodes the value as the current type, with missing members from ``VersionedValue/defaults``.
  ///
  /// - Returns: The value as the current type.
  /// - Throws: `notDecodable`.
  public func decode() throws(StoreError) -> Value {
    try values.decodeFilled(Value.self, opened)
  }
}
