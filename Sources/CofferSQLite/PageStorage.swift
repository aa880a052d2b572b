/// The pages of a database that lies in the program, not in a file: see ``Database/init(pages:mode:configuration:)``.
///
/// SQLite calls it on the thread that uses the database. A method that throws ends SQLite's work with an I/O error: the
/// storage must keep its own error for the caller.
package protocol PageStorage: AnyObject {
  /// The bytes of a page: a power of two from 1,024 to 65,536.
  var pageSize: Int { get }
  /// The bytes at the end of each page that SQLite leaves unused, 0 to 255. A page that is read may hold anything there.
  var reservedCount: Int { get }
  /// The number of pages; 0 for a new database.
  var pageCount: Int { get }

  /// Reads a page, counted from 0, into `pageSize` bytes.
  func read(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) throws
  /// Writes a page, which may lie behind the last one. SQLite may write the pages between later, except those that hold
  /// nothing: the page of the lock bytes, and new pages that are free when the transaction ends.
  func write(_ page: Int, _ bytes: UnsafeRawBufferPointer) throws
  /// Removes the pages from `count` on.
  func truncate(to count: Int) throws
}
