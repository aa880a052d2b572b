internal import CofferEngine
package import CofferRecords
package import CofferSealing

/// The encryption of a payload in parts, padded with zeros, so the file's length reveals less (Sync-Format, "Files").
package struct SealedParts {
  package static let partSize = 65_536

  private let key: XAESKey
  /// Begins the additional data of each part.
  private let label: StaticString
  /// Random bytes that bind the parts to one file.
  private let identity: UniqueID

  /// - Parameter label: At most 16 bytes.
  package init(_ key: XAESKey, label: StaticString, identity: UniqueID) {
    (self.key, self.label, self.identity) = (key, label, identity)
  }

  /// Returns the total size of all parts before they're encrypted.
  package static func paddedCount(_ payloadCount: Int) -> Int { Frame.padme(max(payloadCount, 1)) }

  /// Returns the total size of the sealed parts.
  package static func sealedCount(_ payloadCount: Int) -> Int {
    let count = paddedCount(payloadCount)
    return count + (count + partSize - 1) / partSize * XAESKey.overhead
  }

  private func binding(_ index: Int, isLast: Bool) -> [UInt8] {
    var builder = ByteBuilder(reserving: 40)
    builder.append(label: label, width: 16)
    builder.append(identity)
    builder.append(UInt32(index))
    builder.append(UInt8(isLast ? 1 : 0))
    return builder.bytes
  }

  fileprivate func seal(_ part: [UInt8], _ index: Int, isLast: Bool) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in
      try key.seal(part, authenticating: binding(index, isLast: isLast))
    }
  }

  fileprivate func open(_ sealed: [UInt8], _ index: Int, isLast: Bool) throws(SealingError) -> [UInt8] {
    try key.open(sealed, authenticating: binding(index, isLast: isLast))
  }
}

/// Writes a payload in sealed parts.
package final class SealedPartsWriter: ChangesetTarget {
  private let parts: SealedParts
  private let output: (_ sealed: [UInt8], _ offset: Int) throws(StoreError) -> Void
  private var part: [UInt8] = []
  private var index = 0
  /// The number of the payload's bytes so far.
  package private(set) var count = 0
  /// The number of sealed bytes so far.
  package private(set) var sealedCount = 0

  /// - Parameter output: Takes the sealed parts in order, and their offsets from the first.
  package init(
    _ parts: SealedParts, to output: @escaping (_ sealed: [UInt8], _ offset: Int) throws(StoreError) -> Void
  ) {
    (self.parts, self.output) = (parts, output)
    part.reserveCapacity(SealedParts.partSize)
  }

  package func write(_ bytes: [UInt8]) throws(StoreError) {
    try bytes.withBytes { bytes throws(StoreError) in try write(bytes) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    count += bytes.count
    try append(bytes)
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // The last part is sealed as such, so it waits for the end.
      if part.count == SealedParts.partSize { try seal(isLast: false) }
      let taken = rest.prefix(SealedParts.partSize - part.count)
      part.append(contentsOf: taken)
      rest = rest.dropFirst(taken.count)
    }
  }

  private func seal(isLast: Bool) throws(StoreError) {
    let sealed = try parts.seal(part, index, isLast: isLast)
    try output(sealed, sealedCount)
    sealedCount += sealed.count
    index += 1
    part.removeAll(keepingCapacity: true)
  }

  /// Adds the zeros, and seals the last part.
  package func finish() throws(StoreError) {
    var padding = SealedParts.paddedCount(count) - count
    let zeros = [UInt8](repeating: 0, count: min(padding, SealedParts.partSize))
    while padding > 0 {
      let some = min(padding, zeros.count)
      try zeros.withBytes { bytes throws(StoreError) in
        try append(UnsafeRawBufferPointer(rebasing: bytes[..<some]))
      }
      padding -= some
    }
    try seal(isLast: true)
  }
}

/// Reads a payload from sealed parts, which are proved as they're read.
package final class SealedPartsReader: ChangesetBytes {
  private let parts: SealedParts
  private let payloadCount: Int
  private let input: (_ count: Int, _ offset: Int) throws(StoreError) -> [UInt8]
  private let damage: StoreError
  /// The offset of the payload's next byte.
  package private(set) var offset = 0
  /// The last opened part, and its index.
  private var part: [UInt8] = []
  private var index: Int?

  /// - Parameters:
  ///   - input: Returns sealed bytes at an offset from the first part, or fewer at the end of the file.
  ///   - damage: The error for missing or exchanged parts.
  package init(
    _ parts: SealedParts, payloadCount: Int, damage: StoreError,
    from input: @escaping (_ count: Int, _ offset: Int) throws(StoreError) -> [UInt8]
  ) {
    (self.parts, self.payloadCount, self.damage, self.input) = (parts, payloadCount, damage, input)
  }

  /// Continues at another offset in the payload.
  package func move(to offset: Int) { self.offset = offset }

  package func read(_ count: Int) throws(StoreError) -> [UInt8] {
    guard count <= payloadCount - offset else { throw damage }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      let place = offset % SealedParts.partSize
      if index != offset / SealedParts.partSize { try readPart(offset / SealedParts.partSize) }
      let taken = part[place..<min(part.count, place + count - bytes.count)]
      bytes += taken
      offset += taken.count
    }
    return bytes
  }

  private func readPart(_ number: Int) throws(StoreError) {
    let (size, whole) = (SealedParts.partSize, SealedParts.paddedCount(payloadCount))
    let start = number * size
    let count = min(size, whole - start)
    let sealed = try input(count + XAESKey.overhead, number * (size + XAESKey.overhead))
    index = nil
    do throws(SealingError) {
      part = try parts.open(sealed, number, isLast: start + count == whole)
    } catch {
      throw .unopened(error, damage)
    }
    guard part.count == count else { throw damage }
    index = number
  }
}
