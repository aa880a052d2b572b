/// The changes in the latest generations, stored in the sealed state (FORMAT, "State").
///
/// Contains as many generations as fit in ``byteCount`` bytes, without gaps, up to the state's generation. Each
/// generation starts with the preceding state's mark, so the ring also proves which states preceded this state.
package struct ChangeRing: Sendable, Equatable {
  /// The size of a ring in a state without an extension part.
  package static let greatestByteCount = StoreState.ringByteCount
  /// The size of a mark in the ring, in bytes.
  package static let markCount = 16
  /// The entry for too many changes, which is the only entry in its generation.
  fileprivate static let everything: UInt8 = 7

  /// The size of the ring in the state, in bytes.
  package let byteCount: Int
  /// The first generation in the ring, or the generation after the state's if the ring is empty.
  package private(set) var known: UInt64
  /// The state's generation.
  package private(set) var generation: UInt64
  /// The generations as bytes, oldest first, without trailing zeros.
  private var records: [UInt8] = []

  /// Creates an empty ring.
  package init(after generation: UInt64, byteCount: Int = greatestByteCount) {
    self.byteCount = byteCount
    known = generation + 1
    self.generation = generation
  }

  /// Reads a ring, or returns `nil` for invalid bytes.
  package init?(known: UInt64, bytes: UnsafeRawBufferPointer, generation: UInt64) {
    // No state precedes generation 1, so records with an earlier mark are invalid.
    guard known >= 2, known - 1 <= generation else { return nil }
    var reader = RingReader(bytes)
    for _ in known - 1..<generation {
      guard reader.readRecord({ _, _, _ in }) else { return nil }
    }
    guard reader.restIsZero else { return nil }
    byteCount = bytes.count
    self.known = known
    self.generation = generation
    records = [UInt8](bytes[..<reader.offset])
  }

  /// Writes ``byteCount`` bytes.
  package func write(to memory: UnsafeMutableRawBufferPointer) {
    precondition(memory.count == byteCount, "internal error: a ring has \(byteCount) bytes")
    memory.copyBytes(from: records)
    UnsafeMutableRawBufferPointer(rebasing: memory[records.count...]).initializeMemory(as: UInt8.self, repeating: 0)
  }

  // MARK: Writing

  /// Removes all changes up to this generation.
  package mutating func empty(after generation: UInt64) {
    self = ChangeRing(after: generation, byteCount: byteCount)
  }

  /// Adds the next generation, and removes the oldest generations to make space.
  ///
  /// - Parameters:
  ///   - mark: The preceding state's mark, of which the first ``markCount`` bytes are kept.
  ///   - changes: The changes, which are stored as `everything` if they don't fit.
  /// - Returns: The number of bytes that the generation takes.
  @discardableResult
  package mutating func append(
    _ generation: UInt64, markBefore mark: UnsafeRawBufferPointer, _ changes: RingChanges
  ) -> Int {
    precondition(
      generation == self.generation + 1 && mark.count >= Self.markCount, "internal error: a ring has no gaps")
    let start = records.count
    records.reserveCapacity(2 * byteCount)
    records.append(contentsOf: UnsafeRawBufferPointer(rebasing: mark[..<Self.markCount]))
    if !append(changes, within: start + byteCount) {
      records.removeSubrange((start + Self.markCount)...)
      records.append(contentsOf: [0, 1, Self.everything])
    }
    self.generation = generation
    let count = records.count - start
    dropOldest()
    return count
  }

  /// Appends changes, or returns `false` if they are `everything` or don't fit.
  private mutating func append(_ changes: RingChanges, within limit: Int) -> Bool {
    guard case .entries(let entries) = changes, let count = UInt16(exactly: entries.count) else { return false }
    records.append(UInt8(count >> 8))
    records.append(UInt8(truncatingIfNeeded: count))
    var last = (kind: UInt8(0), collection: UInt32(0))
    for entry in entries {
      let place = (kind: entry.kind.rawValue, collection: entry.collection)
      precondition(
        last < place && (1...StoreFormat.maximumNumber).contains(Int64(entry.collection)),
        "internal error: changes must be sorted by kind and collection")
      last = place
      records.append(entry.kind.rawValue)
      append(varint: UInt64(entry.collection))
      if entry.kind != .collection {
        precondition(!entry.ranges.isEmpty, "internal error: a change must name a document")
        append(varint: UInt64(entry.ranges.count))
        var end: Int64 = 0
        for ids in entry.ranges {
          precondition(
            ids.lowerBound > end && ids.upperBound <= StoreFormat.documentIDs.upperBound,
            "internal error: ranges of ids must rise and not touch")
          append(varint: UInt64(ids.lowerBound - end))
          append(varint: UInt64(ids.upperBound - ids.lowerBound))
          end = ids.upperBound + 1
          guard records.count <= limit else { return false }
        }
      }
      guard records.count <= limit else { return false }
    }
    return true
  }

  @inline(__always)
  private mutating func append(varint value: UInt64) {
    var value = value
    while value >= 0x80 {
      records.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    records.append(UInt8(value))
  }

  private mutating func dropOldest() {
    let surplus = records.count - byteCount
    guard surplus > 0 else { return }
    let dropped = records.withUnsafeBytes { bytes in
      var reader = RingReader(bytes)
      var count = 0
      while reader.offset < surplus {
        reader.skipRecord()
        count += 1
      }
      return (bytes: reader.offset, generations: UInt64(count))
    }
    records.removeFirst(dropped.bytes)
    known += dropped.generations
  }

  // MARK: Reading

  /// Returns the first ``markCount`` bytes of a previous state's mark, or `nil` if the ring doesn't contain the mark.
  package func mark(of earlier: UInt64) -> [UInt8]? {
    guard known - 1 <= earlier, earlier < generation else { return nil }
    return records.withUnsafeBytes { bytes in
      var reader = RingReader(bytes)
      for _ in known - 1..<earlier { reader.skipRecord() }
      return [UInt8](bytes[reader.offset..<reader.offset + Self.markCount])
    }
  }

  /// Returns the size of all generations after a previous generation, or `nil` if the ring starts later.
  package func byteCount(after earlier: UInt64) -> Int? {
    guard known - 1 <= earlier, earlier <= generation else { return nil }
    return records.withUnsafeBytes { bytes in
      var reader = RingReader(bytes)
      for _ in known - 1..<earlier { reader.skipRecord() }
      return bytes.count - reader.offset
    }
  }

  /// Returns the changes in each generation after an earlier generation, or `nil` if the ring starts later.
  package func changes(after earlier: UInt64) -> [(generation: UInt64, changes: RingChanges)]? {
    guard known - 1 <= earlier, earlier <= generation else { return nil }
    return records.withUnsafeBytes { bytes in
      var reader = RingReader(bytes)
      for _ in known - 1..<earlier { reader.skipRecord() }
      return (earlier..<generation).map { ($0 + 1, reader.changes()) }
    }
  }
}

/// Reads a ring's generations in sequence, and checks every byte.
private struct RingReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  /// Reads one generation.
  ///
  /// - Parameter visit: Called with the kind's number, a collection (0 for everything), and each ID range, which is
  ///   `nil` for a collection itself and for everything.
  /// - Returns: `false` for invalid bytes.
  @inline(__always)
  mutating func readRecord(_ visit: (UInt8, UInt32, ClosedRange<Int64>?) -> Void) -> Bool {
    guard bytes.count - offset >= ChangeRing.markCount + 2 else { return false }
    offset += ChangeRing.markCount
    let count = Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
    offset += 2
    var last: UInt64 = 0
    for _ in 0..<count {
      guard offset < bytes.count else { return false }
      let kind = bytes[offset]
      offset += 1
      if kind == ChangeRing.everything {
        visit(kind, 0, nil)
        return count == 1
      }
      guard (RingChanges.Kind.inserted.rawValue...RingChanges.Kind.collection.rawValue).contains(kind),
        let collection = varint(), collection >= 1, collection <= UInt64(StoreFormat.maximumNumber)
      else { return false }
      let place = UInt64(kind) << 32 | collection
      guard place > last else { return false }
      last = place
      if kind == RingChanges.Kind.collection.rawValue {
        visit(kind, UInt32(collection), nil)
        continue
      }
      guard let ranges = varint(), ranges >= 1, ranges <= ChangeRing.greatestByteCount else { return false }
      // One above the previous range.
      var end: UInt64 = 0
      for _ in 0..<ranges {
        guard let gap = varint(), gap >= 1, let more = varint() else { return false }
        // The sums can't overflow, because a varint and `end` are below 2^63.
        let highest = UInt64(StoreFormat.documentIDs.upperBound)
        guard end + gap <= highest, end + gap + more <= highest else { return false }
        visit(kind, UInt32(collection), Int64(end + gap)...Int64(end + gap + more))
        end = end + gap + more + 1
      }
    }
    return true
  }

  /// Skips a generation with known valid bytes.
  mutating func skipRecord() {
    let isSound = readRecord { _, _, _ in }
    precondition(isSound, "internal error: a ring holds bytes that were not checked")
  }

  /// Reads a generation with known valid bytes.
  mutating func changes() -> RingChanges {
    var entries: [RingChanges.Entry] = []
    var isEverything = false
    let isSound = readRecord { kind, collection, ids in
      guard let kind = RingChanges.Kind(rawValue: kind) else {
        isEverything = true
        return
      }
      if let ids, let last = entries.last, last.kind == kind, last.collection == collection {
        entries[entries.count - 1].ranges.append(ids)
      } else {
        entries.append(RingChanges.Entry(kind, in: collection, ids.map { [$0] } ?? []))
      }
    }
    precondition(isSound, "internal error: a ring holds bytes that were not checked")
    return isEverything ? .everything : .entries(entries)
  }

  var restIsZero: Bool {
    var offset = offset
    while offset + 8 <= bytes.count {
      guard bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == 0 else { return false }
      offset += 8
    }
    return bytes[offset...].allSatisfy { $0 == 0 }
  }

  /// Returns the next number (LEB128 below 2^63), or `nil` unless it has the shortest form.
  @inline(__always)
  private mutating func varint() -> UInt64? {
    guard offset < bytes.count else { return nil }
    let first = bytes[offset]
    offset += 1
    return first < 0x80 ? UInt64(first) : longVarint(from: first)
  }

  private mutating func longVarint(from first: UInt8) -> UInt64? {
    var value = UInt64(first & 0x7f)
    var shift: UInt64 = 7
    while shift < 63, offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      value |= UInt64(byte & 0x7f) << shift
      // If the last byte is zero, the form isn't the shortest.
      if byte < 0x80 { return byte == 0 ? nil : value }
      shift += 7
    }
    return nil
  }
}
