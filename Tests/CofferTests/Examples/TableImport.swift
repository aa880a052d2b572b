import Coffer
import CofferFormats
import Foundation

@testable import CofferStoreTestSupport

/// An import of an app's SQLite table that converts each row to a value of the app's model.
enum TableImport {
  struct Note: Codable, Sendable {
    var id: Int64
    var name: String
    var isPinned: Bool
    var made: Date
    var tag: UUID
    var picture: Data?
  }

  /// - Returns: The number of notes.
  static func run(_ database: URL, into store: DocumentStore) throws -> Int {
    var reading = ReadingOptions(keepsIDs: true)
    reading.readsValues = true
    let mapping = ColumnMapping([.id: .init("id"), .created: .init("made"), .collection: .init("folder")])
    let rows = SQLiteSource(path: database.path, table: "note", mapping: mapping, options: reading)
    var options = BulkOptions()
    options.keepsIDs = true
    return try store.write { try $0.insert(contentsOf: rows, into: nil, options: options) }.created
  }
}
