internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A damaged store's rows, texts and chunks that the page trees no longer reach, found by searching every page.
///
/// The results are candidates, because a page can be outdated. Decryption verifies them.
final class StrayRows {
  private static let recordColumns = 12
  private static let attachmentColumns = 4
  /// The number of columns of a body, and of a chunk.
  private static let bodyColumns = 2
  private static let lowestChunk = AttachmentChunks.row(of: 0, in: 1)
  /// The maximum number of candidates per ID, because a hostile file can contain many. A sound file has one.
  fileprivate static let candidates = 8
  /// A size far above the longest row without its text, which includes head, title, lookup and numbers.
  private static let recordLimit = 4 * StoreFormat.maximumHead

  /// The number of pages to search per call.
  private static let pagesAtATime = 4096

  private let reader: LeafReader
  private var remainingPages: Range<Int>
  private let record = LeafRecord()
  private let body = LeafRecord()
  private var records: [Int64: [LeafReader.Place]] = [:]
  /// The places of bodies and chunks.
  private var bodies = StrayPlaces()
  private var attachments = StrayPlaces()

  /// Prepares a search, or returns `nil` if the page size is unknown.
  ///
  /// To find all rows, call ``searchNextPages(wanted:)`` until it returns `false`.
  init?(_ file: SalvageFile) throws(StoreError) {
    guard let reader = try file.leaves() else { return nil }
    self.reader = reader
    remainingPages = reader.pages
  }

  /// Searches the next part of the file.
  ///
  /// - Returns: `false` if every page was already searched.
  func searchNextPages(wanted: (Int64) -> Bool) -> Bool {
    guard !remainingPages.isEmpty else {
      bodies.arrange()
      attachments.arrange()
      return false
    }
    let pages = remainingPages.prefix(Self.pagesAtATime)
    remainingPages = remainingPages.dropFirst(pages.count)
    reader.visitRows(ofPages: pages) { number, columnCount, place in
      switch columnCount {
      case Self.recordColumns where wanted(number): Self.note(place, of: number, in: &records)
      case Self.bodyColumns where number >= Self.lowestChunk || wanted(number): bodies.append(place, of: number)
      case Self.attachmentColumns: attachments.append(place, of: number)
      default: break
      }
    }
    return true
  }

  private static func note(
    _ place: LeafReader.Place, of number: Int64, in places: inout [Int64: [LeafReader.Place]]
  ) {
    if places[number, default: []].count < candidates { places[number, default: []].append(place) }
  }

  /// The IDs with at least one candidate row.
  var numbers: Dictionary<Int64, [LeafReader.Place]>.Keys { records.keys }

  /// Calls `use` with each candidate row, latest first, until it returns `true`. A row is valid during its call.
  ///
  /// - Returns: Whether `use` returned `true`.
  func withRecords(_ number: Int64, within limits: RowLimits, _ use: (RecordRow) throws(StoreError) -> Bool)
    throws(StoreError) -> Bool
  {
    let places = records[number] ?? []
    let dated = places.compactMap { place in row(at: place, number, limits).map { ($0.fields.revision, place) } }
    for (_, place) in dated.sorted(by: { $0.0 > $1.0 }) {
      if let row = row(at: place, number, limits), try use(row) { return true }
    }
    return false
  }

  private func row(at place: LeafReader.Place, _ number: Int64, _ limits: RowLimits) -> RecordRow? {
    guard reader.read(place, into: record, limit: Self.recordLimit),
      record.columns.count == Self.recordColumns
    else { return nil }
    return record.columns.withUnsafeBufferPointer { try? RecordRow($0, id: number, within: limits) }
  }

  /// The numbers with at least one candidate for an attachment's row.
  var attachmentNumbers: [Int64] { attachments.numbers }

  /// Calls `use` with each candidate for an attachment's row, latest first, until it returns `true`.
  ///
  /// - Returns: Whether `use` returned `true`.
  func withAttachments(_ number: Int64, within limits: RowLimits, _ use: (AttachmentRow) throws(StoreError) -> Bool)
    throws(StoreError) -> Bool
  {
    let rows = attachments[number].compactMap { attachment(at: $0, number, limits) }
    for row in rows.sorted(by: { $0.revision > $1.revision }) where try use(row) { return true }
    return false
  }

  private func attachment(at place: LeafReader.Place, _ number: Int64, _ limits: RowLimits) -> AttachmentRow? {
    guard reader.read(place, into: record, limit: 2 * StoreFormat.maximumSealedAttachment),
      record.columns.count == Self.attachmentColumns, record.columns[1...2].allSatisfy({ $0.storageClass == .integer }),
      record.columns[3].storageClass == .blob
    else { return nil }
    let columns = record.columns
    return try? AttachmentRow(
      [.integer(number), .integer(columns[1].integer), .integer(columns[2].integer), .blob(Array(columns[3].bytes))],
      within: limits, below: StoreFormat.maximumNextAttachment)
  }

  /// Calls `use` with each candidate text or chunk until it returns `true`.
  func withBodies(_ number: Int64, _ use: (UnsafeRawBufferPointer) throws(StoreError) -> Bool) throws(StoreError)
    -> Bool
  {
    for place in bodies[number] where reader.read(place, into: body, limit: Int(StoreFormat.maximumValue)) {
      guard body.columns.count == Self.bodyColumns, body.columns[1].storageClass == .blob else { continue }
      if try use(body.columns[1].bytes) { return true }
    }
    return false
  }
}

/// The places of rows by their numbers, in 16 bytes each, because a file has a chunk for each 64 KiB.
private struct StrayPlaces {
  private var entries: [(number: Int64, place: LeafReader.Place)] = []
  private var limit = 1 << 16

  mutating func append(_ place: LeafReader.Place, of number: Int64) {
    entries.append((number, place))
    guard entries.count >= limit else { return }
    arrange()
    limit = 2 * max(entries.count, 1 << 16)
  }

  /// Sorts the entries, and drops excess entries. Call this method before reading.
  mutating func arrange() {
    entries.sort { ($0.number, $0.place) < ($1.number, $1.place) }
    var kept = 0
    for entry in entries {
      let first = kept - StrayRows.candidates
      guard first < 0 || entries[first].number != entry.number else { continue }
      entries[kept] = entry
      kept += 1
    }
    entries.removeLast(entries.count - kept)
  }

  subscript(number: Int64) -> [LeafReader.Place] {
    let start = entries.indices.partitionPoint { entries[$0].number < number }
    return entries[start...].prefix { $0.number == number }.map(\.place)
  }

  var numbers: [Int64] {
    var numbers: [Int64] = []
    for entry in entries where entry.number != numbers.last { numbers.append(entry.number) }
    return numbers
  }
}
