extension stat {
  /// The number of the device that has the file.
  package var device: UInt64 { UInt64(truncatingIfNeeded: st_dev) }

  /// The file's number on its device.
  package var number: UInt64 { UInt64(st_ino) }

  /// When the contents changed.
  package var modified: timespec {
    #if canImport(Darwin)
      st_mtimespec
    #else
      st_mtim
    #endif
  }

  /// Returns whether both are of one file.
  package func isSameFile(as other: stat) -> Bool { device == other.device && number == other.number }
}
