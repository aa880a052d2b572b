internal import CofferDocuments
internal import CofferText

/// Cuts an input into documents: decoding, batches, places of errors and what to do about them, for every grammar.
struct RecordReader<Parser: RecordParser>: Sendable {
  /// Documents in a batch; small ones end it before its bytes do.
  private static var batchCount: Int { 1024 }
  /// Bytes made for a batch, behind those it has from its input.
  private static var madeByteCount: Int { 1 << 20 }

  private(set) var parser: Parser
  private(set) var report = ReadingReport()
  private let options: ReadingOptions
  private let emptyText: EmptyTextMode
  private let maximum: Int
  private var input: DecodedReader
  private var output = RecordOutput()
  /// Records seen so far, bad ones included.
  private var recordCount = 0
  /// In a record too long to be kept, of which the rest is to be left out.
  private var isInsideRejected = false
  /// What reading ends with, once the documents before it are handed on.
  private var failure: FormatError?

  init(
    _ source: any ByteSource, options: ReadingOptions, parser: Parser, capacity: Int = DecodedReader.usualCapacity,
    isText: Bool = true
  ) {
    self.parser = parser
    self.options = options
    emptyText = options.emptyText ?? Parser.usualEmptyText
    maximum = options.maximumRecordByteCount ?? Parser.usualMaximum
    input = DecodedReader(
      source, encoding: options.encoding, onError: options.onError == .fail ? .fail : .replace,
      maximum: maximum, capacity: capacity,
      keepsInput: options.onError == .skip && Parser.keepsRejectedBytes, isText: isText)
  }

  /// Fills an emptied batch; false when there are no more documents.
  mutating func read(into batch: inout DraftBatch) throws(FormatError) -> Bool {
    batch.removeAll()
    if let failure { throw failure }
    var needsMore = false
    while true {
      let hasRoom = needsMore || input.isLow ? input.fill() : true
      report.encoding = input.decoder.encoding
      let consumed = try parseBuffer(into: &batch)
      if !batch.isEmpty {
        if Parser.makesEverything {
          input.discard(to: consumed)
          swap(&batch.bytes, &output.made)
          batch.moveRanges(by: 0, madeBase: output.madeBase, newMadeBase: 0)
        } else {
          let distance = input.handOver(into: &batch.bytes, consumed: consumed)
          batch.moveRanges(by: distance, madeBase: output.madeBase, newMadeBase: batch.bytes.count)
          batch.bytes += output.made
        }
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
    if isInsideRejected { position = skipRejected() }
    let isFinal = input.isAtEnd
    input.bytes.withUnsafeBytes { buffer in
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<input.end])
      do throws(FormatError) {
        while !isFull(batch), position < bytes.count || isFinal && !parser.mayEnd {
          let made = output.made.count
          output.draft = DraftBatch.Draft(text: 0..<0, record: recordCount + 1)
          output.source = nil
          let outcome = parser.parse(bytes, from: position, isFinal: isFinal, into: &output)
          guard let end = try take(outcome, from: position, madeBefore: made, batch: &batch) else { break }
          position = end
        }
      } catch {
        failure = error
      }
    }
    if let failure, batch.isEmpty { throw failure }
    return position
  }

  /// What is made of records may be longer than they are.
  private func isFull(_ batch: DraftBatch) -> Bool {
    batch.drafts.count >= Self.batchCount || output.made.count >= Self.madeByteCount
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
      let range = output.source ?? start..<end
      if let fault = undecodable(in: range) ?? refused(range) {
        try reject(fault, range, madeBefore: madeBefore)
      } else if output.draft.text.isEmpty, emptyText != .store {
        if emptyText == .fail {
          throw located(RecordFault(code: .emptyText, position: range.lowerBound, reason: "a document without text"))
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
      let range = output.source ?? start..<end
      try reject(undecodable(in: range) ?? fault, range, madeBefore: madeBefore)
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

  private func refused(_ range: Range<Int>) -> RecordFault? {
    if range.count > maximum {
      return RecordFault(code: .tooLarge, position: range.lowerBound, reason: "a record longer than \(maximum) bytes")
    }
    guard let (code, reason) = DraftLimits.refusal(of: output.draft, options) else { return nil }
    return RecordFault(code: code, position: range.lowerBound, reason: reason)
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
    options.onRejection?(Rejection(error: error, record: recordCount + 1, headBytes: report.headBytes, bytes: bytes))
  }

  /// The record at the front fills the largest buffer there may be.
  private mutating func rejectOversized() throws(FormatError) {
    let error = located(
      RecordFault(
        code: .tooLarge, position: input.start, reason: "a record longer than \(maximum) bytes"))
    guard options.onError == .skip else { throw error }
    tellRejection(error, bytes: [])
    recordCount += 1
    isInsideRejected = true
  }

  /// - Returns: where what follows the rejected record begins, or the end of the buffer.
  private mutating func skipRejected() -> Int {
    input.bytes.withUnsafeBytes { buffer in
      let (end, isDone) = parser.skipRest(
        UnsafeRawBufferPointer(rebasing: buffer[..<input.end]), from: input.start)
      isInsideRejected = !isDone
      return end
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
    for index in drafts.indices { drafts[index].mapRanges(moved) }
  }
}

extension DraftBatch.Draft {
  mutating func mapRanges(_ moved: (Range<Int>) -> Range<Int>) {
    text = moved(text)
    title = title.map(moved)
    key = key.map(moved)
    collection = collection.map(moved)
    attributes = attributes.map(moved)
  }
}
