/// A document's metadata, which is a JSON object encrypted with the title and included in headers.
///
/// The object is kept in canonical form (RFC 8785), as the store encrypts it. An empty object is the same as no
/// attributes.
///
/// ```swift
/// var attributes: Attributes = ["colour": "red", "pages": 12]
/// attributes["pages"] = 13
/// attributes["colour"] = nil
/// let pages = attributes["pages"]?.integer
/// ```
///
/// A value that JSON can't represent exactly, such as NaN or an integer beyond 2^53, is kept as a ``fault``. Writing
/// such attributes throws the fault.
public struct Attributes: Hashable, Sendable {
  /// The canonical object in UTF-8. Empty if there are no attributes, or a ``fault``.
  public private(set) var canonicalJSON: [UInt8]
  /// The reason why the attributes can't be stored, or `nil` if they can.
  public private(set) var fault: JSONError?

  /// Creates empty attributes.
  public init() {
    canonicalJSON = []
  }

  /// Creates attributes from canonical bytes, such as ``canonicalJSON`` or an authenticated head's attributes.
  public init(uncheckedCanonicalJSON bytes: some Sequence<UInt8>) {
    canonicalJSON = Array(bytes)
  }

  init(fault: JSONError) {
    canonicalJSON = []
    self.fault = fault
  }

  /// A Boolean value that indicates whether there are no attributes and no ``fault``.
  public var isEmpty: Bool { canonicalJSON.isEmpty && fault == nil }
}

// MARK: - From JSON

extension Attributes {
  /// Parses a JSON object in UTF-8 and converts it to canonical form.
  ///
  /// - Throws: ``JSONError``: `notAnObject`, `notUTF8`, `malformed`, `duplicateName`, `tooDeep`, or `inexactNumber` for
  ///   an integer that a double can't represent exactly. Write such integers as strings.
  public init(json bytes: some Collection<UInt8>) throws(JSONError) {
    let bytes = Array(bytes)
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw JSONError(.notUTF8, at: 0, "the bytes are not UTF-8")
    }
    try self.init(validUTF8: bytes)
  }

  /// Parses a JSON object in a string and converts it to canonical form.
  ///
  /// - Throws: ``JSONError``, like the initializer for bytes.
  public init(json text: String) throws(JSONError) {
    try self.init(validUTF8: Array(text.utf8))
  }

  /// Returns whether the bytes are a nonempty object in canonical form and valid UTF-8.
  package static func isCanonical(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(bytes)
    return scanner.takeCanonicalObject() && scanner.next == nil
  }

  private init(validUTF8 bytes: [UInt8]) throws(JSONError) {
    var output: [UInt8] = []
    // Return the error as a value, because the closure of withUnsafeBytes can't throw typed errors.
    let failure: JSONError? = bytes.withUnsafeBytes { buffer in
      do throws(JSONError) {
        var scanner = JSONScanner(buffer)
        scanner.skipWhitespace()
        try scanner.appendCanonicalObject(to: &output)
        scanner.skipWhitespace()
        if scanner.next != nil { throw scanner.malformed("text after the object") }
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
    canonicalJSON = output
  }
}
