internal import Coffer
internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform

/// A directory of files being written under a temporary name beside its target: renamed when complete, else removed.
final class OutputDirectory {
  /// The directory to write into.
  var temporaryPath: String { entry.path }
  private let path: String
  private let entry: TemporaryEntry
  private let replacesExisting: Bool
  private let cleanup: CleanupGuard
  private var isDone = false

  /// - Parameter isForced: an earlier export may be replaced; nothing else ever is.
  init(at path: String, isForced: Bool) throws {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    replacesExisting = try Self.isReplaceable(path, isForced: isForced)
    let folder = OutputFile.folder(of: path)
    TemporaryEntry.removeAbandoned(in: folder)
    (entry, cleanup) = try CleanupGuard.makeFolder(at: folder + TemporaryName.output(), for: path)
  }

  deinit {
    discard()
  }

  /// Syncs the files, renames the directory, and removes an earlier export once the rename is on disk.
  ///
  /// - Throws: also if the disk does not confirm the rename, which has happened nevertheless.
  func commit() throws {
    if let number = Durability.syncFileSystem(in: temporaryPath) { throw Failure.system(number, path) }
    let earlier = try moveIntoPlace()
    isDone = true
    let confirmation = Result { try Durability.confirmName(of: path) }
    if let earlier { try? FileManager.default.removeItem(atPath: earlier) }
    cleanup.release()
    try confirmation.get()
  }

  /// - Returns: the new path of the earlier export.
  private func moveIntoPlace() throws -> String? {
    guard replacesExisting else {
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

  func discard() {
    guard !isDone else { return }
    isDone = true
    try? FileManager.default.removeItem(atPath: temporaryPath)
    // This process may lack descriptors to remove everything; another one has them.
    if access(temporaryPath, F_OK) == 0 { cleanup.removeFolder() } else { cleanup.release() }
  }

  /// True if there is something to replace: with `--force`, the directory of an earlier export, known by its index.
  private static func isReplaceable(_ path: String, isForced: Bool) throws -> Bool {
    guard access(path, F_OK) == 0 else { return false }
    guard InputFile.isDirectory(path) else { throw Failure.failed("\(path) already exists, and is no directory") }
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    if names.isEmpty { return false }
    let index = "index.ndjson"
    // One of several collections has a directory for each.
    guard names.contains(index) || names.allSatisfy({ InputFile.exists("\(path)/\($0)/\(index)") }) else {
      throw Failure.failed(
        "\(path) is not empty, and no earlier export", hint: "name a directory that is not there yet")
    }
    guard isForced else { throw Failure.outputExists(path) }
    return true
  }
}
