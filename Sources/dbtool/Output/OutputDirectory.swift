internal import Coffer
internal import CofferEngine
internal import CofferFormats
internal import CofferPlatform

/// A directory that is written under a temporary name next to its target. It's renamed when it's complete, and
/// otherwise removed.
final class OutputDirectory {
  /// The directory to write into.
  var temporaryPath: String { entry.path }
  private let path: String
  private let entry: TemporaryEntry
  /// The descriptor of the earlier export to replace, which is followed if its path was a link.
  private let earlier: Int32?
  private let cleanup: CleanupGuard
  private var isDone = false
  /// The path of the earlier export if it can't be removed after it was replaced.
  private(set) var leftover: String?

  /// - Parameters:
  ///   - isForced: Whether to replace an earlier export. Other directories are never replaced.
  ///   - inputs: The files that are read, which are never removed with an earlier export.
  init(at path: String, isForced: Bool, inputs: [String]) throws {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    earlier = try Self.openEarlierExport(path, isForced: isForced, inputs: inputs)
    let folder = OutputFile.folder(of: path)
    TemporaryEntry.removeAbandoned(in: folder)
    (entry, cleanup) = try CleanupGuard.makeFolder(at: folder + TemporaryName.output(), for: path)
  }

  deinit {
    discard()
    if let earlier { close(earlier) }
  }

  /// Syncs the files, renames the directory, and removes an earlier export once the rename is on disk.
  ///
  /// - Throws: An error even if the directory has its new name, but the disk doesn't confirm the rename.
  func commit() throws {
    if let number = Durability.syncFileSystem(in: temporaryPath) { throw Failure.system(number, path) }
    let former = try moveIntoPlace()
    isDone = true
    let confirmation = Result { try Durability.confirmName(of: path) }
    if let former, let earlier, !Self.remove(earlier, at: former) { leftover = former }
    cleanup.release()
    try confirmation.get()
  }

  /// - Returns: The new path of the earlier export.
  private func moveIntoPlace() throws -> String? {
    guard earlier != nil else {
      // This call replaces an empty directory, and fails for a nonempty directory.
      guard rename(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
      return nil
    }
    if AtomicRename.exchanging(temporaryPath, path) { return temporaryPath }
    // The file system can't exchange names, so for a moment the path doesn't exist.
    let old = temporaryPath + ".old"
    guard rename(path, old) == 0 else { throw Failure.system(errno, path) }
    guard rename(temporaryPath, path) == 0 else {
      let number = errno
      rename(old, path)
      throw Failure.system(number, path)
    }
    return old
  }

  /// Removes an earlier export at its new path, or the link to it that was replaced.
  ///
  /// - Parameter earlier: The descriptor of the replaced folder.
  /// - Returns: `false` if files remain, because they can't be removed or an export didn't write them.
  private static func remove(_ earlier: Int32, at path: String) -> Bool {
    if OpenFolder(earlier).isNamed(path) { return removeExport(earlier, at: path) }
    if unlink(path) == 0 { return true }
    // Another export has replaced the folder. If others can rename, it can be any folder of this user.
    guard TemporaryEntry.othersCannotRename(in: OutputFile.folder(of: path)) else { return false }
    let other = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard other >= 0 else { return false }
    defer { close(other) }
    return removeExport(other, at: path)
  }

  /// Removes an export, unless other files were added to it.
  private static func removeExport(_ folder: Int32, at path: String) -> Bool {
    do {
      guard try ExportedFolder.foreignEntry(in: folder, at: path) == nil else { return false }
    } catch {
      return false
    }
    return OpenFolder(folder).remove(at: path)
  }

  func discard() {
    guard !isDone else { return }
    isDone = true
    // This process may not have enough descriptors to remove everything, but another process has.
    if entry.removeFolder() { cleanup.release() } else { cleanup.removeFolder() }
  }

  /// Opens the directory to replace. With `--force`, that's an earlier export, which has an index.
  ///
  /// - Returns: `nil` if the directory doesn't exist or is empty.
  private static func openEarlierExport(_ path: String, isForced: Bool, inputs: [String]) throws -> Int32? {
    guard access(path, F_OK) == 0 else { return nil }
    guard InputFile.isDirectory(path) else { throw Failure.failed("\(path) already exists, and is no directory") }
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure.system(errno, path) }
    do {
      guard try isExport(descriptor, at: path) else {
        close(descriptor)
        return nil
      }
      guard isForced else { throw Failure.outputExists(path) }
      try refuse(inputs, in: path)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// - Returns: `false` for an empty directory.
  /// - Throws: An error for a directory with files that an export doesn't write, because `--force` would remove them.
  private static func isExport(_ folder: Int32, at path: String) throws -> Bool {
    guard let names = OpenFolder(folder).names else { throw Failure.system(errno, path) }
    if names.allSatisfy({ $0 == "." || $0 == ".." }) { return false }
    if let entry = try ExportedFolder.foreignEntry(in: folder, at: path) {
      throw Failure.failed(
        "\(path) is not empty, and \(entry) is not from an earlier export",
        hint: "move it elsewhere, or name a directory that is not there yet")
    }
    return true
  }

  private static func refuse(_ inputs: [String], in path: String) throws {
    guard let folder = InputFile.realPath(path) else { throw Failure.system(errno, path) }
    for input in inputs {
      guard InputFile.realPath(input)?.utf8.starts(with: "\(folder)/".utf8) == true else { continue }
      throw Failure.failed("\(input) is what is being read: an output never goes over an input")
    }
  }
}
