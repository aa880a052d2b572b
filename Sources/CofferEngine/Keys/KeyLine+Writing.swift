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
    let file = StagedFile(path)
    do throws(StoreError) {
      try file.checkName()
    } catch {
      throw StoreError(.alreadyExists, "\(path) exists already: a key is never written over")
    }
    try file.make()
    try file.discardingOnError { () throws(StoreError) in
      try write(descriptor: file.descriptor, named: path)
      guard fsync(file.descriptor) == 0 else { throw StagedFile.failure(path) }
      try file.moveIntoPlace()
    }
  }

  /// Writes the line and LF with write(2) from locked memory.
  ///
  /// - Throws: `diskFull`, `readOnly` or `ioFailure`. Part of the line may have been written.
  package func write(descriptor: Int32) throws(StoreError) {
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
