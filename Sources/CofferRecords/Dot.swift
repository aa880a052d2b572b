package import CofferSealing

/// A replica's commit (FORMAT, "Dots").
///
/// Within a store, dots are ordered by counter, then by number. ``Replicas/isBefore(_:_:)`` compares dots from
/// different stores.
package struct Dot: Hashable, Comparable, Sendable {
  /// The replica's number in the store's ``Replicas``.
  package var replica: UInt32
  package var counter: UInt64

  package init(replica: UInt32, counter: UInt64) {
    self.replica = replica
    self.counter = counter
  }

  /// The dot of a part that was never written.
  package static let zero = Dot(replica: 0, counter: 0)

  package var isZero: Bool { counter == 0 }

  package static func < (lhs: Dot, rhs: Dot) -> Bool {
    (lhs.counter, lhs.replica) < (rhs.counter, rhs.replica)
  }
}

extension ByteBuilder {
  package mutating func append(_ dot: Dot) {
    append(varint: UInt64(dot.replica))
    append(varint: dot.counter)
  }
}

extension ByteReader {
  /// Reads a dot, or returns `nil` for invalid bytes.
  package mutating func dot(orZero allowsZero: Bool = false) -> Dot? {
    guard let replica = varint(), replica < UInt64(Replicas.maximumCount), let counter = varint(),
      counter <= UInt64(StoreFormat.maximumGeneration), counter > 0 || allowsZero && replica == 0
    else { return nil }
    return Dot(replica: UInt32(replica), counter: counter)
  }
}
