import Coffer
import Foundation

extension DocumentCollection {
  static let entries: Self = "entries"
}

/// The customer's side: the data set that the app ships, and the customer's own copy of it with edits.
struct Customer {
  let original: URL
  let copy: URL
  let identity: URL
  /// The pin that the vendor sent by another way than the data set.
  var pin: StorePin?

  /// Opens the copy; makes it if it is missing, and merges a newer original into it.
  ///
  /// An entry that the customer edited stays as the customer left it.
  func open() throws -> DocumentStore {
    try DocumentStore.openEditableCopy(
      of: original, at: copy, key: .keyFile(identity), originalPin: pin, onNewerOriginal: .merge(.mine))
  }

  /// The result of comparing the copy with the original, in words; nil if there is nothing to say.
  static func news(of store: DocumentStore) -> String? {
    switch store.original {
    case .copied: return "made your copy of the data set"
    case .merged(let report), .conflicts(let report):
      let counts = [MergeReport.Action.added, .changed, .moved, .deleted].compactMap { action in
        let count = report.entries.count { $0.action == action && !$0.reason.isConflict }
        return count > 0 ? "\(action.rawValue): \(count)" : nil
      }
      let kept = report.conflicts.isEmpty ? [] : ["kept as you edited them: \(report.conflicts.count)"]
      return "the data set was updated (\((counts + kept).joined(separator: ", ")))"
    default: return nil
    }
  }

  /// The titles of the data set as anyone can read them: no key opens anything, and nothing is proved.
  static func clearTitles(of original: URL) throws -> [String] {
    try DocumentStore.clearHeaders(at: original).compactMap(\.title)
  }

  /// The entries of the copy in order: keys and titles, proved, without opening a text.
  static func entries(of store: DocumentStore) throws -> [DocumentHeader] {
    try store.read { try $0.headers(in: .entries) }
  }

  static func text(of key: String, in store: DocumentStore) throws -> String {
    try store.read { try $0.text(of: id(of: key, in: $0)) }
  }

  static func edit(_ key: String, text: String, in store: DocumentStore) throws {
    try store.write { tx in
      try tx.update(id(of: key, in: tx), whenEmpty: .fail) { $0.text = text }
    }
  }

  private static func id(of key: String, in scope: borrowing some StoreReading & ~Copyable) throws -> DocumentID {
    guard let id = try scope.id(forKey: DocumentKey(key), in: .entries) else {
      throw StoreError(.noSuchDocument, "the data set has no such entry")
    }
    return id
  }
}
