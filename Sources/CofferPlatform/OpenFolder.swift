/// A folder identified by its descriptor, which the owner closes.
///
/// Other users who can rename a folder can give its name to another folder at any time. The path then leads to that
/// folder, but the descriptor still leads to the original folder.
package struct OpenFolder {
  private let descriptor: Int32

  package init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Returns all names in the folder, including `.` and `..`, in arbitrary order.
  ///
  /// - Returns: `nil`, with errno, if the folder can't be read.
  package var names: [String]? { read { String(cString: $0) } }

  private func read<Name>(_ convert: (UnsafePointer<CChar>) -> Name) -> [Name]? {
    // Reopen the folder, because a descriptor continues after the last read.
    FolderNames.read(openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), convert)
  }

  /// Returns whether a path leads to the folder without following a link.
  package func isNamed(_ path: String) -> Bool { TemporaryEntry.names(path, descriptor) }

  /// Removes the folder with its contents, without following links.
  ///
  /// If the path doesn't lead to the folder, the empty folder remains under its current name.
  ///
  /// - Parameter overwriting: Whether to overwrite files before removing them.
  /// - Returns: `false` if the folder is still at the path.
  @discardableResult
  package func remove(at path: String, overwriting: Bool = false) -> Bool {
    removeContents(overwriting: overwriting)
    return !isNamed(path) || rmdir(path) == 0
  }

  /// Removes the folder's contents, without following links.
  package func removeContents(except kept: String? = nil, overwriting: Bool) {
    let others = [".", ".."] + (kept.map { [$0] } ?? [])
    // Use bytes for names, because names that aren't valid UTF-8 would change in a string.
    for name in read({ Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1)) }) ?? []
    where !others.contains(where: { strcmp(name, $0) == 0 }) {
      removeEntry(name, overwriting: overwriting)
    }
  }

  /// Removes a file, a link, or a folder with its contents.
  package func removeEntry(_ name: UnsafePointer<CChar>, overwriting: Bool) {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
    switch status.st_mode & S_IFMT {
    case S_IFDIR:
      let inner = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if inner >= 0 {
        OpenFolder(inner).removeContents(overwriting: overwriting)
        close(inner)
      }
      unlinkat(descriptor, name, AT_REMOVEDIR)
    case S_IFREG where overwriting:
      overwrite(name, Int(status.st_size))
      unlinkat(descriptor, name, 0)
    default:
      unlinkat(descriptor, name, 0)
    }
  }

  private func overwrite(_ name: UnsafePointer<CChar>, _ count: Int) {
    let file = openat(descriptor, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return }
    let zeros = [UInt8](repeating: 0, count: 64 * 1024)
    var left = count
    while left > 0 {
      let written = write(file, zeros, min(left, zeros.count))
      guard written > 0 else { break }
      left -= written
    }
    coffer_sync(file)
    close(file)
  }
}
