extension stat {
  /// The number of the file's device.
  package var device: UInt64 { UInt64(truncatingIfNeeded: st_dev) }

  /// The file's number on its device.
  package var number: UInt64 { UInt64(st_ino) }

  /// The time at which the contents changed.
  package var modified: timespec {
    #if canImport(Darwin)
      st_mtimespec
    #else
      st_mtim
    #endif
  }

  /// Returns whether both statuses belong to the same file.
  package func isSameFile(as other: stat) -> Bool { device == other.device && number == other.number }
}
