internal import CofferFoundation
internal import CofferPlatform
internal import CofferRecords
package import CofferSealing

extension KeyLine {
  /// Writes the line and LF to a new file that only its owner can read (mode 0600).
  ///
  /// Waits until the file and its name are on disk, so a store created for the key can't outlast it.
  ///
  /// - Throws: `alreadyExists` with the file unchanged. `diskFull`, `readOnly` or `ioFailure` if the file can't be
  ///   written, after removing an incomplete file. Also `ioFailure` if the disk doesn't confirm the name, although the
  ///   file already has that name.
  package func write(toNewFile path: String) throws(StoreError) {
    if let unnamed = UnnamedFile.open(in: URL(filePath: path).deletingLastPathComponent().path) {
      // The key never has a temporary name, and a kill doesn't leave a partial key.
      defer { close(unnamed) }
      try writeAndSync(unnamed, named: path)
      guard UnnamedFile.link(unnamed, as: path) else { throw Self.failure(path) }
    } else {
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw Self.failure(path) }
      defer { close(descriptor) }
      do throws(StoreError) {
        try writeAndSync(descriptor, named: path)
      } catch {
        unlink(path)
        throw error
      }
    }
    try Durability.confirmName(of: path)
  }

  private func writeAndSync(_ descriptor: Int32, named path: String) throws(StoreError) {
    try write(descriptor: descriptor, named: path)
    guard coffer_sync(descriptor) == 0 else { throw StagedFile.failure(path) }
  }

  private static func failure(_ path: String) -> StoreError {
    guard errno == EEXIST else { return StagedFile.failure(path) }
    return StoreError(
      .alreadyExists, "\(path) exists already: a key is never written over",
      hint: "name another file, or use the key that is in it")
  }

  /// Writes the line and LF with write(2) from locked memory.
  ///
  /// - Throws: `diskFull`, `readOnly` or `ioFailure`. Part of the line may have been written.
  package func write(descriptor: Int32) throws(StoreError) {
    try write(descriptor: descriptor, named: "the key's output")
  }

  private func write(descriptor: Int32, named name: String) throws(StoreError) {
    let isWritten = try wholeLine().withUnsafeBytes { FileBytes.writeAll($0, to: descriptor) }
    guard isWritten else { throw StagedFile.failure(name) }
  }

  /// Returns the line with its LF in locked memory.
  private func wholeLine() throws(StoreError) -> Secret {
    try translatingErrors { () throws(SealingError) in
      let line = try line()
      return Secret(byteCount: line.count + 1) { memory in
        line.withUnsafeBytes { memory.copyBytes(from: $0) }
        memory[line.count] = 0x0A
        return memory.count
      }
    }
  }
}
