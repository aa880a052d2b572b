internal import CofferRecords

#if canImport(Glibc)
  internal import Glibc
#endif

/// The path of a store's file, and the identity of the file there.
///
/// SQLite finds the journal of a killed writer, and in WAL mode the log that all share, by the file's name. If one file
/// has two names, or got another one while it was open, some connections would write without the others' journal and
/// damage the file beyond repair. So a symbolic link is followed once, and writers check before each transaction.
struct FilePlace: Sendable {
  /// Absolute and without symbolic links: SQLite puts journal and log beside it.
  let path: String
  private let device: UInt64
  private let file: UInt64

  /// - Throws: `noSuchFile` if there is no file.
  init(of path: String) throws(StoreError) {
    guard let resolved = realpath(path, nil) else {
      guard errno != ENOENT, errno != ENOTDIR else {
        throw StoreError(.noSuchFile, "\(path): no such file", hint: "\(.create) makes a new store")
      }
      throw StagedFile.failure(path)
    }
    defer { free(resolved) }
    self.path = String(cString: resolved)
    var status = stat()
    guard stat(resolved, &status) == 0 else { throw StagedFile.failure(path) }
    (device, file) = (UInt64(status.st_dev), UInt64(status.st_ino))
  }

  /// Whether another file is at a path now; false if there is none.
  func isSuperseded(at path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && (UInt64(status.st_dev) != device || UInt64(status.st_ino) != file)
  }

  /// A path that stays the same if the process changes its directory; links are not followed.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
    defer { free(directory) }
    return String(cString: directory) + "/" + path
  }

  /// Checks that the path still names the same file. Call before a new connection is trusted, and before each write.
  ///
  /// - Throws: `noSuchFile` if the file was moved, removed or replaced.
  func requireSameFile() throws(StoreError) {
    _ = try status()
  }

  /// Checks that the file still has only this name. Call before each write.
  ///
  /// - Throws: `noSuchFile` as above; `readOnly` if the file has a second name.
  func requireOnlyName() throws(StoreError) {
    guard try status().st_nlink <= 1 else { throw Self.secondName(path) }
  }

  private func status() throws(StoreError) -> stat {
    var status = stat()
    guard stat(path, &status) == 0, UInt64(status.st_dev) == device, UInt64(status.st_ino) == file else {
      throw StoreError(
        .noSuchFile, "\(path): the store's file was moved, removed or replaced while it was open",
        hint: "close the store, and open it at its present path")
    }
    return status
  }

  static func secondName(_ path: String) -> StoreError {
    StoreError(
      .readOnly, "\(path): the file has a second name (a hard link), by which its journal would not be found",
      hint: "remove the other name, or copy the file with cp while no process has it open")
  }
}

extension StoreError {
  /// A store that can't be written, with the reason.
  ///
  /// - Parameter isChosen: it was opened to be read only.
  static func notWritable(_ path: String, isChosen: Bool = false) -> StoreError {
    if isChosen { return StoreError(.readOnly, "the store was opened to be read only") }
    var system = statvfs()
    // ST_RDONLY of bits/statvfs.h.
    if statvfs(path, &system) == 0, system.f_flag & 1 != 0 {
      return StoreError(
        .readOnly, "\(path): its file system is read-only", hint: "copy the store to a file system that can be written")
    }
    return StoreError(
      .readOnly, "\(path): the store can't be written to", hint: "look at the permissions of the file and its folder")
  }
}
