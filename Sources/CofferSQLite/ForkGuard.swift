internal import CofferPlatform
internal import Synchronization

/// Prevents the child of a fork from opening databases while it has copies of its parent's connections.
///
/// SQLite records the locks of each file that a process has open. A fork copies these records but not the locks, so a
/// new connection in the child would use locks that only its parent holds, and lose commits.
enum ForkGuard {
  /// The process whose connections are counted.
  private static let process = Atomic<UInt64>(0)
  private static let open = Atomic<Int>(0)

  /// - Throws: `misuse` if connections to files were open when this process was forked.
  static func willOpen() throws(SQLiteError) {
    let own = OwnProcess.number
    let counted = process.load(ordering: .acquiring)
    if counted != own {
      // Another thread may be opening the process's first connection. It stores the process before it counts.
      guard open.load(ordering: .acquiring) == 0 || process.load(ordering: .acquiring) == own else {
        throw SQLiteError(
          .misuse, "the parent of this process had databases open when it was forked: fork before they are, or exec")
      }
      process.store(own, ordering: .releasing)
    }
    open.add(1, ordering: .acquiringAndReleasing)
  }

  /// Whether this process is the child of a fork whose parent opened connections.
  static var isInChild: Bool { process.load(ordering: .acquiring) != OwnProcess.number }

  static func didClose() {
    if !isInChild { open.subtract(1, ordering: .acquiringAndReleasing) }
  }
}
