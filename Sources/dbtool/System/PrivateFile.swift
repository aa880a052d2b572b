internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform

/// A temporary file with a document's text, in a folder that only its owner can enter, on a file system in memory.
///
/// ``wipe()`` overwrites and removes it with every other file in the folder, unless ``keep()`` keeps it for the user. If
/// this process is killed, a shell or the next edit removes the folder after the editor ends, unless other users can
/// rename the folder.
final class PrivateFile {
  let path: String
  let isInMemory: Bool
  private let name: String
  private let entry: TemporaryEntry
  private let cleanup: CleanupGuard

  /// - Parameter allowsDisk: Whether to use `$TMPDIR` or `/tmp` if a file system in memory isn't available.
  init(named name: String, holding text: UnsafeRawBufferPointer, allowsDisk: Bool) throws {
    let place = try Self.place(allowsDisk: allowsDisk)
    isInMemory = Self.isInMemory(place)
    TemporaryEntry.removeAbandoned(in: place)
    (entry, cleanup) = try CleanupGuard.makeFolder(
      at: "\(place)/\(TemporaryName.draft())", for: place, untilChildrenEnd: true)
    self.name = name
    path = "\(entry.path)/\(name)"
    do {
      try write(text)
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
        hint: "'dbtool edit --on-disk' edits in a temporary file, of which the disk may keep traces")
    }
    return variables["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }

  private static func isInMemory(_ path: String) -> Bool {
    path.hasPrefix("/") && access(path, W_OK | X_OK) == 0 && coffer_is_in_memory(path)
  }

  private func write(_ text: UnsafeRawBufferPointer) throws {
    let descriptor = openat(entry.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Failure.system(errno, path) }
    defer { close(descriptor) }
    guard FileBytes.writeAll(text, to: descriptor) else { throw Failure.system(errno, path) }
  }

  /// Keeps the file with the text after this process ends, and wipes every other file in the folder. Renames the folder,
  /// so later runs don't remove it.
  ///
  /// - Returns: The file's new path.
  func keep() -> String {
    entry.folder?.removeContents(except: name, overwriting: true)
    let kept = "\(OutputFile.folder(of: entry.path))dbtool-unsaved-\(UInt64.random(in: .min ... .max))"
    let isRenamed = AtomicRename.withoutReplacing(entry.path, as: kept) || rename(entry.path, kept) == 0
    entry.release()
    cleanup.release()
    return isRenamed ? "\(kept)/\(name)" : path
  }

  /// Overwrites and removes everything in the folder, and the folder. Does nothing after ``keep()``.
  ///
  /// - Returns: The folder if a part of it remains. The shell of the ``CleanupGuard`` then removes the folder.
  @discardableResult
  func wipe() -> String? {
    guard let folder = entry.folder else { return nil }
    // Wipe the file by name, because listing the folder can fail without a free descriptor.
    folder.removeEntry(name, overwriting: true)
    let isGone = folder.remove(at: entry.path, overwriting: true)
    entry.release()
    guard !isGone else {
      cleanup.release()
      return nil
    }
    cleanup.removeFolder()
    return entry.path
  }
}
