import Coffer
import Foundation

@testable import CofferStoreTestSupport

/// An app's notes, with the newest on top until the user reorders them, and with tags, search and undo.
struct NoteKeeper {
  struct Note: VersionedValue, Equatable {
    static var defaults: Note? { Note(title: "", body: "") }
    var title: String
    var body: String
    var tags: Set<String> = []
  }

  let store: DocumentStore
  private let notes: DocumentCollection = "notes"

  init(at url: URL, key: StoreKey, options: OpenOptions = OpenOptions()) throws {
    store = try DocumentStore.open(at: url, key: key, creatingIfMissing: true, options: options)
  }

  func add(_ note: Note) throws -> DocumentID {
    try store.write { try $0.insert(note, into: notes, at: .top) }
  }

  func page(after last: StoredValue<Note>? = nil, tag: String? = nil) throws -> [StoredValue<Note>] {
    try store.read { reader in
      try reader.values(Note.self, in: notes, after: last?.header, limit: 20) { note in
        tag.map { note.tags.contains($0) } ?? true
      }
    }
  }

  func change(_ id: DocumentID, _ change: (inout Note) throws -> Void) throws {
    try store.write { try $0.update(id, as: Note.self, change) }
  }

  func move(from source: Int, to target: Int) throws {
    try store.write { try $0.move(fromIndex: source, toIndex: target, in: notes) }
  }

  func delete(_ id: DocumentID) throws -> DeletedDocuments {
    try store.write { try $0.deleteUndoably([id]) }
  }

  func undo(_ deleted: DeletedDocuments) throws {
    try store.write { try $0.restore(deleted) }
  }

  func find(_ words: String) throws -> [DocumentID] {
    let pattern = try SearchPattern.text(words, ignoring: [.case, .diacritics, .composition])
    return try store.read { try $0.search(for: pattern, in: notes) }.map(\.header.id)
  }
}
