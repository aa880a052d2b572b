internal import CofferEngine
internal import CofferRecords

/// A value that keeps an index open between two uses.
protocol IndexUser: AnyObject {}

/// A connection's open indexes.
final class OpenIndexes: ConnectionCompanion {
  /// The open indexes by number. An index is closed if its root row changes.
  var files: [UInt32: IndexFile] = [:]
  /// The last read roots, which are kept to decrypt an unchanged row only once.
  var roots: [UInt32: (epoch: Int64, sealed: [UInt8], root: IndexRoot)] = [:]
  /// An index's idle reader, which is released with the index.
  var idleReader: (any IndexUser)?

  /// Closes an index and the view that reads from it.
  func close(_ part: UInt32) {
    files[part] = nil
    idleReader = nil
  }
}

extension StoreConnection {
  var openIndexes: OpenIndexes { companion(OpenIndexes.self) }
}
