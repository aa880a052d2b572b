import Coffer
import Foundation

extension DocumentCollection {
  static let notes: Self = "notes"
}

/// The notes of one store, in the order that the user gave them.
struct Notebook {
  private let store: DocumentStore

  /// Opens the store. A missing one is created, with an index of words for ``find(_:)``.
  init(at url: URL, key: StoreKey) throws {
    store = try DocumentStore.open(at: url, key: key, creatingIfMissing: true)
    try store.write { tx in
      if try !tx.exists(.notes) { try tx.create(.notes, titleRule: .derived) }
      try tx.setIndexes([.words()], of: .notes)
    }
  }

  /// Adds a note at the top. Without a title, the beginning of its text is its title.
  func add(_ text: String, title: String?) throws -> DocumentID {
    try store.write { tx in
      try tx.insert(Document(title: title, text: text), into: .notes, at: .top)
    }
  }

  /// Returns titles, dates and sizes, without decrypting texts.
  func list() throws -> [DocumentHeader] {
    try store.read { try $0.headers(in: .notes) }
  }

  func text(of id: DocumentID) throws -> String {
    try store.read { try $0.text(of: id) }
  }

  /// Replaces the text, and the title if it was the beginning of the old text.
  func edit(_ id: DocumentID, text: String) throws {
    try store.write { tx in
      try tx.update(id, whenEmpty: .fail) { $0.text = text }
    }
  }

  /// Deletes these notes. If one is missing, all of them remain.
  func delete(_ ids: [DocumentID]) throws {
    try store.write { try $0.delete(ids) }
  }

  /// Attaches pictures to a note. If one can't be read, the note is unchanged.
  func attach(_ files: [URL], to id: DocumentID) throws {
    try store.write { tx in
      for file in files { try tx.attach(.file(file), to: id) }
    }
  }

  /// Returns names, types and sizes, without decrypting pictures.
  func pictures(of id: DocumentID) throws -> [Attachment] {
    try store.read { try $0.attachments(of: id) }
  }

  /// Writes a picture to a new file, which appears when the whole picture is in it.
  func save(_ name: String, of id: DocumentID, to file: URL) throws {
    try store.read { reader in
      guard let picture = try reader.attachment(named: name, of: id) else {
        throw StoreError(.noSuchAttachment, "note \(id) has no picture \(name)")
      }
      try reader.save(picture.id, to: file)
    }
  }

  /// The notes that match the words best, the best first.
  func find(_ words: String) throws -> RankedMatches {
    try store.read { try $0.search(ranked: words, in: .notes, limit: 10) }
  }

  func move(_ id: DocumentID, to placement: Placement) throws {
    try store.write { try $0.move(id, to: placement) }
  }

  func sort(by order: DocumentOrder, descending: Bool) throws {
    try store.write { _ = try $0.sort(.notes, by: order, descending: descending) }
  }

  /// Begins to sync the notes through a folder, which doesn't exist or is empty.
  func startSyncing(by folder: SyncFolder, key: StoreKey, device: String) throws {
    try store.startSyncing(by: folder, keys: [key], label: device)
  }

  /// Makes a store with the notes of a folder.
  static func join(_ folder: SyncFolder, at url: URL, key: StoreKey, device: String) throws {
    try DocumentStore.join(folder, at: url, key: key, keys: [key], label: device)
  }

  /// Takes what other devices published into the folder, and publishes what changed here, as long as it's iterated.
  func sync(with folder: SyncFolder) -> FolderSyncReports {
    store.sync(with: folder)
  }

  /// The list, then each change of it, by this process or another one.
  func changes() -> StoreObservation<ListChange<DocumentHeader>> {
    store.observe(.notes)
  }
}
