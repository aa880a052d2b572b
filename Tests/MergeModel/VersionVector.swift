/// The commits that a store descends from: for each replica, the counter of its latest known commit.
public struct VersionVector: Hashable, Sendable {
  /// The counters by replica. A replica without an entry has the counter zero.
  public private(set) var counters: [ReplicaID: Int] = [:]

  /// Creates a vector that covers nothing.
  public init() {}

  /// The counter of the latest known commit of a replica, or zero.
  public subscript(replica: ReplicaID) -> Int {
    get { counters[replica] ?? 0 }
    set { counters[replica] = newValue == 0 ? nil : newValue }
  }

  /// The greatest counter of all replicas, or zero.
  public var greatestCounter: Int {
    counters.values.max() ?? 0
  }

  /// Returns whether the vector includes a commit.
  public func covers(_ dot: Dot) -> Bool {
    dot.counter <= self[dot.replica]
  }

  /// Returns whether the vector includes all of the commits.
  public func covers(allOf dots: some Sequence<Dot>) -> Bool {
    dots.allSatisfy { covers($0) }
  }

  /// Returns whether the vector includes every commit that another vector includes.
  public func includes(_ other: VersionVector) -> Bool {
    other.counters.allSatisfy { replica, counter in counter <= self[replica] }
  }

  /// Adds the commits of another vector.
  public mutating func formUnion(_ other: VersionVector) {
    counters.merge(other.counters) { max($0, $1) }
  }

  /// Returns the commits of both vectors.
  public func union(_ other: VersionVector) -> VersionVector {
    var result = self
    result.formUnion(other)
    return result
  }
}
