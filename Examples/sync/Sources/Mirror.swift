import Coffer
import Foundation

extension DocumentCollection {
  static let articles: Self = "articles"
  static let positions: Self = "positions"
}

/// A collection that is kept equal to a feed.
struct Mirror {
  /// The feed's revision that the articles have; a value beside them in the same store.
  private struct Position: Codable, Sendable {
    var revision: String
  }

  enum Outcome {
    case unchanged(revision: String)
    case changed(revision: String, SyncReport)
  }

  private let store: DocumentStore

  init(at url: URL, key: StoreKey) throws {
    store = try DocumentStore.open(at: url, key: key, creatingIfMissing: true)
  }

  /// Makes the articles equal to the feed, and notes its revision, in one transaction: an error anywhere, and a process
  /// that is killed anywhere, leaves both as they were.
  ///
  /// - Parameter part: the largest part of the articles that may be removed, from 0 to 1.
  func update(from folder: URL, removingAtMost part: Double) throws -> Outcome {
    let manifest = try Manifest(in: folder)
    return try store.write { tx in
      let position = try tx.value(Position.self, forKey: "feed", in: .positions)
      if position?.revision == manifest.revision { return .unchanged(revision: manifest.revision) }

      var options = SyncOptions(stale: .remove(atMost: part))
      options.skipsInvalid = false
      let records = FeedRecords(manifest.files, in: folder)
      let report = try tx.synchronize(.articles, with: records, options: options)

      // The files could have been replaced while they were read.
      guard try Manifest(in: folder) == manifest else {
        throw FeedError(description: "feed.json: the feed was replaced while it was read")
      }
      try tx.put(Position(revision: manifest.revision), into: .positions, key: "feed")
      return .changed(revision: manifest.revision, report)
    }
  }

  /// The titles of these articles.
  func titles(of ids: [DocumentID]) throws -> [String] {
    try store.read { tx in
      try ids.map { try tx.header(of: $0).title ?? "" }
    }
  }
}
