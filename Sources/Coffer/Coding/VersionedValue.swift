internal import CofferRecords

/// A Codable type whose form changes over time. The number of a value's form is stored as its attribute `schema`.
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
/// form 1: change single attributes (`$0.attributes["pinned"] = true`), or the value by `StoreWriter.update(_:as:_:)`.
public protocol VersionedValue: Codable, Sendable {
  /// The number of the current form, from 1. Values without the attribute have the form 1.
  static var schema: Int { get }

  /// A value that gives an older value the members that it lacks; nil, the default, if none may be missing.
  ///
  /// Only members of the value itself are filled in, not those of values within it.
  static var defaults: Self? { get }

  /// Makes a value of the current form from one of an older form. The default decodes an older form as the current one,
  /// with members from ``defaults``.
  ///
  /// - Throws: any error. The call that reads the value then throws `notDecodable` with the document's id; a
  ///   ``StoreError`` is thrown as it is.
  static func migrate(_ old: OlderValue<Self>) throws -> Self
}

extension VersionedValue {
  public static var schema: Int { 1 }
  public static var defaults: Self? { nil }
  public static func migrate(_ old: OlderValue<Self>) throws -> Self { try old.decode() }
}

/// A stored value of an older form, passed to ``VersionedValue/migrate(_:)``.
public struct OlderValue<Value: VersionedValue> {
  /// The number of its form.
  public let schema: Int
  /// Its document, without the text.
  public var header: DocumentHeader { opened.header }
  let opened: OpenedDocument
  let values: CodableValues

  /// Decodes it as a type of the form that it has.
  ///
  /// - Throws: `notDecodable`.
  public func decode<Old: Decodable>(as type: Old.Type) throws(StoreError) -> Old {
    try values.decode(type, opened)
  }

  /// Decodes it as the current type; ``VersionedValue/defaults`` supplies the members that it lacks.
  ///
  /// - Throws: `notDecodable`.
  public func decode() throws(StoreError) -> Value {
    try values.decodeFilled(Value.self, opened)
  }
}
