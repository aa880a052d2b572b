/// The identity of a replica, which is one store that makes commits of its own.
public struct ReplicaID: Hashable, Comparable, Sendable {
  public let rawValue: UInt64

  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  public static func < (lhs: ReplicaID, rhs: ReplicaID) -> Bool {
    lhs.rawValue < rhs.rawValue
  }
}

/// The name of one commit of one replica.
///
/// The counter is greater than every counter that the replica had seen before the commit (a Lamport clock). A content
/// that replaces another therefore always has the greater dot.
public struct Dot: Hashable, Comparable, Sendable {
  /// The dot of a part that nobody has written. Every version vector covers it.
  public static let never = Dot(counter: 0, replica: ReplicaID(rawValue: 0))

  public let counter: Int
  public let replica: ReplicaID

  public init(counter: Int, replica: ReplicaID) {
    self.counter = counter
    self.replica = replica
  }

  public static func < (lhs: Dot, rhs: Dot) -> Bool {
    (lhs.counter, lhs.replica) < (rhs.counter, rhs.replica)
  }
}
