/// What is said of a document beside its text: a JSON object, sealed with the title, shown by headers.
///
/// Held as RFC 8785 (canonical) JSON, the bytes that the store seals; no object at all and `{}` are the same.
public struct Attributes: Hashable, Sendable {
  /// The canonical object in UTF-8; no bytes where there are no attributes.
  public let canonicalJSON: [UInt8]

  /// No attributes.
  public init() {
    canonicalJSON = []
  }

  /// Bytes that are known to be canonical: what ``canonicalJSON`` gave, or what an authenticated head held.
  public init(uncheckedCanonicalJSON bytes: some Sequence<UInt8>) {
    canonicalJSON = Array(bytes)
  }

  public var isEmpty: Bool { canonicalJSON.isEmpty }
}
