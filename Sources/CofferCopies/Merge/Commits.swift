internal import CofferEngine
internal import CofferRecords

/// The commits of a store's replicas, as far as the store has their marks.
struct Commits {
  enum Comparison { case equal, different, unknown }

  let replicas: Replicas
  /// The marks of the own commits, of which the state lists more than the replicas.
  let own: [Replica.Mark]

  /// - Parameter own: The marks of the own commits.
  init(_ replicas: Replicas, own: [Replica.Mark]) {
    (self.replicas, self.own) = (replicas, own)
  }

  /// - Parameter replicas: The replicas at the start of the transaction.
  init(_ transaction: StoreTransaction, _ replicas: Replicas) throws(StoreError) {
    self.replicas = replicas
    own = try transaction.replicas.ownMarks(
      of: transaction.start, mark: try transaction.connection.mark(of: transaction.start), limit: .max)
  }

  func marks(of number: UInt32) -> [Replica.Mark] { number == replicas.own ? own : replicas[number].marks }

  /// Compares the marks of one replica in the range that both stores describe.
  static func compare(_ one: [Replica.Mark], _ other: [Replica.Mark]) -> Comparison {
    guard let first = one.first, let last = one.last, let otherFirst = other.first, let otherLast = other.last else {
      return .unknown
    }
    let (lower, upper) = (max(first.counter, otherFirst.counter), min(last.counter, otherLast.counter))
    guard lower <= upper else { return .unknown }
    let range = lower...upper
    return one.filter { range.contains($0.counter) } == other.filter { range.contains($0.counter) }
      ? .equal : .different
  }
}
