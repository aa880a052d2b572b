internal import CofferRecords
public import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

extension KeyLine {
  /// Writes the line and LF into a new file that only its owner may read (mode 0600), and waits until the file and its
  /// name are on the disk: so no store that is created for the key outlasts it.
  ///
  /// - Throws: `alreadyExists`, the file unchanged; `diskFull`, `readOnly` or `ioFailure` if it can't be written: an
  ///   incomplete file is removed. `ioFailure` also if the disk does not confirm the name; the file has that name all
  ///   the same.
  public func write(toNewFile path: String) throws(StoreError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno == EEXIST else { throw StagedFile.failure(path) }
      throw StoreError(.alreadyExists, "\(path) exists already: a key is never written over")
    }
    do throws(StoreError) {
      defer { close(descriptor) }
      try write(descriptor: descriptor, named: path)
      guard fsync(descriptor) == 0 else { throw StagedFile.failure(path) }
    } catch {
      unlink(path)
      throw error
    }
    try Durability.confirmName(of: path)
  }

  /// Writes the line and LF with write(2) from locked memory.
  ///
  /// - Throws: `diskFull`, `readOnly` or `ioFailure`; a part of the line may have been written.
  public func write(descriptor: Int32) throws(StoreError) {
    try write(descriptor: descriptor, named: "the key's output")
  }

  private func write(descriptor: Int32, named name: String) throws(StoreError) {
    let whole = try wholeLine()
    var written = 0
    while written < whole.count {
      let count = whole.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written) }
      if count < 0 {
        if errno == EINTR { continue }
        throw StagedFile.failure(name)
      }
      written += count
    }
  }

  /// The line with its LF, in locked memory.
  private func wholeLine() throws(StoreError) -> Secret {
    do throws(SealingError) {
      let line = try line()
      return Secret(byteCount: line.count + 1) { memory in
        line.withUnsafeBytes { memory.copyBytes(from: $0) }
        memory[line.count] = 0x0A
        return memory.count
      }
    } catch {
      throw StoreError(error)
    }
  }
}
