internal import CofferDocuments
internal import CofferText

/// Cuts an input into documents: decoding, batches, places of errors and what to do about them, for every grammar.
struct RecordReader<Parser: RecordParser>: Sendable {
  /// Documents in a batch; small ones end it before its bytes do.
  private static var batchCount: Int { 1024 }

  private(set) var parser: Parser
  private(set) var report = ReadingReport()
  private let options: ReadingOptions
  private let emptyText: EmptyTextMode
  private let maximum: Int
  private var input: DecodedReader
  private var output = RecordOutput()
  /// Records seen so far, bad ones included.
  private var recordCount = 0
  /// In a line too long to be kept, of which the rest is to be left out.
  private var isInsideRejectedLine = false
  private var hasBegun = false

  init(
    _ source: any ByteSource, options: ReadingOptions, parser: Parser, capacity: Int = DecodedReader.usualCapacity
  ) {
    self.parser = parser
    self.options = options
    emptyText = options.emptyText ?? Parser.usualEmptyText
    maximum = options.maximumRecordByteCount ?? Parser.usualMaximum
    input = DecodedReader(
      source, encoding: options.encoding, onError: options.onError == .fail ? .fail : .replace,
      maximum: maximum, capacity: capacity,
      keepsInput: options.onError == .skip)
  }

  /// Fills an emptied batch; false when there are no more documents.
  mutating func read(into batch: inout DraftBatch) throws(FormatError) -> Bool {
    batch.removeAll()
    var needsMore = false
    while true {
      let hasRoom = needsMore || input.isLow ? input.fill() : true
      report.encoding = input.decoder.encoding
      let consumed = try parseBuffer(into: &batch)
      if !batch.isEmpty {
        let distance = input.handOver(into: &batch.bytes, consumed: consumed)
        batch.moveRanges(by: distance, madeBase: output.madeBase, newMadeBase: batch.bytes.count)
        batch.bytes += output.made
        report.documents += batch.drafts.count
        return true
      }
      let hasMoved = consumed > input.start
      input.discard(to: consumed)
      if input.isExhausted { return false }
      if let failure = input.failure { throw located(failure, record: recordCount + 1) }
      if !hasRoom, !hasMoved { try rejectOversized() }
      needsMore = true
    }
  }

