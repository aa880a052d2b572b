internal import CofferPlatform
internal import CofferRecords

/// The path of a store's file, and the file's identity.
///
/// SQLite uses the file's name to find a killed writer's journal, and the shared log in WAL mode. If a file has two
/// names, or is renamed while it's open, some connections would write without seeing the others' journal and damage the
/// file irreparably. So a symbolic link is resolved once, and writers check the file before each transaction.
package struct FileLocation: Sendable {
  /// The absolute path without symbolic links. SQLite creates the journal and log in the same folder.
  package let path: String
  private let device: UInt64
  private let file: UInt64

  /// - Throws: `noSuchFile` if the file doesn't exist, or `invalidArgument` for `:memory:`.
  package init(of path: String) throws(StoreError) {
    try Self.requireFile(path)
    guard let resolved = realpath(path, nil) else {
      throw errno == ENOENT || errno == ENOTDIR ? StoreError.noSuchFile("\(path): ") : StagedFile.failure(path)
    }
    defer { free(resolved) }
    self.path = String(cString: resolved)
    var status = stat()
    guard stat(resolved, &status) == 0 else { throw StagedFile.failure(path) }
    (device, file) = (status.device, status.number)
  }

  /// Requires a path that isn't SQLite's name for a database in memory.
  static func requireFile(_ path: String) throws(StoreError) {
    guard path == ":memory:" || path.hasSuffix("/:memory:") else { return }
    throw StoreError(
      .invalidArgument, ":memory: isn't a store: a store is a file",
      hint: "for tests and previews, DocumentStore.temporary() makes one that is gone when it closes")
  }

  /// Returns whether a path now leads to another file, or `false` if the file doesn't exist.
  func isSuperseded(at path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && (status.device != device || status.number != file)
  }

  /// Returns a path that remains valid if the process changes its directory. Doesn't resolve links.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
    defer { free(directory) }
    return String(cString: directory) + "/" + path
  }

  /// Verifies that the path still leads to the same file. Call this before trusting a new connection and before each
  /// write.
  ///
  /// - Throws: `noSuchFile` if the file was moved, removed or replaced.
  package func requireSameFile() throws(StoreError) {
    _ = try status()
  }

  /// Verifies that the file still has only this name. Call this method before each write.
  ///
  /// - Throws: `noSuchFile` if the file was moved, removed or replaced, or `readOnly` if it has a second name.
  package func requireSingleName() throws(StoreError) {
    guard try status().st_nlink <= 1 else { throw Self.secondName(path) }
  }

  private func status() throws(StoreError) -> stat {
    var status = stat()
    guard stat(path, &status) == 0, status.device == device, status.number == file else {
      throw Self.replaced(path)
    }
    return status
  }

  static func replaced(_ path: String) -> StoreError {
    StoreError(
      .noSuchFile, "\(path): the store's file was moved, removed or replaced while it was open",
      hint: "close the store, and open it at its present path")
  }

  static func secondName(_ path: String) -> StoreError {
    StoreError(
      .readOnly, "\(path): the file has a second name (a hard link), by which its journal would not be found",
      hint: "remove the other name, or copy the file with cp while no process has it open")
  }
}

extension StoreError {
  /// Returns the error for a store that can't be written, with the reason.
  ///
  /// - Parameter isChosen: Whether the store was opened as read-only.
  package static func notWritable(_ path: String, isChosen: Bool = false) -> StoreError {
    if isChosen { return StoreError(.readOnly, "the store was opened to be read only") }
    var system = statvfs()
    // ST_RDONLY of bits/statvfs.h.
    if statvfs(path, &system) == 0, system.f_flag & 1 != 0 {
      return StoreError(
        .readOnly, "\(path): its file system is read-only", hint: "copy the store to a file system that can be written")
    }
    return StoreError(
      .readOnly, "\(path): the store can't be written to: permission denied",
      hint: "look at the permissions of the file and its folder")
  }
}
