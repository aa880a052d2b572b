internal import Synchronization

/// A file or folder under a ``TemporaryName``, locked by this process until it's complete.
///
/// The lock ends with the last process that has the descriptor, even if the process is killed. After that,
/// ``removeAbandoned(in:)`` removes the entry. The owner renames or removes the entry before it releases the lock.
package final class TemporaryEntry: Sendable {
  package let path: String
  /// The file for reading and writing, or the folder.
  package let descriptor: Int32
  private let isHeld = Atomic<Bool>(true)
  private let process = OwnProcess.number

  /// The names that this process holds. Closing another descriptor of such a file would release SQLite's locks.
  private static let held = Mutex<Set<String>>([])

  /// Creates an empty file that only its owner can read.
  ///
  /// - Returns: `nil`, with errno, if the file can't be created.
  package convenience init?(file path: String) {
    self.init(path, S_IFREG) { open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600) }
  }

  /// Creates a folder that only its owner can enter.
  ///
  /// - Returns: `nil`, with errno, if the folder can't be created.
  package convenience init?(folder path: String) {
    self.init(path, S_IFDIR) {
      guard mkdir(path, 0o700) == 0 else { return -1 }
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if descriptor < 0, errno == ENOENT { errno = EAGAIN }
      // Another user may have given the name to another folder.
      if descriptor >= 0, OpenFolder(descriptor).names?.contains(where: { $0 != "." && $0 != ".." }) == true {
        close(descriptor)
        errno = EEXIST
        return -1
      }
      return descriptor
    }
  }

  private init?(_ path: String, _ kind: mode_t, create: () -> Int32) {
    let name = Self.lastComponent(of: path)
    Self.held.withLock { _ = $0.insert(name) }
    while true {
      let descriptor = create()
      if descriptor >= 0 {
        while !Self.lock(descriptor, of: kind), errno == EINTR || errno == EAGAIN || errno == EACCES { usleep(1000) }
        if Self.names(path, descriptor) {
          (self.path, self.descriptor) = (path, descriptor)
          return
        }
        close(descriptor)
      } else if errno != EAGAIN {
        let reason = errno
        Self.held.withLock { _ = $0.remove(name) }
        errno = reason
        return nil
      }
      // Another process removed the entry before it was locked, so create it again.
    }
  }

  deinit {
    release()
  }

  /// Lets child processes also hold the lock, until the last child ends.
  package func shareWithChildren() {
    _ = fcntl(descriptor, F_SETFD, 0)
  }

  /// The folder, or `nil` after the lock ended, and in the child of a fork, whose parent still uses the folder.
  package var folder: OpenFolder? {
    isHeld.load(ordering: .relaxed) && process == OwnProcess.number ? OpenFolder(descriptor) : nil
  }

  /// Removes the folder with its contents, and releases the lock.
  ///
  /// - Returns: `false` if the folder is still at its path.
  @discardableResult
  package func removeFolder() -> Bool {
    guard let folder else { return true }
    defer { release() }
    return folder.remove(at: path)
  }

  /// Ends the lock. The entry must have its final name, or be removed.
  package func release() {
    guard isHeld.exchange(false, ordering: .relaxed) else { return }
    // The child of a fork only closes its copy, because its parent still needs the lock.
    if process == OwnProcess.number { Self.endLock(of: descriptor) } else { close(descriptor) }
    Self.held.withLock { _ = $0.remove(Self.lastComponent(of: path)) }
  }
}

// MARK: - Abandoned entries

extension TemporaryEntry {
  /// The suffixes of SQLite's files next to a database.
  private static let sideFiles = ["-journal", "-wal", "-shm"]

  /// Removes the entries that this user's killed processes have left in a folder.
  ///
  /// Entries are identified by their names' checksums, and kept if a process holds their lock. The method doesn't
  /// follow links, and ignores entries that can't be removed. It keeps folders if other users can rename entries,
  /// because they could give such a name to any of this user's folders. It reads the folder once.
  package static func removeAbandoned(in folder: String) {
    let folder = folder.isEmpty ? "." : folder
    let isPrivate = othersCannotRename(in: folder)
    for name in FolderNames.of(folder) ?? [] {
      let path = folder + "/" + name
      if TemporaryName.isOurs(name) {
        removeIfAbandoned(path, name, isPrivate: isPrivate)
      } else if let suffix = sideFiles.first(where: { name.hasSuffix($0) }),
        TemporaryName.isOurs(String(name.dropLast(suffix.count))), type(of: String(path.dropLast(suffix.count))) == nil,
        isOwn(path)
      {
        unlink(path)
      }
    }
  }

  /// Returns whether only this user can rename this user's entries in a folder.
  package static func othersCannotRename(in folder: String) -> Bool {
    var status = stat()
    guard stat(folder.isEmpty ? "." : folder, &status) == 0 else { return false }
    // The folder is shared if the group or all users can write to it, and the sticky bit isn't set.
    let isShared = status.st_mode & 0o022 != 0 && status.st_mode & 0o1000 == 0
    return !isShared && (status.st_uid == geteuid() || status.st_uid == 0)
  }

  private static func removeIfAbandoned(_ path: String, _ name: String, isPrivate: Bool) {
    guard !held.withLock({ $0.contains(name) }), let kind = type(of: path), isOwn(path),
      kind == S_IFREG || kind == S_IFDIR && isPrivate
    else { return }
    let descriptor = open(path, (kind == S_IFREG ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { endLock(of: descriptor) }
    // The owner may have renamed the file between these calls.
    guard lock(descriptor, of: kind), names(path, descriptor) else { return }
    if kind == S_IFDIR {
      OpenFolder(descriptor).remove(at: path)
    } else {
      for suffix in sideFiles + [""] { unlink(path + suffix) }
    }
  }

  /// Locks a file or a folder without waiting.
  ///
  /// - Returns: `false`, with errno, if it can't be locked.
  private static func lock(_ descriptor: Int32, of kind: mode_t) -> Bool {
    kind == S_IFDIR ? flock(descriptor, LOCK_EX | LOCK_NB) == 0 : RangeLock.take(RangeLock.incomplete, of: descriptor)
  }

  /// Closes a folder, or a file unless a thread has it open under its final name.
  private static func endLock(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      return
    }
    RangeLock.release(RangeLock.incomplete, of: descriptor)
    OpenFiles.closeWhenLast(descriptor)
  }

  /// Returns whether a path leads to the descriptor's file without following a link.
  static func names(_ path: String, _ descriptor: Int32) -> Bool {
    var (named, open) = (stat(), stat())
    return lstat(path, &named) == 0 && fstat(descriptor, &open) == 0 && named.isSameFile(as: open)
  }

  /// Returns the file type, or `nil` if the name doesn't exist.
  private static func type(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  private static func isOwn(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_uid == geteuid()
  }

  private static func lastComponent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }
}
