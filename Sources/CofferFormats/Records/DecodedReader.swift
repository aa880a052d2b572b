internal import CofferDocuments
internal import CofferText

/// An input that's decoded to UTF-8 in a buffer, and consumed record by record from the front.
///
/// The buffer is swapped with a batch's buffer, so text is decoded once, directly to its final location. The buffer
/// grows only for a record that doesn't fit. A fault's location is computed only for errors.
struct DecodedReader: Sendable {
  static let usualCapacity = 256 << 10
  private static let rawCapacity = 64 << 10
  /// The minimum free space for decoding.
  static let leastRoom = 64

  struct Replacement: Sendable {
    var position: Int
    let inputOffset: Int
    let reason: String
  }

  private var source: any ByteSource
  var decoder: TextDecoder
  /// Whether the input is text. The bytes of a binary input are passed on unchanged.
  let isText: Bool
  /// The number of unchanged bytes that were passed on.
  private(set) var passedOn = 0
  private var raw: [UInt8]
  private var rawStart = 0
  private var rawEnd = 0
  private var sourceHasEnded = false
  /// The first bytes, kept while the encoding isn't known, to identify files that aren't text.
  private var head: [UInt8]?
  let capacity: Int
  private let maximum: Int
  /// The buffer's current limit, which is the usual capacity unless a record needs more.
  var limit = 0

  /// The buffer, with decoded bytes at `start..<end` followed by free space.
  var bytes: [UInt8] = []
  var start = 0
  var end = 0
  /// Whether the input's last byte is decoded.
  var isAtEnd = false
  /// The error that ended decoding. Previously decoded bytes can still be consumed.
  var failure: FormatError?
  /// The positions in the buffer where U+FFFD replaced invalid bytes, in order.
  var replacements: [Replacement] = []

  /// The position up to which lines are counted, with the number of line feeds before it and of characters since the
  /// last line feed.
  var countedLines = (position: 0, lineFeeds: 0, characters: 0)
  var knownOffset: (position: Int, inputOffset: Int)?
  /// The undecoded bytes from `keptOffset` to the last read byte, if they're kept.
  var kept: [UInt8]?
  var keptOffset = 0

  /// - Parameters:
  ///   - maximum: The maximum size of the buffer, which is the maximum length of a record.
  ///   - keepsInput: Whether to keep the undecoded bytes for the buffer's content.
  init(
    _ source: any ByteSource, encoding: EncodingChoice, onError: CodingErrorMode, maximum: Int,
    capacity: Int = usualCapacity, keepsInput: Bool = false, isText: Bool = true
  ) {
    self.isText = isText
    self.source = source
    self.maximum = max(maximum, 1)
    self.capacity = max(capacity, 2 * Self.leastRoom)
    decoder = TextDecoder(encoding, onError: onError)
    raw = [UInt8](repeating: 0, count: min(Self.rawCapacity, self.capacity))
    kept = keepsInput ? [] : nil
    head = encoding == .automatic ? [] : nil
  }

  /// Whether the input is still unconsumed.
  private(set) var isAtStart = true

  /// Whether the input has ended and the buffer is consumed.
  var isExhausted: Bool { isAtEnd && start == end }

  /// Returns the first replacement at or after `position`.
  func firstReplacement(from position: Int) -> Replacement? {
    let index = replacements.indices.partitionPoint { replacements[$0].position < position }
    return index < replacements.count ? replacements[index] : nil
  }

  /// Discards the bytes before `position`.
  mutating func discard(to position: Int) {
    guard position > start else { return }
    isAtStart = false
    countLines(to: position)
    if kept != nil {
      let offset = inputOffset(of: position)
      kept?.removeFirst(offset - keptOffset)
      keptOffset = offset
    }
    start = position
    replacements.removeAll { $0.position < position }
  }

  /// Whether to decode more input.
  var isLow: Bool { end - start < capacity / 2 }

  /// Makes space in the buffer and decodes more input.
  ///
  /// Sets ``isAtEnd`` or ``failure`` if the input ends or is invalid.
  ///
  /// - Returns: `false` if the buffer is full and must not grow.
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

  private mutating func readRaw() throws(FormatError) {
    rawStart = 0
    rawEnd = try source.read(into: &raw, from: 0)
    sourceHasEnded = rawEnd == 0
    if let count = head?.count, count < ForeignContent.headCount {
      head?.append(contentsOf: raw[..<min(rawEnd, ForeignContent.headCount - count)])
    }
    kept?.append(contentsOf: raw[..<rawEnd])
  }

  private mutating func decodeRaw() throws(FormatError) {
    guard isText else { return passRawOn() }
    let before = decoder
    switch decodeOnce(upTo: rawEnd, isFinal: sourceHasEnded) {
    case .success:
      isAtEnd = sourceHasEnded && rawStart == rawEnd
    case .failure(let error):
      if let foreign = head.flatMap(ForeignContent.init(head:)) {
        var failure = FormatError(.undecodable, "this is \(foreign.name), not text")
        failure.advice = foreign.advice
        throw failure
      }
      // Decode the valid bytes before the fault, because its location depends on them.
      decoder = before
      let good = rawStart + error.byteOffset - before.bytesConsumed
      if good > rawStart, good <= rawEnd { _ = decodeOnce(upTo: good, isFinal: false) }
      var failure = FormatError(.undecodable, error.reason, at: location(of: end))
      failure.location?.byteOffset = error.byteOffset
      failure.suggestions = error.suggestions
      failure.advice = error.lookalike?.advice
      throw failure
    }
  }

  private mutating func passRawOn() {
    let count = min(rawEnd - rawStart, limit - end)
    bytes.replaceSubrange(end..<end + count, with: raw[rawStart..<rawStart + count])
    rawStart += count
    end += count
    passedOn += count
    isAtEnd = sourceHasEnded && rawStart == rawEnd
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
