internal import CofferRecords
internal import CofferSQLite

/// Rows and texts of a damaged store that no tree of pages leads to any more, found by searching every page.
///
/// Its results are only candidates: a page may be an old one. The seals decide.
final class StrayRows {
  private static let recordColumns = 12
  private static let bodyColumns = 2
  /// The most copies of one id that are tried; a sound file has one, but a hostile file may have any number.
  private static let candidates = 8
  /// Far above the longest row without its text: head, title, lookup and numbers.
  private static let recordLimit = 4 * StoreFormat.maximumHead

  /// Pages searched per call.
  private static let pagesAtATime = 4096

  private let reader: LeafReader
  private var pagesAhead: Range<Int>
  private let record = LeafRecord()
  private let body = LeafRecord()
  private var records: [Int64: [LeafReader.Place]] = [:]
  private var bodies: [Int64: [LeafReader.Place]] = [:]

  /// Finds nothing before ``lookAtMorePages(wanted:)`` has reached its end.
  ///
  /// - Returns: nil if the file's own header is no help.
  init?(_ file: SalvageFile) throws(StoreError) {
    guard let reader = try file.leaves() else { return nil }
    self.reader = reader
    pagesAhead = reader.pages
  }

  /// Reads the file once, a part at a time.
  ///
  /// - Returns: false if no page was left.
  func lookAtMorePages(wanted: (Int64) -> Bool) -> Bool {
    guard !pagesAhead.isEmpty else { return false }
    let pages = pagesAhead.prefix(Self.pagesAtATime)
    pagesAhead = pagesAhead.dropFirst(pages.count)
    reader.visitRows(ofPages: pages) { number, columnCount, place in
      guard columnCount == Self.recordColumns || columnCount == Self.bodyColumns, wanted(number) else { return }
      if columnCount == Self.recordColumns {
        Self.note(place, of: number, in: &records)
      } else {
        Self.note(place, of: number, in: &bodies)
      }
    }
    return true
  }

  private static func note(
    _ place: LeafReader.Place, of number: Int64, in places: inout [Int64: [LeafReader.Place]]
  ) {
    if places[number, default: []].count < candidates { places[number, default: []].append(place) }
  }

  /// The ids for which a row was found.
  var numbers: Dictionary<Int64, [LeafReader.Place]>.Keys { records.keys }

  /// Calls `use` with each candidate row of that id, the latest first, until it returns true; each is valid for one
  /// call.
  ///
  /// - Returns: whether `use` returned true.
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

  /// Calls `use` with each candidate text of that id, likewise.
  func withBodies(_ number: Int64, _ use: (UnsafeRawBufferPointer) throws(StoreError) -> Bool) throws(StoreError)
    -> Bool
  {
    for place in bodies[number] ?? [] where reader.read(place, into: body, limit: Int(StoreFormat.maximumValue)) {
      guard body.columns.count == Self.bodyColumns, body.columns[1].storageClass == .blob else { continue }
      if try use(body.columns[1].bytes) { return true }
    }
    return false
  }
}
