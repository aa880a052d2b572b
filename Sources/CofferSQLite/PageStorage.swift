/// The pages of a database that's stored in the program instead of a file. See
/// ``Database/init(pages:mode:configuration:)``.
///
/// SQLite calls the storage on the thread that uses the database. If a method throws, SQLite ends its work with an I/O
/// error, so the storage must keep its own error for the caller.
package protocol PageStorage: AnyObject {
  /// The size of a page in bytes, which is a power of two from 1,024 to 65,536.
  var pageSize: Int { get }
  /// The number of bytes at the end of each page that SQLite doesn't use, from 0 to 255. `read` may return any bytes
  /// there.
  var reservedCount: Int { get }
  /// The number of pages, which is 0 for a new database.
  var pageCount: Int { get }

  /// Reads a page into `pageSize` bytes. Pages count from 0.
  func read(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) throws
  /// Writes a page, which may follow the last page with a gap. SQLite may write the pages in between later, except for
  /// empty pages: the lock-byte page, and new pages that are free when the transaction ends.
  func write(_ page: Int, _ bytes: UnsafeRawBufferPointer) throws
  /// Removes the pages starting with page `count`.
  func truncate(to count: Int) throws
}
