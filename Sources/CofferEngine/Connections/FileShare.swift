internal import CofferRecords
internal import Synchronization

/// An open store's part in its file, from its first connection until its last connection is closed.
final class FileShare: Sendable {
  /// The lock for writers in WAL mode.
  let writeAheadLock: WriteAheadLock?
  private let locks: ProcessLocks

  init(_ file: StoreFile, _ locks: ProcessLocks) throws(StoreError) {
    writeAheadLock = file.isWriteAhead ? try WriteAheadLock.of(file.path) : nil
    self.locks = locks
    locks.openStores.add(1, ordering: .acquiringAndReleasing)
  }

  deinit {
    locks.openStores.subtract(1, ordering: .acquiringAndReleasing)
    writeAheadLock?.release()
  }
}
