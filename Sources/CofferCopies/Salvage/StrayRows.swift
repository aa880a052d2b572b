internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite

/// A damaged store's rows and texts that the page trees no longer reach, found by searching every page.
///
/// The results are candidates, because a page can be outdated. Decryption verifies them.
final class StrayRows {
  private static let recordColumns = 12
  private static let bodyColumns = 2
  /// The maximum number of candidates per ID, because a hostile file can contain many. A sound file has one.
  private static let candidates = 8
  /// A size far above the longest row without its text, which includes head, title, lookup and numbers.
  private static let recordLimit = 4 * StoreFormat.maximumHead

  /// The number of pages to search per call.
  private static let pagesAtATime = 4096

  private let reader: LeafReader
  private var remainingPages: Range<Int>
  private let record = LeafRecord()
  private let body = LeafRecord()
  private var records: [Int64: [LeafReader.Place]] = [:]
  private var bodies: [Int64: [LeafReader.Place]] = [:]

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
    guard !remainingPages.isEmpty else { return false }
    let pages = remainingPages.prefix(Self.pagesAtATime)
    remainingPages = remainingPages.dropFirst(pages.count)
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

  /// Calls `use` with each candidate text until it returns `true`.
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
