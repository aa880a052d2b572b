internal import Coffer
internal import CofferDocuments
internal import CofferFormats
internal import CofferText

/// All inputs of one import in sequence, divided into portions with one transaction each.
///
/// A single object serves all transactions, because a portion continues at the end of the previous portion, even within
/// an input. The records of all inputs are numbered in sequence, because the store names a record by its number alone,
/// when the queue may already read a later input.
final class ImportQueue: DraftSource {
  /// The totals of one input.
  struct InputReport {
    let path: String
    let format: InputFormat
    let reading: ReadingReport
    /// The last number of a record in an earlier input, or 0.
    let lastRecordBefore: Int
    /// Finds the file of a record in a folder, or `nil` if the input isn't a folder.
    let files: ((Int) -> String?)?
  }

  private let paths: [String]
  private let open: (String) throws -> InputSource
  private var nextPath = 0
  private var current: (path: String, source: InputSource, lastRecordBefore: Int)?
  private var lastRecord = 0
  /// Documents read but not yet returned, from the last batch of an earlier portion.
  private var pending = DraftBatch()
  private var allowance = 0
  /// A closure that returns the collection for documents whose input doesn't name a collection, or `nil` for sources
  /// that belong to a single collection. The closure throws if several collections are possible.
  var defaultCollection: (() throws -> String)?
  /// The only collection that records may name, or `nil` to allow any collection.
  var onlyCollection: String?
  private(set) var finished: [InputReport] = []
  /// The names of the collections that the documents belong to, as bytes.
  var collections: Set<[UInt8]> = []

  init(paths: [String], open: @escaping (String) throws -> InputSource) {
    self.paths = paths
    self.open = open
  }

  /// Allows `count` more documents.
  ///
  /// - Returns: `false` if there are no more documents.
  func beginPortion(of count: Int) throws -> Bool {
    allowance = count
    if pending.isEmpty {
      pending.removeAll()
      _ = try readNext(into: &pending)
    }
    return !pending.isEmpty
  }

  func read(into batch: inout DraftBatch) throws -> Bool {
    guard allowance > 0 else { return false }
    if pending.isEmpty {
      guard try readNext(into: &batch) else { return false }
    } else {
      swap(&batch, &pending)
      pending.removeAll()
    }
    if batch.drafts.count > allowance {
      pending = batch
      pending.drafts.removeFirst(allowance)
      batch.drafts.removeLast(batch.drafts.count - allowance)
    }
    allowance -= batch.drafts.count
    try requireOnlyCollection(of: batch)
    try nameCollections(in: &batch)
    noteCollections(of: batch)
    return true
  }

  /// The collection that the portion's first document names, or `nil` if it doesn't name a collection.
  var firstCollection: String? {
    pending.drafts.first?.collection.map { String(decoding: pending.bytes[$0], as: UTF8.self) }
  }

  private func requireOnlyCollection(of batch: DraftBatch) throws {
    guard let onlyCollection else { return }
    for draft in batch.drafts {
      guard let name = draft.collection, !batch.bytes[name].elementsEqual(onlyCollection.utf8) else { continue }
      let names = listed([String(decoding: batch.bytes[name], as: UTF8.self)])
      throw Failure.usage(
        "\(reports.words(forRecord: draft.record)) names the collection \(names), and --sync brings one up to date: "
          + onlyCollection,
        hint: "-c \(Shell.quoted(onlyCollection)) takes all records for it; otherwise import a collection at a time")
    }
  }

  /// The totals of all inputs read so far, including the current input.
  var reports: [InputReport] {
    finished + (current.map { [InputReport($0)] } ?? [])
  }

  /// The highest ID that the inputs ever assigned, if they record it.
  var highestID: Int64? { reports.compactMap(\.reading.highestID).max() }

  private func nameCollections(in batch: inout DraftBatch) throws {
    guard let defaultCollection, batch.drafts.contains(where: { $0.collection == nil }) else { return }
    let name = try defaultCollection().utf8
    let range = batch.bytes.count..<batch.bytes.count + name.count
    batch.bytes += name
    for index in batch.drafts.indices where batch.drafts[index].collection == nil {
      batch.drafts[index].collection = range
    }
  }

  private func noteCollections(of batch: DraftBatch) {
    var last: Range<Int>?
    for draft in batch.drafts {
      guard let name = draft.collection, name != last else { continue }
      if last.map({ batch.bytes[$0] == batch.bytes[name] }) != true { collections.insert(Array(batch.bytes[name])) }
      last = name
    }
  }

  private func readNext(into batch: inout DraftBatch) throws -> Bool {
    while true {
      if current == nil {
        guard nextPath < paths.count else { return false }
        current = (paths[nextPath], try open(paths[nextPath]), lastRecord)
        nextPath += 1
      }
      // This check defers later interrupts, because a step may create and remove a private copy.
      try Interrupt.check()
      // An input without such records leaves the closure unchanged.
      batch.readParts = nil
      let hasRead = Result { try current!.source.read(into: &batch) }
      // An interrupt ends the input early, so its documents and its error don't count.
      try Interrupt.check()
      if try hasRead.get() {
        number(&batch)
        return true
      }
      if let current { finished.append(InputReport(current)) }
      current = nil
    }
  }

  /// Numbers the current input's records after those of the earlier inputs.
  private func number(_ batch: inout DraftBatch) {
    guard let (path, _, before) = current else { return }
    for index in batch.drafts.indices { batch.drafts[index].record += before }
    lastRecord = batch.drafts.last?.record ?? lastRecord
    guard let readParts = batch.readParts else { return }
    batch.readParts = { bytes, number in
      do {
        var parts = try readParts(bytes, number - before)
        for index in parts.drafts.indices { parts.drafts[index].record = number }
        return parts
      } catch let error as FormatError where error.path == nil {
        let failure = Failure(error)
        throw Failure(
          failure.status, kind: failure.kind, "\(InputFile.described(path)): \(failure.message)", hint: failure.hint)
      }
    }
  }
}

