internal import CofferRecords
internal import Synchronization

/// An open store's part in its file, from its first connection until its last connection is closed.
final class FileShare: Sendable {
  /// The lock for writers in WAL mode.
  let writeAheadLock: WriteAheadLock?

  init(_ file: StoreFile) throws(StoreError) {
    writeAheadLock = file.isWriteAhead ? try WriteAheadLock.of(file.path) : nil
  }

  deinit { writeAheadLock?.release() }
}
