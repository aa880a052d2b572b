internal import Coffer
internal import CofferEngine
internal import CofferPlatform

/// A directory of files being written under a temporary name beside its target: renamed when complete, else removed.
final class OutputDirectory {
  /// The directory to write into.
  var temporaryPath: String { entry.path }
  private let path: String
  private let entry: TemporaryEntry
  /// The descriptor of the earlier export to replace, which is followed if its path was a link.
  private let earlier: Int32?
  private let cleanup: CleanupGuard
  private var isDone = false

  /// - Parameter isForced: an earlier export may be replaced; nothing else ever is.
  init(at path: String, isForced: Bool) throws {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    earlier = try Self.openEarlierExport(path, isForced: isForced)
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
  /// - Throws: also if the disk does not confirm the rename, which has happened nevertheless.
  func commit() throws {
    if let number = Durability.syncFileSystem(in: temporaryPath) { throw Failure.system(number, path) }
    let former = try moveIntoPlace()
    isDone = true
    let confirmation = Result { try Durability.confirmName(of: path) }
    if let former, let earlier { Self.remove(OpenFolder(earlier), at: former) }
    cleanup.release()
    try confirmation.get()
  }

  /// - Returns: the new path of the earlier export.
  private func moveIntoPlace() throws -> String? {
    guard earlier != nil else {
      // Replaces an empty directory, but nothing else.
      guard rename(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
      return nil
    }
    if AtomicRename.exchanging(temporaryPath, path) { return temporaryPath }
    // The file system can't exchange: for a moment neither exists.
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
  private static func remove(_ export: OpenFolder, at path: String) {
    if export.isNamed(path) { export.remove(at: path) } else { unlink(path) }
  }

  func discard() {
    guard !isDone else { return }
    isDone = true
    // This process may lack descriptors to remove everything; another one has them.
    if entry.removeFolder() { cleanup.release() } else { cleanup.removeFolder() }
  }

  /// Opens what there is to replace: with `--force`, the directory of an earlier export, known by its index.
  ///
  /// - Returns: nil if there is nothing, or an empty directory.
  private static func openEarlierExport(_ path: String, isForced: Bool) throws -> Int32? {
    guard access(path, F_OK) == 0 else { return nil }
    guard InputFile.isDirectory(path) else { throw Failure.failed("\(path) already exists, and is no directory") }
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure.system(errno, path) }
    do {
      guard try isExport(OpenFolder(descriptor), at: path) else {
        close(descriptor)
        return nil
      }
      guard isForced else { throw Failure.outputExists(path) }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// - Returns: false for an empty directory.
  /// - Throws: for a directory that is no earlier export.
  private static func isExport(_ folder: OpenFolder, at path: String) throws -> Bool {
    guard let names = folder.names?.filter({ $0 != "." && $0 != ".." }) else { throw Failure.system(errno, path) }
    if names.isEmpty { return false }
    let index = "index.ndjson"
    // One of several collections has a directory for each.
    guard names.contains(index) || names.allSatisfy({ folder.contains("\($0)/\(index)") }) else {
      throw Failure.failed(
        "\(path) is not empty, and no earlier export", hint: "name a directory that is not there yet")
    }
    return true
  }
}