extension [ImportQueue.InputReport] {
  /// Returns a record's input, and its number in that input.
  func place(ofRecord number: Int) -> (path: String, record: Int)? {
    last(where: { $0.lastRecordBefore < number }).map { ($0.path, number - $0.lastRecordBefore) }
  }

  /// Returns a record's place, for messages.
  func words(forRecord number: Int) -> String {
    guard let input = last(where: { $0.lastRecordBefore < number }) else { return "record \(number)" }
    let (path, record) = (input.path, number - input.lastRecordBefore)
    if let file = input.files?(record) { return file }
    return "\(InputFile.described(path)): record \(record)"
  }
}

extension ImportQueue.InputReport {
  fileprivate init(_ input: (path: String, source: InputSource, lastRecordBefore: Int)) {
    self.init(
      path: input.path, format: input.source.format, reading: input.source.report,
      lastRecordBefore: input.lastRecordBefore, files: input.source.files(in: input.path))
  }

  var json: JSONValue {
    .object(present: [
      ("path", .string(path)), ("format", .string(format.rawValue)),
      ("encoding", reading.encoding.map { .string($0.rawValue) } ?? .null),
      ("delimiter", delimiter.map { .string($0) }), ("documents", .integer(reading.documents)),
      ("values", reading.values > 0 ? .integer(reading.values) : nil),
      ("attachments", reading.attachments > 0 ? .integer(reading.attachments) : nil),
      (
        "attachments_without_content",
        reading.attachmentsWithoutContent > 0 ? .integer(reading.attachmentsWithoutContent) : nil
      ),
      (
        "columns",
        reading.columns.isEmpty
          ? nil
          : .array(reading.columns.map { .object([("name", .string($0.name)), ("use", .string($0.use.rawValue))]) })
      ),
      (
        "passed_over",
        passedOver.isEmpty ? nil : .object(passedOver.map { (name: $0.kind, value: .integer($0.count)) })
      ),
    ])
  }

  var words: String {
    let encoding = reading.encoding.map { ", \($0.rawValue)" } ?? ""
    let usual = format == .tsv ? "\t" : ","
    var kind = format.rawValue
    if let delimiter, delimiter != usual { kind += " separated by \(delimiter == "\t" ? "tab" : delimiter)" }
    return "\(path): \(counted(reading.documents, "document")) (\(kind)\(encoding))"
  }

  /// A note about columns and members with a use that differs from their name, or `nil` if there aren't any.
  var columnNote: String? {
    func names(_ use: ColumnUse.Use) -> [String] { reading.columns.filter { $0.use == use }.map(\.name) }
    let renamed = reading.columns.filter {
      ![.attribute, .value, .dropped, .missing].contains($0.use) && $0.name.lowercased() != $0.use.rawValue
    }
    var parts = renamed.map { "\($0.use.rawValue) from \(listed([$0.name]))" }
    if reading.values > 0 {
      parts.append("records without a text are values: \(reading.values) of \(reading.documents)")
    }
    if !names(.attribute).isEmpty { parts.append("attributes: \(listed(names(.attribute)))") }
    if !names(.dropped).isEmpty {
      let parents = names(.dropped).contains { $0.lowercased() == "parent" } ? ", no parents" : ""
      parts.append("new ids\(parents) (--keep-ids keeps those of the file)")
    }
    if !names(.missing).isEmpty { parts.append("no record has \(listed(names(.missing)))") }
    if reading.columns.count == 1, reading.columns[0].name.contains(where: { ";\t|".contains($0) }) {
      parts.append("one field in each row (--map delimiter=CHAR says what separates fields)")
    }
    return parts.isEmpty ? nil : "\(path): \(parts.joined(separator: "; "))"
  }

  /// A note about attachments that the input lists without their contents, or `nil` if there aren't any.
  var attachmentNote: String? {
    guard reading.attachmentsWithoutContent > 0 else { return nil }
    let count = counted(reading.attachmentsWithoutContent, "attachment")
    let option = format == .text ? "" : " (--attachments DIR reads the folder of 'export --attachments')"
    return "\(path): left out without their contents: \(count)\(option)"
  }

  /// The use of each column or member, or `nil` if there aren't any.
  var columnDetails: String? {
    guard !reading.columns.isEmpty else { return nil }
    return "\(path): " + reading.columns.map { "\(listed([$0.name])): \($0.use.rawValue)" }.joined(separator: "; ")
  }

  /// A note about an input without records, because an error in the program before a pipe may be the reason. Otherwise,
  /// `nil`.
  var emptyNote: String? {
    reading.documents + reading.rejected + reading.skippedEmpty == 0 ? "\(path): no documents in it" : nil
  }

  /// A note about directory entries that weren't read, or `nil` if there aren't any.
  var passedOverNote: String? {
    let parts = passedOver.map { counted($0.count, $0.words) + $0.option }
    return parts.isEmpty ? nil : "\(path): passed over: \(parts.joined(separator: ", "))"
  }

  private var passedOver: [(kind: String, count: Int, words: String, option: String)] {
    let all = reading.passedOver
    return [
      ("links", all.links, "symbolic link", " (cp -RL makes copies of what they name)"),
      ("hidden", all.hidden, "hidden name", ""),
      ("special", all.special, "pipe or other special file", ""),
      ("databases", all.databases, "open store file", ""),
    ].filter { $0.1 > 0 }
  }

  private var delimiter: String? { reading.delimiter.map { String(UnicodeScalar($0)) } }
}
