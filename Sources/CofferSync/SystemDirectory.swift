package import CofferEngine
internal import CofferPlatform
internal import CofferRecords

/// A folder of the file system.
package final class SystemDirectory: SyncDirectory {
  package let path: String

  package init(_ path: String) {
    self.path = path
  }

  /// The ending of a file that isn't published yet. Carriers may copy it, and readers ignore it.
  fileprivate static let unfinished = ".new"

  private func place(_ subfolder: String, _ name: String? = nil) -> String {
    name.map { "\(path)/\(subfolder)/\($0)" } ?? "\(path)/\(subfolder)"
  }

  /// Makes the folder.
  func make() throws(StoreError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure(path) }
  }

  /// Makes a subfolder, and returns its path.
  func makeSubfolder(_ name: String) throws(StoreError) -> String {
    guard mkdir(place(name), 0o700) == 0 || errno == EEXIST else { throw failure(place(name)) }
    guard isSubfolder(name) else {
      throw StoreError(
        .ioFailure, "\(place(name)): the device's subfolder is a link or a file",
        hint: "remove it, and sync again")
    }
    return place(name)
  }

  /// Removes a subfolder without files.
  func removeIfEmpty(_ subfolder: String) { rmdir(place(subfolder)) }

  /// Returns whether a name is a folder's, and no link, which could lead to any other folder.
  private func isSubfolder(_ name: String) -> Bool {
    var status = stat()
    return lstat(place(name), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// A file's seconds and nanoseconds since 1970. Any program can have set them to any year.
  typealias FileDate = (Int, Int)

  /// Returns a file's modification date, or `nil` if the path doesn't have a file that this user can read.
  func dateOfReadableFile(_ path: String) -> FileDate? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, R_OK) == 0 else { return nil }
    return (status.modified.tv_sec, status.modified.tv_nsec)
  }

  /// Whether the folder is empty, except for names that begin with a dot.
  var isEmpty: Bool { (FolderNames.of(path) ?? []).allSatisfy { $0.hasPrefix(".") } }

  package func subfolders() throws(StoreError) -> [String]? {
    guard let names = FolderNames.of(path) else {
      guard errno == ENOENT else { throw failure(path) }
      return nil
    }
    return names.filter { !$0.hasPrefix(".") && isSubfolder($0) }.sorted()
  }

  package func files(in subfolder: String) throws(StoreError) -> [SyncDirectoryFile] {
    guard isSubfolder(subfolder) else { return [] }
    guard let names = FolderNames.of(place(subfolder)) else {
      guard errno == ENOENT || errno == ENOTDIR else { throw failure(place(subfolder)) }
      return []
    }
    var files: [SyncDirectoryFile] = []
    for name in names where !name.hasPrefix(".") {
      var status = stat()
      guard lstat(place(subfolder, name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      files.append(SyncDirectoryFile(name: name, byteCount: Int(clamping: status.st_size)))
    }
    return files.sorted { $0.name < $1.name }
  }

  package func open(_ name: String, in subfolder: String) throws(StoreError) -> (any SyncFileBytes)? {
    guard isSubfolder(subfolder) else { return nil }
    let place = place(subfolder, name)
    let descriptor = Self.open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard [ENOENT, ELOOP, ENOTDIR].contains(errno) else { throw failure(place) }
      return nil
    }
    return SystemFile(descriptor, at: place)
  }

  package func create(in subfolder: String) throws(StoreError) -> any SyncNewFile {
    let temporary = "\(try makeSubfolder(subfolder))/\(TemporaryName.beside("sync"))"
    let descriptor = Self.open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(temporary) }
    // Other runs don't remove a locked file. Without locks, they don't remove it as long as it's new.
    _ = flock(descriptor, LOCK_EX | LOCK_NB)
    return SystemFile(descriptor, at: temporary)
  }

  private static func hidden(_ pending: String) -> String { ".\(pending)\(unfinished)" }

  package func publish(_ pending: String, as name: String, in subfolder: String) throws(StoreError) -> Bool {
    let place = place(subfolder, name)
    guard AtomicRename.withoutReplacing(self.place(subfolder, Self.hidden(pending)), as: place, reservesName: false)
    else {
      let number = errno
      if number == EEXIST || number == ENOENT { return false }
      throw failure(place, number)
    }
    try Durability.confirmName(of: place)
    return true
  }

  package func removeUnfinished(except pending: String, in subfolder: String) throws(StoreError) {
    guard isSubfolder(subfolder) else { return }
    for name in FolderNames.of(place(subfolder)) ?? [] {
      guard name.hasPrefix("."), name.hasSuffix(Self.unfinished), name != Self.hidden(pending) else { continue }
      let file = Self.open(place(subfolder, name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard file >= 0 else { continue }
      if flock(file, LOCK_EX | LOCK_NB) == 0 { unlink(place(subfolder, name)) }
      close(file)
    }
  }

  package func remove(_ name: String, in subfolder: String) throws(StoreError) {
    guard isSubfolder(subfolder) else { return }
    guard unlink(place(subfolder, name)) == 0 || errno == ENOENT else { throw failure(place(subfolder, name)) }
  }

  private static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    openat(AT_FDCWD, path, flags, mode)
  }

  private func failure(_ path: String, _ number: Int32 = errno) -> StoreError { .ofFile(path, number) }
}

extension StoreError {
  fileprivate static func ofFile(_ path: String, _ number: Int32) -> StoreError {
    let isFull = number == ENOSPC || number == EDQUOT || number == EFBIG
    let isReadOnly = number == EROFS || number == EACCES || number == EPERM
    return StoreError(
      isFull ? .diskFull : isReadOnly ? .readOnly : .ioFailure, "\(path): \(String(cString: strerror(number)))",
      hint: isFull
        ? "make room, and sync again" : isReadOnly ? "let this user write there, and sync again" : nil)
  }
}

/// An open file of a folder.
private final class SystemFile: SyncFileBytes, SyncNewFile {
  private let descriptor: Int32
  private var path: String

  init(_ descriptor: Int32, at path: String) {
    (self.descriptor, self.path) = (descriptor, path)
  }

  deinit { close(descriptor) }

  func read(_ count: Int, at offset: Int) throws(StoreError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let got = bytes.withUnsafeMutableBytes { FileBytes.fill($0, from: descriptor, at: offset) }
    guard got >= 0 else { throw .ofFile(path, errno) }
    bytes.removeLast(count - got)
    return bytes
  }

  func write(_ bytes: [UInt8], at offset: Int) throws(StoreError) {
    let isWritten = bytes.withUnsafeBytes { FileBytes.writeAll($0, to: descriptor, at: offset) }
    guard isWritten else { throw .ofFile(path, errno) }
  }

  func finish(as pending: String) throws(StoreError) {
    guard coffer_sync(descriptor) == 0 else { throw .ofFile(path, errno) }
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    let complete = "\(folder).\(pending)\(SystemDirectory.unfinished)"
    guard renameat(AT_FDCWD, path, AT_FDCWD, complete) == 0 else { throw .ofFile(path, errno) }
    path = complete
    try Durability.confirmName(of: path)
  }

  func discard() { unlink(path) }
}
