internal import CofferDocuments

/// The grammar of one format: finds where a record ends and which of its bytes are what.
protocol RecordParser: Sendable {
  /// A rejected record is given as it stands in the input.
  static var keepsRejectedBytes: Bool { get }
  /// No part of a record stands in the buffer as it is: all of them are in ``RecordOutput/made``.
  static var makesEverything: Bool { get }
  static var usualEmptyText: EmptyTextMode { get }
  static var usualMaximum: Int { get }
  /// False while something is owed: at the end of the input the parser is asked once more, with no bytes left.
  var mayEnd: Bool { get }

  /// Reads the record that begins at `start`; it may be asked again for the same one when more has come.
  ///
  /// - Parameters:
  ///   - bytes: valid UTF-8; nothing follows it when `isFinal`.
  ///   - output: where a record's parts go.
  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome

  /// Passes over what is left of a record that was too long to be kept; what comes next begins at `end`.
  mutating func skipRest(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isDone: Bool)
}

extension RecordParser {
  static var keepsRejectedBytes: Bool { true }
  static var makesEverything: Bool { false }
  static var usualEmptyText: EmptyTextMode { .store }
  static var usualMaximum: Int { ReadingOptions.usualRecordByteCount }
  var mayEnd: Bool { true }

  /// Lines are what most records begin and end with.
  func skipRest(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isDone: Bool) {
    guard let lineEnd = bytes.firstOffset(of: Byte.lineFeed, from: start) else { return (bytes.count, false) }
    return (lineEnd + 1, true)
  }
}

enum RecordOutcome {
  /// A document, in ``RecordOutput/draft``.
  case record(end: Int)
  /// No document: a blank line.
  case nothing(end: Int)
  /// No document: the row of names.
  case header(end: Int)
  /// The row of names cannot be read, so no other can.
  case badHeader(RecordFault)
  /// The record goes on beyond the buffer.
  case needsMore
  /// A bad record; the next one begins at `end`.
  case bad(RecordFault, end: Int)
  /// The input cannot be read as it was asked for.
  case failure(FormatError)
}

struct RecordFault {
  var code = FormatError.Code.malformed
  var position: Int
  let reason: String

  static func keyTooLong(at position: Int) -> RecordFault {
    RecordFault(position: position, reason: "a key longer than \(ExternalKey.maximumByteCount) bytes")
  }
}

/// The parts of one record: ranges of the parsed buffer where its bytes stand there as they are, of ``made`` otherwise.
struct RecordOutput: Sendable {
  var draft = DraftBatch.Draft(text: 0..<0, record: 0)
  /// Bytes that had to be made: without escapes, or canonical.
  var made: [UInt8] = []
  /// What an offset in ``made`` is counted from; the made bytes will stand behind the buffer.
  var madeBase = 0
  /// Where the record stands, when that is not between its beginning and its end as they are told.
  var source: Range<Int>?

  /// The range of what was appended to ``made`` since it held `count` bytes.
  func range(madeSince count: Int) -> Range<Int> {
    madeBase + count..<madeBase + made.count
  }
}

extension DocumentID {
  /// Reads a positive decimal number; nil for anything else.
  init?(digits: UnsafeRawBufferPointer) {
    guard (1...19).contains(digits.count) else { return nil }
    var value: UInt64 = 0
    for digit in digits {
      guard digit >= 0x30, digit <= 0x39 else { return nil }
      value = value * 10 + UInt64(digit - 0x30)
    }
    guard value >= 1, let number = Int64(exactly: value) else { return nil }
    self.init(number)
  }
}
