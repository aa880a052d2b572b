internal import Synchronization

/// The process's file descriptors, excluding SQLite's.
///
/// Closing any descriptor of a file releases all of this process's `fcntl` locks on the file, including the locks of
/// SQLite's connections. Therefore, such a descriptor can be closed only while SQLite doesn't have the file open.
package enum OpenFiles {
  private struct State {
    /// The number of threads in ``opening(_:)``.
    var opening = 0
    /// The descriptors that ``closeWhenLast(_:)`` couldn't close yet.
    var unneeded: Set<Int32> = []
  }

  private static let state = Mutex(State())

  /// Opens a file. During the call, the other methods don't close descriptors.
  package static func opening<R, E>(_ open: () throws(E) -> R) throws(E) -> R {
    state.withLock { $0.opening += 1 }
    defer { state.withLock { $0.opening -= 1 } }
    return try open()
  }

  /// Closes a descriptor if this process has no other descriptor of its file.
  ///
  /// - Returns: Whether the descriptor was closed.
  package static func closeIfLast(_ descriptor: Int32) -> Bool {
    state.withLock { state in
      let isClosed = close(descriptor, state)
      closeUnneeded(&state)
      return isClosed
    }
  }

  /// Closes a descriptor as soon as this process doesn't have another descriptor of its file, at the latest during a
  /// later call of this type. Another thread may have opened the file since the caller found it closed.
  package static func closeWhenLast(_ descriptor: Int32) {
    state.withLock { state in
      state.unneeded.insert(descriptor)
      closeUnneeded(&state)
    }
  }

  /// Returns whether this process has the file open, or `true` if this can't be determined. Unneeded descriptors don't
  /// count.
  package static func isOpen(_ file: stat) -> Bool {
    let unneeded = state.withLock { state in
      closeUnneeded(&state)
      return state.unneeded
    }
    return isOpen(file, besides: unneeded)
  }

  private static func closeUnneeded(_ state: inout State) {
    for descriptor in state.unneeded where close(descriptor, state) { state.unneeded.remove(descriptor) }
  }

  /// Closes a descriptor if all other descriptors of its file are unneeded.
  private static func close(_ descriptor: Int32, _ state: State) -> Bool {
    var status = stat()
    guard state.opening == 0, fstat(descriptor, &status) == 0 else { return false }
    guard !isOpen(status, besides: state.unneeded.union([descriptor])) else { return false }
    CofferPlatform.close(descriptor)
    return true
  }

  private static func isOpen(_ file: stat, besides known: Set<Int32>) -> Bool {
    guard let descriptors else { return true }
    return descriptors.contains { number in
      var found = stat()
      return !known.contains(number) && fstat(number, &found) == 0 && found.isSameFile(as: file)
    }
  }

  /// The maximum number of descriptor numbers to test on a system without a folder that lists descriptors.
  private static let mostNumbers = 1 << 20

  /// The process's descriptor numbers, or `nil` if there may be too many. If the system doesn't have a folder that
  /// lists descriptors, this can include other numbers.
  package static var descriptors: [Int32]? {
    if let names = FolderNames.of(String(cString: coffer_descriptors_folder())) {
      return names.compactMap { Int32($0) }
    }
    let count = sysconf(Int32(_SC_OPEN_MAX))
    return (1...mostNumbers).contains(count) ? Array(0..<Int32(count)) : nil
  }
}

/// A database file that SQLite has open in this process, until the value is released.
package final class OpenDatabase: Sendable {
  /// The number of values for each path.
  private static let all = Mutex<[String: Int]>([:])
  private static let suffixes = ["", "-wal", "-shm", "-journal"]

  private let path: String
  private let process = OwnProcess.number

  package init(_ path: String) {
    self.path = path
    Self.all.withLock { $0[path, default: 0] += 1 }
  }

  deinit {
    // In the child of a fork, another thread of the parent may have held the lock.
    guard process == OwnProcess.number else { return }
    Self.all.withLock { all in
      all[path, default: 1] -= 1
      if all[path] == 0 { all[path] = nil }
    }
  }

  /// Returns whether a file is one of these databases, or one of SQLite's files next to it. Don't open such a file,
  /// because closing it would release SQLite's locks.
  package static func hasFile(_ file: stat) -> Bool {
    guard file.st_mode & S_IFMT == S_IFREG else { return false }
    return all.withLock { Array($0.keys) }.contains { path in
      suffixes.contains { suffix in
        var found = stat()
        return stat(path + suffix, &found) == 0 && found.isSameFile(as: file)
      }
    }
  }

  /// Returns whether a path leads to such a file.
  package static func hasFile(at path: String) -> Bool {
    var file = stat()
    return stat(path, &file) == 0 && hasFile(file)
  }
}
