internal import CofferRecords

/// The documents that may have changed since an index was written.
enum IndexGap {
  case nothing
  /// Rising ranges of ids that don't touch.
  case ids([ClosedRange<Int64>])
  case everything

  /// The most documents that a search, query or list adds to an index without being asked.
  static let caughtUp: UInt64 = 1000

  /// The number of ids, or `count` for everything.
  func limit(of count: UInt64) -> UInt64 {
    switch self {
    case .nothing: 0
    case .ids(let ranges): ranges.reduce(0) { $0 &+ UInt64($1.upperBound - $1.lowerBound) &+ 1 }
    case .everything: count
    }
  }
}

extension StoreTransaction {
  /// The documents that may have changed since an index was last brought up to date.
  ///
  /// The ring of the state names them if it holds that state's mark; otherwise everything may have changed.
  func gap(since contents: IndexRoot.Contents?) throws(StoreError) -> IndexGap {
    guard let contents else { return .everything }
    if contents.match(state) { return .nothing }
    var changes: [RingChanges] = []
    if contents.generation == start.generation {
      guard try connection.mark(of: start) == contents.mark else { return .everything }
    } else {
      guard let known = start.ring.changes(after: contents.generation),
        let mark = start.ring.mark(of: contents.generation), contents.mark.starts(with: mark)
      else { return .everything }
      changes = known.map(\.changes)
    }
    if isWriter { changes.append(try writer.changes.changes) }
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

  /// The contents of an index that is up to date in this transaction.
  func contents() throws(StoreError) -> IndexRoot.Contents {
    IndexRoot.Contents(state, mark: try connection.mark(of: start), generation: start.generation)
  }
}
