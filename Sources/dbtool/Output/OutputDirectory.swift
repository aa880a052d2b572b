internal import Coffer
internal import FoundationEssentials
internal import Glibc

/// A directory of files that is being written: under another name beside its target, renamed when it is complete and
/// removed when that never comes.
final class OutputDirectory {
  /// Where to write.
  let temporaryPath: String
  private let path: String
  private let replacesExisting: Bool
  private let ward: Ward
  private var isDone = false

  /// - Parameter isForced: an earlier export may be replaced; nothing else ever is.
  init(at path: String, isForced: Bool) throws {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    replacesExisting = try Self.isReplaceable(path, isForced: isForced)
    (temporaryPath, ward) = try Ward.folder(OutputFile.folder(of: path) + ".dbtool-", for: path)
  }

  deinit {
    discard()
  }

  func commit() throws {
    if replacesExisting {
      try replace()
    } else {
      // Takes the place of an empty directory, too, and of nothing else.
      guard rename(temporaryPath, path) == 0 else { throw Failure.system(errno, path) }
    }
    isDone = true
    OutputFile.synchronizeFolder(of: path)
    ward.release()
  }

  /// Changes places with the earlier export, and removes that.
  private func replace() throws {
    if AtomicRename.exchanging(temporaryPath, path) {
      try? FileManager.default.removeItem(atPath: temporaryPath)
      return
    }
    // Where the file system can't: there is a moment without either.
    let old = temporaryPath + ".old"
    guard rename(path, old) == 0 else { throw Failure.system(errno, path) }
    guard rename(temporaryPath, path) == 0 else {
      let number = errno
      rename(old, path)
      throw Failure.system(number, path)
    }
    try? FileManager.default.removeItem(atPath: old)
  }

  func discard() {
    guard !isDone else { return }
    isDone = true
    try? FileManager.default.removeItem(atPath: temporaryPath)
    ward.release()
  }

  /// Whether there is something to replace: with `--force`, a directory that holds the index of an earlier export.
  private static func isReplaceable(_ path: String, isForced: Bool) throws -> Bool {
    guard access(path, F_OK) == 0 else { return false }
    guard InputFile.isDirectory(path) else { throw Failure.failed("\(path) is there already, and no directory") }
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    if names.isEmpty { return false }
    guard names.contains("index.ndjson") else {
      throw Failure.failed(
        "\(path) is not empty, and no earlier export", hint: "name a directory that is not there yet")
    }
    guard isForced else { throw Failure.outputExists(path) }
    return true
  }
}
