/// A document's number, which is 1 or more, unique in its store and never reused.
public struct DocumentID: Hashable, Comparable, Sendable, RawRepresentable {
  public let rawValue: Int64

  public init(rawValue: Int64) {
    self.rawValue = rawValue
  }

  /// Creates an ID. A number outside of 1 … 2^63 − 2 doesn't belong to any document, and `insert` rejects it.
  @inlinable
  public init(_ number: some BinaryInteger) {
    self.init(rawValue: Int64(clamping: number))
  }

  public static func < (lhs: DocumentID, rhs: DocumentID) -> Bool {
    lhs.rawValue < rhs.rawValue
  }
}

extension DocumentID: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int64) {
    self.rawValue = value
  }
}

extension DocumentID: CustomStringConvertible {
  public var description: String { String(rawValue) }
}

extension DocumentID: Codable {
  public init(from decoder: any Decoder) throws {
    self.rawValue = try decoder.singleValueContainer().decode(Int64.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}
