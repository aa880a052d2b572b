internal import CCofferSQLite

// Slack is the unused space between a page's cell pointers and cells. SQLite never reads it, and secure_delete doesn't
// clear it. When rows move to another page to free space, their bytes remain in the old page until they're overwritten.

extension Database {
  /// The number of bytes to read at a time.
  private static let blockBytes: Int64 = 1 << 20

  /// Returns whether slack can be cleared in a file with so many pages.
  ///
  /// Pages outside of trees begin with a page number. Below 2^25, its first byte can't be a tree page's type.
  package static func canClearSlack(pageCount: Int64) -> Bool { pageCount < 1 << 25 }

  /// Overwrites the slack of these pages with zeros, directly in the file.
  ///
  /// Bypasses the journal and cache. The database's contents don't depend on these bytes, so the process can safely be
  /// killed at any point. The caller must hold the write lock without having written yet. In WAL mode, the log must
  /// also be empty. If pages were cleared, the caller must call `releaseCache()` and then change the database before it
  /// releases the lock. All connections then reload these pages instead of writing their cached copies.
  ///
  /// - Parameter pages: The page numbers, from 1. Numbers after the last page are ignored.
  /// - Returns: The number of cleared pages.
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

  /// Removes this connection's cached pages, except for pages in use.
  package func releaseCache() throws(SQLiteError) {
    try connection.check(sqlite3_db_release_memory(try connection.open()))
  }
}

/// A database file's layout, which distinguishes tree nodes from other pages, by SQLite's file format
/// (sqlite.org/fileformat2.html).
private struct PageLayout {
  let pageSize: Int64
  let pageCount: Int64
  /// The distance between pointer map pages, or 0 if the file doesn't have pointer map pages.
  private let mapDistance: Int64

  /// Reads the layout from the file's first 100 bytes, or returns `nil` if nodes can't be distinguished from other
  /// pages.
  init?(_ header: [UInt8], fileSize: Int64) {
    guard header.count == 100 else { return nil }
    func number(_ offset: Int) -> Int64 { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int64($1) } }
    let stored = number(16) >> 16
    pageSize = stored == 1 ? 65536 : stored
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
    pageCount = fileSize / pageSize
    mapDistance = number(52) == 0 ? 0 : (pageSize - Int64(header[20])) / 5 + 1
    guard Database.canClearSlack(pageCount: pageCount) else { return nil }
  }

  func mayBeTree(_ page: Int64) -> Bool {
    // SQLite's lock-byte page is at 1 GiB. A pointer map page that would be there follows it instead.
    let lockPage = (1 << 30) / pageSize + 1
    guard page != lockPage else { return false }
    guard mapDistance > 0, page > 1 else { return true }
    return (page - 2) % mapDistance != 0 && !(page == lockPage + 1 && (lockPage - 2) % mapDistance == 0)
  }

  /// Returns a node's slack in the indices of `page`, or `nil` if the node is invalid or doesn't have slack.
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