  /// Parses what the buffer holds, until the batch is full.
  ///
  /// - Returns: up to where the buffer is done with.
  private mutating func parseBuffer(into batch: inout DraftBatch) throws(FormatError) -> Int {
    output.made.removeAll(keepingCapacity: true)
    output.madeBase = input.end
    var position = input.start
    if isInsideRejectedLine { position = skipRejectedLine() }
    let isFinal = input.isAtEnd
    var failure: FormatError?
    input.bytes.withUnsafeBytes { buffer in
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<input.end])
      do throws(FormatError) {
        while batch.drafts.count < Self.batchCount, position < bytes.count || isEmptyRecord(isFinal) {
          let made = output.made.count
          output.draft = DraftBatch.Draft(text: 0..<0, record: recordCount + 1)
          let outcome = parser.parse(bytes, from: position, isFinal: isFinal, into: &output)
          guard let end = try take(outcome, from: position, madeBefore: made, batch: &batch) else { break }
          hasBegun = true
          position = end
        }
      } catch {
        failure = error
      }
    }
    // Documents before the fault are handed on first; asked again, the parser will find the same fault.
    if let failure, batch.isEmpty { throw failure }
    return position
  }

  private func isEmptyRecord(_ isFinal: Bool) -> Bool {
    Parser.emptyInputIsRecord && isFinal && !hasBegun
  }

  /// Does what an outcome asks for.
  ///
  /// - Returns: where the next record begins, or nil when this one needs more input.
  private mutating func take(
    _ outcome: RecordOutcome, from start: Int, madeBefore: Int, batch: inout DraftBatch
  ) throws(FormatError) -> Int? {
    switch outcome {
    case .needsMore:
      return nil
    case .record(let end):
      if let fault = undecodable(in: start..<end) ?? oversized(start..<end) {
        try reject(fault, start..<end, madeBefore: madeBefore)
      } else if output.draft.text.isEmpty, emptyText != .store {
        if emptyText == .fail {
          throw located(RecordFault(code: .emptyText, position: start, reason: "a document without text"))
        }
        report.skippedEmpty += 1
        output.made.removeLast(output.made.count - madeBefore)
      } else {
        batch.drafts.append(output.draft)
      }
      recordCount += 1
      return end
    case .nothing(let end):
      return end
    case .header(let end):
      if let fault = undecodable(in: start..<end) { throw located(fault) }
      report.headBytes = input.inputHead(before: end)
      return end
    case .bad(let fault, let end):
      try reject(undecodable(in: start..<end) ?? fault, start..<end, madeBefore: madeBefore)
      recordCount += 1
      return end
    case .badHeader(let fault):
      throw located(fault)
    case .failure(let error):
      throw located(error, record: nil)
    }
  }

  /// The first byte of a record that is no text, when such records are to be left out.
  private func undecodable(in range: Range<Int>) -> RecordFault? {
    guard options.onError == .skip, let first = input.firstReplacement(from: range.lowerBound),
      first.position < range.upperBound
    else { return nil }
    return RecordFault(code: .undecodable, position: first.position, reason: first.reason)
  }

  private func oversized(_ range: Range<Int>) -> RecordFault? {
    if range.count > maximum {
      return RecordFault(code: .tooLarge, position: range.lowerBound, reason: "a record longer than \(maximum) bytes")
    }
    let limit = ReadingOptions.maximumTextByteCount
    if output.draft.text.count > limit {
      return RecordFault(code: .tooLarge, position: range.lowerBound, reason: "a text longer than \(limit) bytes")
    }
    return nil
  }

  private mutating func reject(_ fault: RecordFault, _ range: Range<Int>, madeBefore: Int) throws(FormatError) {
    let error = located(fault)
    guard options.onError == .skip else { throw error }
    output.made.removeLast(output.made.count - madeBefore)
    tellRejection(error, bytes: input.input(of: range))
  }

  private mutating func tellRejection(_ error: FormatError, bytes: [UInt8]) {
    if report.headBytes.isEmpty { report.headBytes = input.decoder.markBytes }
    report.rejected += 1
    options.onRejection?(Rejection(error: error, bytes: bytes))
  }

  /// The record at the front fills the largest buffer there may be.
  private mutating func rejectOversized() throws(FormatError) {
    let error = located(
      RecordFault(
        code: .tooLarge, position: input.start, reason: "a record longer than \(maximum) bytes"))
    guard options.onError == .skip else { throw error }
    tellRejection(error, bytes: [])
    recordCount += 1
    isInsideRejectedLine = true
  }

  /// - Returns: where the line after the rejected one begins, or the end of the buffer.
  private mutating func skipRejectedLine() -> Int {
    input.bytes.withUnsafeBytes { buffer in
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<input.end])
      guard let lineEnd = bytes.firstOffset(of: Byte.lineFeed, from: input.start) else { return bytes.count }
      isInsideRejectedLine = false
      return lineEnd + 1
    }
  }

  private mutating func located(_ fault: RecordFault) -> FormatError {
    var error = FormatError(
      fault.code, fault.reason, at: input.location(of: fault.position, record: recordCount + 1))
    error.path = options.path
    return error
  }

  private func located(_ failure: FormatError, record: Int?) -> FormatError {
    var error = failure
    if error.location != nil { error.location?.record = record }
    error.path = options.path
    return error
  }
}

extension TextDecoder {
  /// The byte order mark that the input began with.
  fileprivate var markBytes: [UInt8] {
    markWasFound ? encoding?.byteOrderMark ?? [] : []
  }
}

extension DraftBatch {
  /// Makes the ranges point into ``bytes`` that are part of a parsed buffer, with the made bytes behind them.
  fileprivate mutating func moveRanges(by distance: Int, madeBase: Int, newMadeBase: Int) {
    if distance == 0, madeBase == newMadeBase { return }
    func moved(_ range: Range<Int>) -> Range<Int> {
      if range.isEmpty { return 0..<0 }
      let difference = range.lowerBound >= madeBase ? newMadeBase - madeBase : -distance
      return range.lowerBound + difference..<range.upperBound + difference
    }
    for index in drafts.indices {
      drafts[index].text = moved(drafts[index].text)
      drafts[index].title = drafts[index].title.map(moved)
      drafts[index].key = drafts[index].key.map(moved)
      drafts[index].collection = drafts[index].collection.map(moved)
      drafts[index].attributes = drafts[index].attributes.map(moved)
    }
  }
}
