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

  /// Decodes more behind what is there, making room first.
  ///
  /// Sets ``isAtEnd`` or ``failure`` when the input ends or is bad.
  ///
  /// - Returns: false when the buffer is full and may not grow.
  mutating func fill() -> Bool {
    guard !isAtEnd, failure == nil else { return true }
    compact()
    if limit - end < Self.leastRoom {
      let wanted = limit == 0 ? capacity : min(2 * limit, maximum + Self.leastRoom)
      guard end < maximum, wanted > limit else { return false }
      limit = wanted
      bytes.lengthen(to: limit)
    }
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

  /// Gives the buffer away, with all of `0..<end` in it, and goes on in `replacement` with what is not yet consumed.
  mutating func handOver(into replacement: inout [UInt8], consumed: Int) {
    discard(to: consumed)
    swap(&bytes, &replacement)
    let tail = end - start
    limit = max(capacity, tail)
    bytes.lengthen(to: limit)
    bytes.withUnsafeMutableBytes { target in
      replacement.withUnsafeBytes { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
    }
    replacement.removeLast(replacement.count - end)
    shift(by: start)
  }

  private mutating func compact() {
    guard start > 0 else { return }
    let start = self.start
    let end = self.end
    bytes.withUnsafeMutableBytes { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[..<(end - start)])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
    }
    shift(by: start)
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
