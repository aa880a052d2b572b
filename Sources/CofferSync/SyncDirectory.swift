package import CofferEngine

/// The folder that devices sync through. Each device has a subfolder with files that never change.
package protocol SyncDirectory: AnyObject {
  /// The path in errors.
  var path: String { get }
  /// Returns the names of all subfolders, or `nil` if the folder doesn't exist.
  func subfolders() throws(StoreError) -> [String]?
  /// Returns the names and sizes of the files in a subfolder, which can be missing.
  func files(in subfolder: String) throws(StoreError) -> [SyncDirectoryFile]
  /// Opens a file, or returns `nil` if it's gone.
  func open(_ name: String, in subfolder: String) throws(StoreError) -> (any SyncFileBytes)?
  /// Begins a file without a name, after making the subfolder if it's missing.
  func create(in subfolder: String) throws(StoreError) -> any SyncNewFile
  /// Gives a complete file its name, unless the name is taken.
  ///
  /// - Parameter pending: What the file was called when it was completed.
  /// - Returns: Whether the file has the name now.
  func publish(_ pending: String, as name: String, in subfolder: String) throws(StoreError) -> Bool
  /// Removes the files that stopped runs have left without a name.
  ///
  /// - Parameter pending: A complete file to keep.
  func removeUnfinished(except pending: String, in subfolder: String) throws(StoreError)
  /// Removes a file, if it exists.
  func remove(_ name: String, in subfolder: String) throws(StoreError)
}

package struct SyncDirectoryFile: Sendable, Hashable {
  package let name: String
  package let byteCount: Int

  package init(name: String, byteCount: Int) {
    (self.name, self.byteCount) = (name, byteCount)
  }
}

/// A file to read.
package protocol SyncFileBytes: AnyObject {
  /// Reads up to `count` bytes at an offset. Returns fewer at the end of the file.
  func read(_ count: Int, at offset: Int) throws(StoreError) -> [UInt8]
}

/// A file to write, which other runs don't remove while it's open.
package protocol SyncNewFile: AnyObject {
  func write(_ bytes: [UInt8], at offset: Int) throws(StoreError)
  /// Makes the contents durable, and gives the file its pending name.
  func finish(as pending: String) throws(StoreError)
  /// Removes the file.
  func discard()
}
