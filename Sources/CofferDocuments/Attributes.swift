/// A document's metadata: a JSON object, sealed with the title, shown by headers.
///
/// Kept as RFC 8785 (canonical) JSON, the bytes that the store seals; no object and `{}` are the same.
///
/// ```swift
/// var attributes: Attributes = ["colour": "red", "pages": 12]
/// attributes["pages"] = 13
/// attributes["colour"] = nil
/// let pages = attributes["pages"]?.integer
/// ```
///
/// A value that JSON can't hold exactly, such as NaN or an integer beyond 2^53, is kept as a ``fault``: the write that
/// is given such attributes throws it.
public struct Attributes: Hashable, Sendable {
  /// The canonical object in UTF-8; empty if there are no attributes, or a ``fault``.
  public private(set) var canonicalJSON: [UInt8]
  /// The reason for which these attributes can't be stored, if there is one.
  public private(set) var fault: JSONError?

  /// No attributes.
  public init() {
    canonicalJSON = []
  }

  /// Takes bytes known to be canonical, from ``canonicalJSON`` or an authenticated head.
  public init(uncheckedCanonicalJSON bytes: some Sequence<UInt8>) {
    canonicalJSON = Array(bytes)
  }

  init(fault: JSONError) {
    canonicalJSON = []
    self.fault = fault
  }

  /// Whether there are no attributes, and no ``fault``.
  public var isEmpty: Bool { canonicalJSON.isEmpty && fault == nil }
}

// MARK: - From JSON

extension Attributes {
  /// Parses a JSON object in UTF-8 and converts it to canonical form.
  ///
  /// - Throws: ``JSONError``: `notAnObject`, `notUTF8` and `malformed` for anything else; `duplicateName`;
  ///   `inexactNumber` for an integer that a double would change (write it as a string); `tooDeep`.
  public init(json bytes: some Collection<UInt8>) throws(JSONError) {
    let bytes = Array(bytes)
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw JSONError(.notUTF8, at: 0, "the bytes are not UTF-8")
    }
    try self.init(validUTF8: bytes)
  }

  /// Parses a JSON object in text and converts it to canonical form.
  ///
  /// - Throws: ``JSONError``, as the form for bytes.
  public init(json text: String) throws(JSONError) {
    try self.init(validUTF8: Array(text.utf8))
  }

  /// True for valid UTF-8 that is the canonical form of an object that is not empty.
  package static func isCanonical(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(bytes)
    return scanner.takeCanonicalObject() && scanner.next == nil
  }

  private init(validUTF8 bytes: [UInt8]) throws(JSONError) {
    var output: [UInt8] = []
    // The closure of withUnsafeBytes, not typed, carries the error out as a value.
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
