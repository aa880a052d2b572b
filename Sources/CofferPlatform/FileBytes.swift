/// Reads from and writes to a descriptor, which continue after signals and partial results.
package enum FileBytes {
  /// Reads some bytes.
  ///
  /// - Returns: The number of bytes, 0 at the end, or -1 with errno.
  package static func readSome(of descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count >= 0 || errno != EINTR { return count }
    }
  }

  /// Fills the buffer with the bytes at an offset.
  ///
  /// - Returns: The number of bytes, which is smaller than the buffer only at the file's end, or -1 with errno.
  package static func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: Int
  ) -> Int {
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return -1 }
      guard count > 0 else { break }
      done += count
    }
    return done
  }

  /// Writes all bytes.
  ///
  /// - Parameter shouldStop: Called after a signal interrupts a write. Returns whether to stop with `EINTR`.
  /// - Returns: `false`, with errno, if some bytes can't be written.
  package static func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, unless shouldStop: (() -> Bool)? = nil
  ) -> Bool {
    writeAll(bytes, unless: shouldStop) { rest, _ in write(descriptor, rest.baseAddress, rest.count) }
  }

  /// Writes all bytes at an offset.
  ///
  /// - Returns: `false`, with errno, if some bytes can't be written.
  package static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) -> Bool {
    writeAll(bytes) { rest, done in pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done)) }
  }

  private static func writeAll(
    _ bytes: UnsafeRawBufferPointer, unless shouldStop: (() -> Bool)? = nil,
    _ write: (_ rest: UnsafeRawBufferPointer, _ done: Int) -> Int
  ) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = write(UnsafeRawBufferPointer(rebasing: bytes[done...]), done)
      guard count > 0 || count < 0 && errno == EINTR else {
        if count == 0 { errno = EIO }
        return false
      }
      done += max(0, count)
      // A signal can also interrupt a partial write.
      if done < bytes.count, shouldStop?() == true {
        errno = EINTR
        return false
      }
    }
    return true
  }
}
