internal import CofferPlatform
internal import Synchronization

/// The entries of ``RowProof/Rows`` in a part of a file, which are read in blocks on lookup.
///
/// A store with a million documents has 40 MB of entries, and most readers look up only a few.
package final class RowFile: Sendable {
  /// An open file, which is closed with the last of its parts.
  package final class Descriptor: Sendable {
    /// The device and number of a file.
    private struct Identity: Hashable {
      let device, number: UInt64

      init(_ status: stat) {
        (device, number) = (status.device, status.number)
      }
    }

    /// The number of times that this process has each file open.
    private static let opened = Mutex<[Identity: Int]>([:])

    private let number: Int32
    private let identity: Identity
    /// The size of the file, or `nil` if it isn't a regular file.
    package let byteCount: Int?

    package init(_ number: Int32) {
      var status = stat()
      let isRegular = fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      (self.number, identity, byteCount) = (number, Identity(status), isRegular ? Int(status.st_size) : nil)
      Self.opened.withLock { [identity] in $0[identity, default: 0] += 1 }
    }

    deinit {
      close(number)
      Self.opened.withLock { [identity] in
        $0[identity, default: 1] -= 1
        if $0[identity] == 0 { $0[identity] = nil }
      }
    }

    /// Returns whether this process has the file at a path open as a descriptor of this type.
    package static func isOpen(at path: String) -> Bool {
      var status = stat()
      return stat(path, &status) == 0 && opened.withLock { [identity = Identity(status)] in $0[identity] != nil }
    }

    /// Reads exactly this number of bytes, or returns `nil`.
    package func bytes(_ count: Int, at offset: Int) -> [UInt8]? {
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { memory, done in
        let part = UnsafeMutableRawBufferPointer(start: memory.baseAddress, count: count)
        done = max(0, FileBytes.fill(part, from: number, at: offset))
      }
      return bytes.count == count ? bytes : nil
    }
  }

  private static let blockCount = 256

  private let file: Descriptor
  private let offset: Int
  private let count: Int
  /// The last read block, for lists.
  private let recent = Mutex<[UInt8]>([])

  /// - Parameters:
  ///   - offset: The entries' offset in the file.
  ///   - byteCount: The entries' size, which is a multiple of an entry's size.
  package init?(_ file: Descriptor, at offset: Int, byteCount: Int) {
    guard byteCount.isMultiple(of: RowProof.Rows.entryByteCount) else { return nil }
    (self.file, self.offset, count) = (file, offset, byteCount / RowProof.Rows.entryByteCount)
  }

  /// Returns the entries that include the entry with a number, if there is one.
  func block(for number: Int64) throws(StoreError) -> [UInt8] {
    let known = recent.withLock { $0 }
    if !known.isEmpty {
      let last = known.count / RowProof.Rows.entryByteCount - 1
      // Don't use a range, because the numbers in a damaged file can be in any order.
      if RowProof.Rows.number(0, in: known) <= number, number <= RowProof.Rows.number(last, in: known) { return known }
    }
    var (low, high) = (0, (count + Self.blockCount - 1) / Self.blockCount)
    guard high > 0 else { return [] }
    while high - low > 1 {
      let middle = (low + high) / 2
      if RowProof.Rows.number(0, in: try read(middle * Self.blockCount, 1)) <= number {
        low = middle
      } else {
        high = middle
      }
    }
    let start = low * Self.blockCount
    let block = try read(start, min(Self.blockCount, count - start))
    recent.withLock { $0 = block }
    return block
  }

  private func read(_ index: Int, _ entries: Int) throws(StoreError) -> [UInt8] {
    let size = RowProof.Rows.entryByteCount
    guard let bytes = file.bytes(entries * size, at: offset + index * size) else {
      throw StoreError(
        .ioFailure, "the file that remembers the proof can't be read", hint: "delete it, and open the store again")
    }
    return bytes
  }
}
