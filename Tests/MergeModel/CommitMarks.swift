/// Random marks of a replica's latest commits, in order. They tell a byte copy of a store from its original.
public struct CommitMarks: Hashable, Sendable {
  /// One commit and its mark.
  public struct Commit: Hashable, Comparable, Sendable {
    public let counter: Int
    public let mark: UInt64

    public static func < (lhs: Commit, rhs: Commit) -> Bool {
      (lhs.counter, lhs.mark) < (rhs.counter, rhs.mark)
    }
  }

  /// The number of commits whose marks are kept.
  public static let limit = 32

  public private(set) var commits: [Commit] = []

  init() {}

  mutating func append(counter: Int, mark: UInt64) {
    commits.append(Commit(counter: counter, mark: mark))
    commits = commits.suffix(Self.limit)
  }

  /// Returns whether these marks end later than others, or at the same commit.
  func endsWithOrAfter(_ other: CommitMarks) -> Bool {
    guard let otherLast = other.commits.last else { return true }
    guard let last = commits.last else { return false }
    return last >= otherLast
  }

  /// Returns whether both sequences describe one history.
  ///
  /// In the range that both describe, every commit of the shorter history must be in the longer one, and the other way
  /// round.
  func agrees(with other: CommitMarks) -> Bool {
    guard let first = commits.first, let otherFirst = other.commits.first,
      let last = commits.last, let otherLast = other.commits.last
    else { return true }
    let common = max(first.counter, otherFirst.counter)
    let end = min(last.counter, otherLast.counter)
    let (shorter, longer) = last.counter > otherLast.counter ? (other, self) : (self, other)
    return shorter.commits.filter { $0.counter >= common }
      == longer.commits.filter { $0.counter >= common && $0.counter <= end }
  }
}
