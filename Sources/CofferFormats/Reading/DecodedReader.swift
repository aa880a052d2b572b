internal import CofferText

/// An input as UTF-8 in one buffer, of which the front is consumed record by record.
///
/// The buffer is handed to a batch and the batch's old one taken in its place, so that text is decoded right to where
/// the store finds it. It grows only for a record that does not fit. Only an error costs the search for its place.
struct DecodedReader: Sendable {
  static let usualCapacity = 256 << 10
  private static let rawCapacity = 64 << 10
  /// Room below which decoding waits for more.
  private static let leastRoom = 64

  struct Replacement: Sendable {
    var position: Int
    let inputOffset: Int
    let reason: String
  }

  private var source: any ByteSource
  private(set) var decoder: TextDecoder
  private var raw: [UInt8]
  private var rawStart = 0
  private var rawEnd = 0
  private var sourceHasEnded = false
  private let capacity: Int
  private let maximum: Int
  /// How far the buffer may be filled: the usual capacity, unless one record needs more.
  private var limit = 0

  /// Decoded bytes are at `start..<end`; what follows is room.
  private(set) var bytes: [UInt8] = []
  private(set) var start = 0
  private(set) var end = 0
  /// The input's last byte is decoded.
  private(set) var isAtEnd = false
  /// Why decoding cannot go on; what was decoded before it can still be consumed.
  private(set) var failure: FormatError?
  /// Where in the buffer U+FFFD stands for bad bytes, in order.
  private(set) var replacements: [Replacement] = []

  /// Line feeds before `start`.
  private(set) var linesBefore = 0
  /// The input's own bytes from `keptOffset` to the last one read, when they may be asked for.
  private(set) var kept: [UInt8]?
  private(set) var keptOffset = 0

  /// - Parameters:
  ///   - maximum: the most bytes that may be in the buffer, which is the longest record.
  ///   - keepsInput: keeps the undecoded bytes of what is in the buffer.
  init(
    _ source: any ByteSource, encoding: EncodingChoice, onError: CodingErrorMode, maximum: Int,
    capacity: Int = usualCapacity, keepsInput: Bool = false
  ) {
    self.source = source
    self.maximum = max(maximum, 1)
    self.capacity = max(capacity, 2 * Self.leastRoom)
    decoder = TextDecoder(encoding, onError: onError)
    raw = [UInt8](repeating: 0, count: min(Self.rawCapacity, self.capacity))
    kept = keepsInput ? [] : nil
  }

  /// Nothing more will come, and nothing is left.
  var isExhausted: Bool { isAtEnd && start == end }

  /// The first replaced byte at or behind `position`.
  func firstReplacement(from position: Int) -> Replacement? {
    var lower = 0
    var upper = replacements.count
    while lower < upper {
      let middle = (lower + upper) / 2
      if replacements[middle].position < position { lower = middle + 1 } else { upper = middle }
    }
    return lower < replacements.count ? replacements[lower] : nil
  }

  /// Forgets what is before `position`.
  mutating func discard(to position: Int) {
    guard position > start else { return }
    linesBefore += bytes.withUnsafeBytes {
      UnsafeRawBufferPointer(rebasing: $0[start..<position]).count(of: Byte.lineFeed)
    }
    if kept != nil {
      let offset = inputOffset(of: position)
      kept?.removeFirst(offset - keptOffset)
      keptOffset = offset
    }
    start = position
    replacements.removeAll { $0.position < position }
  }

  /// So little is left that it is time to decode more.
  var isLow: Bool { end - start < capacity / 2 }

  /// Decodes more behind what is there, making room first.
  ///
  /// Sets ``isAtEnd`` or ``failure`` when the input ends or is bad.
  ///
  /// - Returns: false when the buffer is full and may not grow.
  mutating func fill() -> Bool {
    guard !isAtEnd, failure == nil else { return true }
    let count = end - start
    if count + Self.leastRoom <= capacity {
      limit = capacity
    } else if limit - count < Self.leastRoom {
      let wanted = min(2 * limit, maximum + Self.leastRoom)
      guard count < maximum, wanted > limit else { return false }
      limit = wanted
    }
    compact()
    do throws(FormatError) {
      while !isAtEnd, limit - end >= Self.leastRoom {
        if rawStart == rawEnd, !sourceHasEnded { try readRaw() }
        try decodeRaw()
      }
    } catch {
      failure = error
    }
    return true
  }

