internal import CofferDocuments
internal import CofferFormats
internal import CofferText
internal import Foundation

/// A document made of fuzzed bytes.
private struct Sample {
  let header: DocumentHeader
  let text: [UInt8]

  private static let dates: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

  init(_ slices: inout Slices, id: Int64, position: UInt8) {
    let flags = slices.byte()
    func has(_ bit: UInt8) -> Bool { flags & 1 << bit != 0 }
    let title = has(0) ? slices.text() : nil
    var key: DocumentKey?
    if has(1) {
      let bytes = has(2) ? slices.part() : Array(slices.text().utf8)
      if (1...DocumentKey.maximumByteCount).contains(bytes.count) { key = DocumentKey(bytes: bytes) }
    }
    let attributes = has(3) ? (try? Attributes(json: slices.part())) ?? Attributes() : Attributes()
    let created = has(4) ? slices.number() : 0
    let modified = has(5) ? slices.number() : 1
    func date(_ number: Int64) -> Timestamp {
      Timestamp(millisecondsSince1970: min(max(number, Self.dates.lowerBound), Self.dates.upperBound))
    }
    text = Array(slices.text().utf8)
    header = DocumentHeader(
      id: DocumentID(id), collection: CollectionID(1), position: DocumentPosition([position])!, parent: nil,
      title: title, key: key,
      attributes: attributes, created: date(created), modified: date(modified), byteCount: text.count, isJSON: has(6))
  }

  /// At most 40 documents with different ids, not sorted by id.
  static func list(_ slices: inout Slices) -> [Sample] {
    var samples: [Sample] = []
    while !slices.isEmpty, samples.count < 40 {
      let number = Int64(samples.count)
      samples.append(Sample(&slices, id: (number ^ 5) * 1_000_003 + 1, position: UInt8(truncatingIfNeeded: number)))
    }
    return samples
  }
}

/// The parts of a document that a format preserves.
private struct Parts: OptionSet {
  let rawValue: Int
  static let key = Parts(rawValue: 1)
  static let attributesAndDates = Parts(rawValue: 2)
  static let collection = Parts(rawValue: 4)
  /// The format may drop a title that is derived from the text.
  static let derivedTitle = Parts(rawValue: 8)
  static let all: Parts = [.key, .attributesAndDates, .collection]
}

/// Writes documents to each stream format and reads them back.
func writeAndReadBack(_ input: [UInt8]) {
  var slices = Slices(input)
  let format = slices.byte()
  let name = slices.name()
  let samples = Sample.list(&slices)
  let encoding = [.utf8, .utf16LittleEndian, .utf16BigEndian][Int(format >> 3) % 3] as TextEncoding
  let writing = WritingOptions(encoding: encoding, byteOrderMark: format & 0x80 != 0)
  // Without a mark U+0000 is text only where the encoding is known.
  let reading = ReadingOptions(encoding: .fixed(encoding), keepsIDs: true)
  switch format % 5 {
  case 0:
    guard let sink = written(JSONSink(MemoryByteSink()), samples, name) else { return }
    expect(samples, JSONSource(source(sink.sink), options: ReadingOptions(keepsIDs: true)), .all, name)
  case 1:
    guard let sink = written(NDJSONSink(MemoryByteSink()), samples, name) else { return }
    expect(samples, NDJSONSource(source(sink.sink), options: ReadingOptions(keepsIDs: true)), .all, name)
  case 2, 3:
    let dialect = format % 5 == 2 ? DelimitedDialect.csv : .tsv
    guard let sink = written(DelimitedSink(MemoryByteSink(), dialect: dialect, options: writing), samples, name) else {
      precondition(samples.contains { $0.header.key.map { $0.text == nil } ?? false }, "a table was refused")
      return
    }
    expect(samples, DelimitedSource(source(sink.sink), dialect: dialect, options: reading), .key, name)
  default:
    guard let sink = written(PropertyListSink(MemoryByteSink()), samples, name) else { return }
    let list = PropertyListSource(source(sink.sink), options: ReadingOptions(keepsIDs: true))
    expect(samples, list, .derivedTitle, name)
  }
}

