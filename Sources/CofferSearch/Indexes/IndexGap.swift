internal import CofferEngine
internal import CofferRecords

/// The documents that may have changed since an index was written.
package enum IndexGap {
  case nothing
  /// Ascending ID ranges that aren't adjacent.
  case ids([ClosedRange<Int64>])
  case everything

  /// The maximum number of missing documents for which lists read the title index.
  static let listingLimit: UInt64 = 1000

  /// The maximum number of missing documents that each reader adds in memory without looking for other readers' pages.
  static let privateUpdateLimit: UInt64 = 32

  private var ranges: [ClosedRange<Int64>] {
    switch self {
    case .nothing: []
    case .ids(let ranges): ranges
    case .everything: [1...Int64.max]
    }
  }

  /// Returns this gap's documents up to an ID, and another gap's documents with higher IDs.
  func through(_ id: Int64, then other: IndexGap) -> IndexGap {
    let lower = ranges.filter { $0.lowerBound <= id }.map { $0.lowerBound...min($0.upperBound, id) }
    return .ids(lower + other.ranges.filter { $0.upperBound > id }.map { max($0.lowerBound, id + 1)...$0.upperBound })
  }

  /// Returns the number of IDs, or `count` if all documents may have changed.
  func limit(of count: UInt64) -> UInt64 {
    switch self {
    case .nothing: 0
    case .ids(let ranges): ranges.reduce(0) { $0 &+ UInt64($1.upperBound - $1.lowerBound) &+ 1 }
    case .everything: count
    }
  }
}

extension StoreIndexes {
  /// Returns the documents that may have changed since an index was last updated.
  ///
  /// The state's ring lists these documents if it contains the indexed state's mark. Otherwise, any document may have
  /// changed, and each row is compared by its mark. Revisions don't show which rows are older than the index. Only the
  /// ring proves that the index isn't from a copy with another history, which has the same identity but its own older
  /// rows.
  func gap(since contents: IndexRoot.Contents?) throws(StoreError) -> IndexGap {
    guard let contents, !contents.isPartial else { return .everything }
    if contents.match(transaction.state) { return .nothing }
    var changes: [RingChanges] = []
    if contents.generation == transaction.start.generation {
      guard try transaction.connection.mark(of: transaction.start) == contents.mark else { return .everything }
    } else {
      guard let known = transaction.start.ring.changes(after: contents.generation),
        let mark = transaction.start.ring.mark(of: contents.generation), contents.mark.starts(with: mark)
      else { return .everything }
      changes = known.map(\.changes)
    }
    if transaction.isWriter { changes.append(try transaction.writer.changes.changes) }
    var ranges: [ClosedRange<Int64>] = []
    for change in changes {
      guard case .entries(let entries) = change else { return .everything }
      for entry in entries { ranges += entry.ranges }
    }
    return .ids(Self.merged(ranges))
  }

  private static func merged(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
    var merged: [ClosedRange<Int64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound || range.lowerBound - 1 == last.upperBound {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }

  /// Returns the contents of an up-to-date index in this transaction.
  func contents() throws(StoreError) -> IndexRoot.Contents {
    IndexRoot.Contents(
      transaction.state, mark: try transaction.connection.mark(of: transaction.start),
      generation: transaction.start.generation)
  }
}
