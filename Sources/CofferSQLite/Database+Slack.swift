internal import CCofferSQLite

// What stands in no cell of a page. SQLite never reads it, and secure_delete forgets it: where rows move to another page
// to make room, their bytes stay behind in the page they left, for as long as nothing else is written over them.

extension Database {
  /// How much is read at a time.
  private static let blockBytes: Int64 = 1 << 20

  /// Zeros, in the file itself, what lies in these pages between the list of their cells and the cells.
  ///
  /// Past journal and cache: no content of the database depends on these bytes, so it may be killed at any of them. The
  /// caller holds the write lock, in WAL mode with nothing in the log, and has written nothing under it. Before it
  /// ends it, where anything was cleared, it must change something after `releaseCache()`: then every connection reads
  /// these pages anew, and none writes what it remembers of them back.
  ///
  /// - Parameter pages: numbers from 1; those behind the last are passed over.
  /// - Returns: how many pages held something there.
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

/// Which pages of a file are nodes of its trees, by the file format's own rules (sqlite.org/fileformat2.html).
private struct PageLayout {
  let pageSize: Int64
  let pageCount: Int64
  /// The distance between pages that only say where others belong; 0 where there are none.
  private let mapDistance: Int64

  /// - Returns: nil where a node can't be told from other pages.
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
    // SQLite's locks stand at 1 GiB. A map that would stand there stands behind it.
    let lockPage = (1 << 30) / pageSize + 1
    guard page != lockPage else { return false }
    guard mapDistance > 0, page > 1 else { return true }
    return (page - 2) % mapDistance != 0 && !(page == lockPage + 1 && (lockPage - 2) % mapDistance == 0)
  }

  /// Where a node's slack lies within `page`'s own indices; nil for what is no sound node.
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
