internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform

/// A temporary file with a document's text, in a folder that only its owner may enter, on a file system in memory.
///
/// ``wipe()`` overwrites and removes it with every other file of the folder, unless ``keep()`` leaves it to the user. If
/// this process is killed, the folder is removed once the editor has ended, by a shell or by the next edit.
final class PrivateFile {
  let path: String
  let isInMemory: Bool
  private let entry: TemporaryEntry
  private let cleanup: CleanupGuard
  private var isKept = false

  private var folder: String { entry.path }

  /// - Parameter allowsDisk: uses `$TMPDIR` or `/tmp` if there is no file system in memory.
  init(named name: String, holding text: UnsafeRawBufferPointer, allowsDisk: Bool) throws {
    let place = try Self.place(allowsDisk: allowsDisk)
    isInMemory = Self.isInMemory(place)
    TemporaryEntry.removeAbandoned(in: place)
    (entry, cleanup) = try CleanupGuard.makeFolder(
      at: "\(place)/\(TemporaryName.draft())", for: place, untilChildrenEnd: true)
    path = "\(entry.path)/\(name)"
    do {
      try Self.write(text, to: path)
    } catch {
      wipe()
      throw error
    }
  }

  deinit {
    wipe()
  }

  private static func place(allowsDisk: Bool) throws -> String {
    let variables = ProcessInfo.processInfo.environment
    for place in [variables["XDG_RUNTIME_DIR"], "/dev/shm"].compactMap({ $0 }) where isInMemory(place) {
      return place
    }
    guard allowsDisk else {
      throw Failure(
        .failed, kind: "no-memory-file", "there is no file system in memory to edit on",
        hint: "--on-disk edits in a temporary file, of which the disk may keep traces")
    }
    return variables["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }

  private static func isInMemory(_ path: String) -> Bool {
    path.hasPrefix("/") && access(path, W_OK | X_OK) == 0 && coffer_is_in_memory(path)
  }

  private static func write(_ text: UnsafeRawBufferPointer, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Failure.system(errno, path) }
    defer { close(descriptor) }
    var rest = text
    while !rest.isEmpty {
      let count = CofferPlatform.write(descriptor, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Failure.system(errno, path) }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Keeps the file with the text after this process has ended, and wipes every other file of the folder. The folder gets
  /// a name that says so, and that no later run removes.
  ///
  /// - Returns: the file's new path.
  func keep() -> String {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] where "\(folder)/\(name)" != path {
      Self.wipe("\(folder)/\(name)")
    }
    let name = InputFile.name(of: path)
    let kept = "\(OutputFile.folder(of: folder))dbtool-unsaved-\(UInt64.random(in: .min ... .max))"
    let isRenamed = AtomicRename.withoutReplacing(folder, as: kept) || rename(folder, kept) == 0
    isKept = true
    entry.release()
    cleanup.release()
    return isRenamed ? "\(kept)/\(name)" : path
  }

  /// Overwrites and removes everything in the folder, and the folder. Does nothing after ``keep()``.
  ///
  /// - Returns: the folder if some of it remains; the shell of the ``CleanupGuard`` removes it then.
  @discardableResult
  func wipe() -> String? {
    guard !isKept else { return nil }
    // Wiped by name: listing the folder may fail for want of a descriptor.
    Self.wipe(path)
    Self.wipe(folder: folder)
    entry.release()
    guard access(folder, F_OK) == 0 else {
      cleanup.release()
      return nil
    }
    cleanup.removeFolder()
    return folder
  }

  private static func wipe(folder: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      wipe("\(folder)/\(name)")
    }
    rmdir(folder)
  }

  private static func wipe(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: wipe(folder: path)
    case S_IFREG: wipe(file: path, count: Int(status.st_size))
    default: unlink(path)
    }
  }

  private static func wipe(file path: String, count: Int) {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    if descriptor >= 0 {
      let zeros = [UInt8](repeating: 0, count: 64 * 1024)
      var left = count
      while left > 0 {
        let written = CofferPlatform.write(descriptor, zeros, min(left, zeros.count))
        guard written > 0 else { break }
        left -= written
      }
      coffer_sync(descriptor)
      close(descriptor)
    }
    unlink(path)
  }
}
