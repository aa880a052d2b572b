internal import CofferPlatform
internal import Synchronization

/// Keeps the child of a fork from opening databases while it carries copies of its parent's connections.
///
/// SQLite remembers, for each file that a process has open, which locks it holds. A fork copies that memory and not the
/// locks: a connection that the child then opens would believe to hold what only its parent does, and lose commits.
enum ForkGuard {
  /// The process whose connections are counted.
  private static let process = Atomic<UInt64>(0)
  private static let open = Atomic<Int>(0)

  /// - Throws: `misuse` where connections to files were open when this process was forked.
  static func willOpen() throws(SQLiteError) {
    let own = OwnProcess.number
    let counted = process.load(ordering: .acquiring)
    if counted != own {
      // Another thread may open the process's first connection at the same time: it stores the process before it counts.
      guard open.load(ordering: .acquiring) == 0 || process.load(ordering: .acquiring) == own else {
        throw SQLiteError(
          .misuse, "the parent of this process had databases open when it was forked: fork before they are, or exec")
      }
      process.store(own, ordering: .releasing)
    }
    open.add(1, ordering: .acquiringAndReleasing)
  }

  /// Whether this process is the child of a fork whose parent opened connections: those are the parent's.
  static var isInChild: Bool { process.load(ordering: .acquiring) != OwnProcess.number }

  static func didClose() {
    if !isInChild { open.subtract(1, ordering: .acquiringAndReleasing) }
  }
}
