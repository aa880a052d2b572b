/// Locks on a range of a file's bytes that belong to an open file instead of the process (`F_OFD_SETLK`, fcntl(2)).
///
/// These locks end when the open file's last descriptor is closed, even if the process is killed. SQLite's locks belong
/// to the process. `flock(2)` can't replace these locks, because Apple's systems keep all of a file's locks in a single
/// list, in which a lock on the entire file conflicts with each of SQLite's locks.
package enum RangeLock {
  /// A byte before SQLite's lock bytes, for writers of a store in WAL mode.
  package static let writers: Int64 = sqlite.start - 1
  /// A byte before SQLite's lock bytes, for an incomplete file.
  package static let incomplete: Int64 = sqlite.start - 2
  /// SQLite's lock bytes.
  package static let sqlite: (start: Int64, count: Int64) = (0x4000_0000, 512)

  /// Locks a byte exclusively for this open file, without waiting.
  ///
  /// - Returns: `false`, with errno: `EAGAIN` or `EACCES` if another open file has it.
  package static func take(_ byte: Int64, of descriptor: Int32) -> Bool { coffer_lock_range(descriptor, byte, 1) == 0 }

  package static func release(_ byte: Int64, of descriptor: Int32) { _ = coffer_unlock_range(descriptor, byte, 1) }

  /// Returns whether a connection of this or another process holds a lock in a range.
  package static func isTaken(_ range: (start: Int64, count: Int64), of descriptor: Int32) -> Bool {
    coffer_is_range_locked(descriptor, range.start, range.count) == 1
  }

  /// Returns whether another process holds a lock in a range that belongs to the process, like SQLite's locks.
  package static func isTakenElsewhere(_ range: (start: Int64, count: Int64), of descriptor: Int32) -> Bool {
    coffer_is_range_locked_elsewhere(descriptor, range.start, range.count) == 1
  }
}