  /// Makes `replacement`, which is empty, hold what is consumed, and goes on with the rest.
  ///
  /// The buffer itself is given away, or else its front is copied: whatever leaves fewer bytes to copy, so that no more
  /// bytes are ever copied than were consumed.
  ///
  /// - Returns: what a position in the buffer is to be lessened by to be one in `replacement`.
  mutating func handOver(into replacement: inout [UInt8], consumed: Int) -> Int {
    let front = start..<consumed
    discard(to: consumed)
    if end - consumed > front.count || front.lowerBound > front.count {
      replacement += bytes[front]
      return front.lowerBound
    }
    swap(&bytes, &replacement)
    moveRest(from: replacement)
    replacement.removeLast(replacement.count - start)
    shift(by: start)
    return 0
  }

  /// Brings what is left to the beginning of the buffer, which is made as long as it may be filled.
  private mutating func compact() {
    guard start > 0 || bytes.count < limit else { return }
    // The buffer of a huge record does not stay for small ones.
    if bytes.count > 4 * limit {
      let old = bytes
      bytes = []
      moveRest(from: old)
    } else if start > 0 {
      let rest = start..<end
      bytes.withUnsafeMutableBytes { buffer in
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<rest.count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[rest]))
      }
    }
    bytes.lengthen(to: limit)
    shift(by: start)
  }

  /// Fills the beginning of the buffer with what was left of an earlier one.
  private mutating func moveRest(from old: [UInt8]) {
    if bytes.capacity > 4 * max(limit, end - start) { bytes = [] }
    bytes.lengthen(to: max(limit, end - start))
    let rest = start..<end
    bytes.withUnsafeMutableBytes { target in
      old.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[rest])) }
    }
  }

  private mutating func shift(by distance: Int) {
    start -= distance
    end -= distance
    for index in replacements.indices { replacements[index].position -= distance }
  }

  private mutating func readRaw() throws(FormatError) {
    rawStart = 0
    rawEnd = try source.read(into: &raw, from: 0)
    sourceHasEnded = rawEnd == 0
    kept?.append(contentsOf: raw[..<rawEnd])
  }

  private mutating func decodeRaw() throws(FormatError) {
    let before = decoder
    switch decodeOnce(upTo: rawEnd, isFinal: sourceHasEnded) {
    case .success:
      isAtEnd = sourceHasEnded && rawStart == rawEnd
    case .failure(let error):
      // What is well before the fault is still decoded, so that it can be told where the fault is.
      decoder = before
      let good = rawStart + error.byteOffset - before.bytesConsumed
      if good > rawStart, good <= rawEnd { _ = decodeOnce(upTo: good, isFinal: false) }
      var failure = FormatError(.undecodable, error.reason, at: location(of: end))
      failure.location?.byteOffset = error.byteOffset
      failure.suggestions = error.suggestions
      throw failure
    }
  }

  private mutating func decodeOnce(upTo rawLimit: Int, isFinal: Bool) -> Result<Void, TextCodingError> {
    let room = limit
    return raw.withUnsafeBytes { raw in
      bytes.withUnsafeMutableBytes { bytes in
        do throws(TextCodingError) {
          let (consumed, written) = try decoder.decode(
            UnsafeRawBufferPointer(rebasing: raw[rawStart..<rawLimit]),
            into: UnsafeMutableRawBufferPointer(rebasing: bytes[end..<room]), isFinal: isFinal)
          for each in decoder.replacements {
            replacements.append(
              Replacement(position: end + each.outputOffset, inputOffset: each.inputOffset, reason: each.reason))
          }
          rawStart += consumed
          end += written
          return .success(())
        } catch {
          return .failure(error)
        }
      }
    }
  }
}

extension [UInt8] {
  private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

  /// Makes the array at least so long; by whole blocks, since adding single elements would cost as much as decoding.
  mutating func lengthen(to wanted: Int) {
    while count < wanted { append(contentsOf: Self.zeros.prefix(wanted - count)) }
  }
}
