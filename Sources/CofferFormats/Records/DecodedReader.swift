internal import CofferDocuments
internal import CofferText

/// An input as UTF-8 in one buffer, of which the front is consumed record by record.
///
/// The buffer is handed to a batch and the batch's old one taken in its place, so that text is decoded right to where
/// the store finds it. It grows only for a record that does not fit. Only an error costs the search for its place.
struct DecodedReader: Sendable {
  static let usualCapacity = 256 << 10
  private static let rawCapacity = 64 << 10
  /// Room below which decoding waits for more.
  static let leastRoom = 64

  struct Replacement: Sendable {
    var position: Int
    let inputOffset: Int
    let reason: String
  }

  private var source: any ByteSource
  var decoder: TextDecoder
  /// False for an input that is no text: its bytes are passed on as they are.
  let isText: Bool
  /// How many bytes were passed on so.
  private(set) var passedOn = 0
  private var raw: [UInt8]
  private var rawStart = 0
  private var rawEnd = 0
  private var sourceHasEnded = false
  let capacity: Int
  private let maximum: Int
  /// How far the buffer may be filled: the usual capacity, unless one record needs more.
  var limit = 0

  /// Decoded bytes are at `start..<end`; what follows is room.
  var bytes: [UInt8] = []
  var start = 0
  var end = 0
  /// The input's last byte is decoded.
  var isAtEnd = false
  /// Why decoding cannot go on; what was decoded before it can still be consumed.
  var failure: FormatError?
  /// Where in the buffer U+FFFD stands for bad bytes, in order.
  var replacements: [Replacement] = []

  /// The place up to which line feeds were counted and its characters since the last one, and the last one of which the
  /// offset was asked for.
  var countedLines = (position: 0, lineFeeds: 0, characters: 0)
  var knownOffset: (position: Int, inputOffset: Int)?
  /// The input's own bytes from `keptOffset` to the last one read, when they may be asked for.
  var kept: [UInt8]?
  var keptOffset = 0

  /// - Parameters:
  ///   - maximum: the most bytes that may be in the buffer, which is the longest record.
  ///   - keepsInput: keeps the undecoded bytes of what is in the buffer.
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
  }

  /// Nothing more will come, and nothing is left.
  var isExhausted: Bool { isAtEnd && start == end }

  /// The first replaced byte at or behind `position`.
  func firstReplacement(from position: Int) -> Replacement? {
    let index = replacements.indices.partitionPoint { replacements[$0].position < position }
    return index < replacements.count ? replacements[index] : nil
  }

  /// Forgets what is before `position`.
  mutating func discard(to position: Int) {
    guard position > start else { return }
    countLines(to: position)
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

  private mutating func readRaw() throws(FormatError) {
    rawStart = 0
    rawEnd = try source.read(into: &raw, from: 0)
    sourceHasEnded = rawEnd == 0
    kept?.append(contentsOf: raw[..<rawEnd])
  }

  private mutating func decodeRaw() throws(FormatError) {
    guard isText else { return passRawOn() }
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
