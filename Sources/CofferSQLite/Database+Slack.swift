internal import CCofferSQLite

// Bytes of a page outside of its cells. SQLite never reads them, and secure_delete misses them: when rows move to another
// page to make room, their bytes stay in the old page until they are overwritten.

extension Database {
  /// How much is read at a time.
  private static let blockBytes: Int64 = 1 << 20

  /// Zeros, in the file itself, the space of these pages between the list of their cells and the cells.
  ///
  /// Bypasses journal and cache: no content of the database depends on these bytes, so that a kill at any point is safe.
  /// The caller holds the write lock, in WAL mode with an empty log, and has written nothing under it. If anything was
  /// cleared, it must change something after `releaseCache()` before it releases the lock: then every connection reads
  /// these pages again, and none writes its cached copies back.
  ///
  /// - Parameter pages: numbers from 1; those behind the last are ignored.
  /// - Returns: the number of pages that were cleared.
  package func clearSlack(ofPages pages: Range<Int64>) throws(SQLiteError) -> Int {
    let handle = try connection.open()
    guard let layout = try PageLayout(firstBytes(100), fileSize: fileSize()) else { return 0 }
    var block = [UInt8](repeating: 0, count: Int(max(Self.blockBytes, layout.pageSize)))
    let zeros = [UInt8](repeating: 0, count: Int(layout.pageSize))
    var cleared = 0
    var first = pages.lowerBound
    let end = min(pages.upperBound, layout.pageCount + 1)
    while first < end {
      let count = min(end - first, Int64(block.count) / layout.pageSize)
      let start = (first - 1) * layout.pageSize
      try connection.check(coffer_sqlite_read_file(handle, &block, Int32(count * layout.pageSize), start))
      for index in 0..<count where layout.mayBeTree(first + index) {
        let page = Int(index * layout.pageSize)..<Int((index + 1) * layout.pageSize)
        let slack = PageLayout.slack(of: block[page], isFirst: first + index == 1)
        guard let slack, block[slack].contains(where: { $0 != 0 }) else { continue }
        try connection.check(
          coffer_sqlite_write_file(handle, zeros, Int32(slack.count), start + Int64(slack.lowerBound)))
        cleared += 1
      }
      first += count
    }
    if cleared > 0 { try connection.check(coffer_sqlite_sync_file(handle)) }
    return cleared
  }

  /// Forgets the pages that this connection remembers, but for those in use.
  package func releaseCache() throws(SQLiteError) {
    try connection.check(sqlite3_db_release_memory(try connection.open()))
  }
}

/// Tells the pages that are nodes of a file's trees from others, by SQLite's file format (sqlite.org/fileformat2.html).
private struct PageLayout {
  let pageSize: Int64
  let pageCount: Int64
  /// The distance between pages that only say where others belong; 0 where there are none.
  private let mapDistance: Int64

  /// - Returns: nil if nodes can't be distinguished from other pages.
  init?(_ header: [UInt8], fileSize: Int64) {
    guard header.count == 100 else { return nil }
    func number(_ offset: Int) -> Int64 { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
    let stored = number(16) >> 16
    pageSize = stored == 1 ? 65536 : stored
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
    pageCount = fileSize / pageSize
    mapDistance = number(52) == 0 ? 0 : (pageSize - Int64(header[20])) / 5 + 1
    // Other pages begin with the number of a page: below 2^25, never with the mark of a node.
    guard pageCount < 1 << 25 else { return nil }
  }

  func mayBeTree(_ page: Int64) -> Bool {
    // SQLite's lock bytes are at 1 GiB. A pointer map page that would be there follows them.
    let lockPage = (1 << 30) / pageSize + 1
    guard page != lockPage else { return false }
    guard mapDistance > 0, page > 1 else { return true }
    return (page - 2) % mapDistance != 0 && !(page == lockPage + 1 && (lockPage - 2) % mapDistance == 0)
  }

  /// The slack of a node, in the indices of `page`; nil for an invalid node.
  static func slack(of page: ArraySlice<UInt8>, isFirst: Bool) -> Range<Int>? {
    let header = page.startIndex + (isFirst ? 100 : 0)
    func number(_ offset: Int) -> Int { Int(page[header + offset]) << 8 | Int(page[header + offset + 1]) }
    let headerCount: Int
    switch page[header] {
    case 2, 5: headerCount = 12
    case 10, 13: headerCount = 8
    default: return nil
    }
    let content = number(5) == 0 ? 65536 : number(5)
    let start = header + headerCount + 2 * number(3)
    let end = page.startIndex + content
    guard start < end, end <= page.endIndex else { return nil }
    return start..<end
  }
}
