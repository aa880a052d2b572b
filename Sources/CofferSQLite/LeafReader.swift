internal import CCofferSQLite

/// A reader that finds a file's table rows by searching every page, even if the page isn't part of a tree (SQLite's
/// file format, "B-tree Pages", "Record Format").
///
/// Use it for damaged files. Its rows can be arbitrary bytes, or come from free or stale pages. It reads the file
/// directly, bypassing the cache and log, and doesn't trust lengths or numbers in the file.
package final class LeafReader {
  /// A row's location.
  package struct Place: Comparable, Sendable {
    fileprivate let page: UInt32
    fileprivate let cell: UInt16

    package static func < (one: Place, other: Place) -> Bool { (one.page, one.cell) < (other.page, other.cell) }
  }

  private let database: Database
  private let pageSize: Int
  private let usableSize: Int
  private let pageCount: Int
  /// The number of row bytes that may still be read. This limits the work, because all rows in a malicious file can
  /// claim the same long page chain.
  private var bytesLeft: Int
  private var page: [UInt8]
  private var pageAtHand: UInt32 = 0

  /// Creates a reader for the database's file.
  ///
  /// - Parameter known: The file's page size, or `nil` to use the header's value.
  /// - Returns: `nil` if the header is incomplete, the page size is invalid, or the file has too many pages.
  package init?(_ database: Database, pageSize known: Int? = nil) throws(SQLiteError) {
    if let known {
      pageSize = known
      usableSize = known
    } else {
      let header = try database.firstBytes(100)
      guard header.count == 100 else { return nil }
      let stored = Int(header[16]) << 8 | Int(header[17])
      pageSize = stored == 1 ? 65536 : stored
      usableSize = pageSize - Int(header[20])
    }
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0, usableSize >= 480 else { return nil }
    self.database = database
    pageCount = Int(clamping: try database.fileSize()) / pageSize
    guard pageCount <= Int(UInt32.max) else { return nil }
    bytesLeft = 8 * pageCount * pageSize
    page = [UInt8](repeating: 0, count: pageSize)
  }

  /// The total size of the file's pages, in bytes.
  package var byteCount: Int { pageCount * pageSize }

  /// The file's page numbers.
  package var pages: Range<Int> { 1..<max(pageCount, 1) + 1 }

  /// Visits every row on pages that look like table leaves, with the row's number, number of columns, and location.
  ///
  /// - Parameter wanted: The pages to search, or `nil` to search all pages.
  package func visitRows<E: Error>(
    ofPages wanted: Range<Int>? = nil, _ visit: (_ number: Int64, _ columnCount: Int, _ place: Place) throws(E) -> Void
  ) throws(E) {
    for number in wanted ?? pages {
      guard load(UInt32(number)) else { continue }
      let start = number == 1 ? 100 : 0
      guard page[start] == 13 else { continue }
      let count = integer(start + 3, 2)
      // The headers of different cells don't overlap, but a malicious page can point to one cell any number of times.
      var headerBytesLeft = usableSize
      for index in 0..<count {
        let pointer = start + 8 + 2 * index
        guard pointer + 2 <= usableSize else { break }
        let cell = integer(pointer, 2)
        guard let head = cellHead(at: cell), let columns = columnCount(head, &headerBytesLeft) else { continue }
        try visit(head.number, columns, Place(page: UInt32(number), cell: UInt16(cell)))
      }
    }
  }

  /// Reads a row into `record`, with the columns in table order. The column for the row's number is NULL.
  ///
  /// - Parameter limit: The maximum size of the row in bytes.
  /// - Returns: `false` if the row is invalid or exceeds `limit`, or if the reader would read more than eight times the
  ///   file's size in total.
  package func read(_ place: Place, into record: LeafRecord, limit: Int) -> Bool {
    guard load(place.page), let head = cellHead(at: Int(place.cell)), head.byteCount <= limit,
      head.byteCount <= bytesLeft
    else { return false }
    bytesLeft -= head.byteCount
    var bytes = record.makeRoom(head.byteCount)
    bytes.copyBytes(from: page[head.start..<head.start + head.localCount])
    bytes = UnsafeMutableRawBufferPointer(rebasing: bytes[head.localCount...])
    var next = head.localCount < head.byteCount ? integer(head.start + head.localCount, 4) : 0
    // A cycle of pages ends, because each page reduces the number of missing bytes.
    while !bytes.isEmpty {
      guard next > 0, next <= pageCount, load(UInt32(next)) else { return false }
      let count = min(bytes.count, usableSize - 4)
      bytes.copyBytes(from: page[4..<4 + count])
      bytes = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
      next = integer(0, 4)
    }
    return record.parse()
  }

  // MARK: Inside

  private struct CellHead {
    let byteCount: Int
    let number: Int64
    /// The row's offset on its page, and the number of row bytes on the page.
    let start: Int
    let localCount: Int
  }

  private func load(_ number: UInt32) -> Bool {
    guard number != pageAtHand else { return true }
    pageAtHand = 0
    guard let handle = try? database.connection.open() else { return false }
    let offset = (Int64(number) - 1) * Int64(pageSize)
    guard coffer_sqlite_read_file(handle, &page, Int32(pageSize), offset) == SQLITE_OK else { return false }
    pageAtHand = number
    return true
  }

  private func integer(_ offset: Int, _ count: Int) -> Int {
    page[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
  }

  private func cellHead(at cell: Int) -> CellHead? {
    var offset = cell
    return page.withUnsafeBytes { page in
      let page = UnsafeRawBufferPointer(rebasing: page[..<usableSize])
      guard let stored = Varint.read(page, &offset), let number = Varint.read(page, &offset),
        let byteCount = Int(exactly: stored), byteCount <= pageCount * pageSize
      else { return nil }
      let localCount = localCount(of: byteCount)
      let pointer = localCount < byteCount ? 4 : 0
      guard offset + localCount + pointer <= usableSize else { return nil }
      return CellHead(
        byteCount: byteCount, number: Int64(bitPattern: number), start: offset, localCount: localCount)
    }
  }

  /// Returns the number of row bytes on the leaf. The other row bytes are on overflow pages.
  private func localCount(of byteCount: Int) -> Int {
    let most = usableSize - 35
    guard byteCount > most else { return byteCount }
    let least = (usableSize - 12) * 32 / 255 - 23
    let wanted = least + (byteCount - least) % (usableSize - 4)
    return wanted <= most ? wanted : least
  }

  private func columnCount(_ head: CellHead, _ bytesLeft: inout Int) -> Int? {
    page.withUnsafeBytes { page in
      let row = UnsafeRawBufferPointer(rebasing: page[head.start..<head.start + head.localCount])
      var offset = 0
      guard let stored = Varint.read(row, &offset), let end = Int(exactly: stored), end <= min(row.count, bytesLeft)
      else { return nil }
      bytesLeft -= end
      var count = 0
      while offset < end {
        guard Varint.read(row, &offset) != nil else { return nil }
        count += 1
      }
      return offset == end ? count : nil
    }
  }
}

/// A row from a ``LeafReader``, with its memory. The row is valid until another row is read into this record.
package final class LeafRecord {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
  private var count = 0
  package private(set) var columns: [StoredColumn] = []

  package init() {}

  deinit {
    memory.deallocate()
  }

  fileprivate func makeRoom(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if memory.count < count {
      memory.deallocate()
      memory = .allocate(byteCount: count, alignment: 16)
    }
    self.count = count
    return UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
  }

  fileprivate func parse() -> Bool {
    columns.removeAll(keepingCapacity: true)
    let row = UnsafeRawBufferPointer(rebasing: memory[..<count])
    var offset = 0
    guard let stored = Varint.read(row, &offset), var place = Int(exactly: stored), place <= count else { return false }
    let end = place
    while offset < end {
      guard let type = Varint.read(row, &offset), let column = Self.column(type, row, &place) else { return false }
      columns.append(column)
    }
    return offset == end
  }

  /// Returns the value with this serial type at `place`, or `nil` if it's invalid, and advances `place`. Doesn't decode
  /// real numbers.
  private static func column(_ type: UInt64, _ row: UnsafeRawBufferPointer, _ place: inout Int) -> StoredColumn? {
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    let widths = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]
    guard type >= 12 else {
      guard type < 10 else { return nil }
      let width = widths[Int(type)]
      guard place + width <= row.count else { return nil }
      defer { place += width }
      switch type {
      case 0: return StoredColumn(storageClass: .null, integer: 0, bytes: none)
      case 7: return StoredColumn(storageClass: .real, integer: 0, bytes: none)
      case 8, 9: return StoredColumn(storageClass: .integer, integer: Int64(type) - 8, bytes: none)
      default:
        var value: Int64 = row[place] & 0x80 == 0 ? 0 : -1
        for byte in row[place..<place + width] { value = value << 8 | Int64(byte) }
        return StoredColumn(storageClass: .integer, integer: value, bytes: none)
      }
    }
    guard let count = Int(exactly: (type - 12) / 2), count <= row.count - place else { return nil }
    defer { place += count }
    return StoredColumn(
      storageClass: type % 2 == 0 ? .blob : .text, integer: 0,
      bytes: UnsafeRawBufferPointer(rebasing: row[place..<place + count]))
  }
}

private enum Varint {
  /// Reads a variable-length integer and advances `offset`.
  ///
  /// - Returns: `nil` if the bytes end before the integer does.
  static func read(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> UInt64? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard offset >= 0, offset < bytes.count else { return nil }
      let byte = bytes[offset]
      offset += 1
      if index == 8 { return value << 8 | UInt64(byte) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte < 0x80 { return value }
    }
    return nil
  }
}