/// Writes documents to each format that needs a file system, and reads them back.
func writeFilesAndReadBack(_ input: [UInt8]) {
  var slices = Slices(input)
  let format = slices.byte()
  let name = slices.name()
  let samples = Sample.list(&slices)
  let path = "\(directory)/output"
  defer { try? FileManager.default.removeItem(atPath: path) }
  if format % 2 == 0 {
    write([], to: path)
    guard let sink = try? SQLiteSink(path: path), written(sink, samples, name) != nil else {
      preconditionFailure("a database was refused")
    }
    guard !samples.isEmpty else { return }
    let options = ReadingOptions(keepsIDs: true)
    expect(samples, SQLiteSource(path: path, options: options), [.key, .attributesAndDates], name)
  } else {
    let encoding = [.utf8, .utf16LittleEndian, .utf16BigEndian][Int(format >> 3) % 3] as TextEncoding
    let mark = encoding != .utf8 || format & 0x80 != 0
    // Such a file begins with FF FE 00 00, UTF-32's mark, which is refused by its name.
    if encoding == .utf16LittleEndian, samples.contains(where: { $0.text.first == 0 }) { return }
    let sink = TextDirectorySink(path: path, options: WritingOptions(encoding: encoding, byteOrderMark: mark))
    guard written(sink, samples, name) != nil, let source = try? DirectorySource(path: path) else {
      preconditionFailure("a directory was refused")
    }
    let names = try? FileManager.default.contentsOfDirectory(atPath: path)
    precondition(names?.count == samples.count + 1, "files are missing, or too many")
    expect(samples, source, .key, name)
  }
}

private func source(_ sink: MemoryByteSink) -> MemoryByteSource {
  MemoryByteSource(sink.bytes, chunk: 1009)
}

/// The sink after all documents; nil if it refuses one, which only a table may.
private func written<Sink: DocumentSink>(_ sink: Sink, _ samples: [Sample], _ name: String) -> Sink? {
  var sink = sink
  do {
    try sink.begin()
    for sample in samples {
      try sample.text.withUnsafeBytes {
        try sink.write(OpenedDocument(header: sample.header, utf8: $0), inCollection: name)
      }
    }
    try sink.finish()
    return sink
  } catch {
    precondition((error as? FormatError)?.code == .unencodable, "not written: \(error)")
    return nil
  }
}

private func expect(_ samples: [Sample], _ source: some DraftSource, _ parts: Parts, _ name: String) {
  var source = source
  var batch = DraftBatch()
  var rest = samples[...]
  do {
    while try source.read(into: &batch) {
      for draft in batch.drafts {
        guard let sample = rest.popFirst() else { preconditionFailure("more came back than was written") }
        compare(sample, draft, batch.bytes, parts, name)
      }
    }
  } catch {
    preconditionFailure("not read back: \(error)")
  }
  precondition(rest.isEmpty, "less came back than was written")
}

private func compare(_ sample: Sample, _ draft: DraftBatch.Draft, _ bytes: [UInt8], _ parts: Parts, _ name: String) {
  func part(_ range: Range<Int>?) -> [UInt8]? { range.map { Array(bytes[$0]) } }
  let header = sample.header
  precondition(draft.id == header.id, "another id")
  precondition(part(draft.text) ?? [] == sample.text, "another text")
  let title = header.title.map { Array($0.utf8) }
  if part(draft.title) != title {
    let derived = sample.text.withUnsafeBytes { TitleRule.derivedTitle(fromUTF8: $0) }
    precondition(
      parts.contains(.derivedTitle) && draft.title == nil && derived.map { Array($0.utf8) } == title, "another title")
  }
  if parts.contains(.key) { precondition(part(draft.key) == header.key?.bytes, "another key") }
  if parts.contains(.attributesAndDates) {
    precondition(part(draft.attributes) ?? [] == header.attributes.canonicalJSON, "other attributes")
    precondition(draft.created == header.created && draft.modified == header.modified, "other dates")
  }
  if parts.contains(.collection) {
    precondition(part(draft.collection) == Array(name.utf8), "another collection")
    precondition(draft.isJSON == header.isJSON, "another kind")
  }
}
