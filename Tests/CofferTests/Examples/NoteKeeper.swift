import Coffer
import Foundation

/// A note keeper as an app has it: the newest note on top, titles from the texts, an order of the user's own, search.
struct NoteKeeper {
  let store: DocumentStore
  let notes: DocumentCollection

  init(at url: URL, key: StoreKey, options: OpenOptions = OpenOptions()) throws {
    store = try DocumentStore.open(at: url, key: key, creatingIfMissing: true, options: options)
    notes = store.collection("notes")
    try store.write { tx in
      if try !tx.exists(notes) { try tx.create(notes, titleRule: .derived) }
    }
  }

  /// Nil for a note without text.
  func add(_ text: String) throws -> DocumentID? {
    try store.write { try $0.insert(Document(text: text), into: notes, at: .top, whenEmpty: .skip) }
  }

  func page(_ number: Int, of count: Int = 20) throws -> [DocumentHeader] {
    try store.read { try $0.headers(in: notes, offset: number * count, limit: count) }
  }

  func text(of id: DocumentID) throws -> String {
    try store.read { try $0.text(of: id) }
  }

  func save(_ text: String, as id: DocumentID) throws {
    try store.write { tx in try tx.update(id) { $0.text = text } }
  }

  /// As a table view tells it.
  func move(from source: Int, to target: Int) throws {
    try store.write { try $0.move(fromIndex: source, toIndex: target, in: notes) }
  }

  func find(_ words: String) throws -> [DocumentID] {
    try store.search(for: .text(words, ignoring: .case), in: notes).map(\.header.id)
  }
}
