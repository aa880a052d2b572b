internal import Coffer
internal import Foundation

// The releases of the app. Each knows the migrations of its own and of all earlier ones.

extension App {
  static let releases = 20

  /// The notes' indexes after each release. They recur, so that quarters of a run have the same indexes.
  private static let indexes: [[DocumentIndex]] = {
    let stars: DocumentIndex = .field("stars", "$.stars", as: .number)
    let title: DocumentIndex = .field("head", "$.title", as: .folded)
    return [
      [.words(), stars], [.words(in: "$.body"), .titles, stars, title, .fields(["head", "stars"])],
      [.substrings, stars], [], [.words(keepingDiacritics: true), stars, .titles],
    ]
  }()

  private static func migration(_ release: Int, log: FileHandle) -> Migration {
    Migration("release \(release)") { tx in
      try tx.setIndexes(indexes[release % indexes.count], of: notes)
      var lines: [Line] = []
      switch release {
      case 0: try tx.setIndexes([.words(), .field("box", "$.box", as: .number)], of: cards)
      case 8: lines = try migrateCards(&tx)
      case 13: lines = try archiveCards(&tx)
      default: break
      }
      try log.write(tx.generation, lines, migration: "release \(release)")
    }
  }

  private static func open(_ url: URL, _ key: StoreKey, _ release: Int, _ log: FileHandle) throws -> DocumentStore {
    var options = OpenOptions()
    options.allowsTestKeys = true
    options.wait = .seconds(60)
    options.migrations = (0...release).map { migration($0, log: log) }
    return try DocumentStore.open(at: url, key: key, options: options)
  }

  /// Opens the store as a release, or as the first later one that knows all migrations of the store.
  static func start(_ url: URL, _ key: StoreKey, _ release: inout Int, _ log: FileHandle) throws -> DocumentStore {
    while true {
      do {
        return try open(url, key, release, log)
      } catch let error as StoreError where error.code == .otherFormat && release + 1 < releases {
        release += 1
      }
    }
  }

  /// Starts the app again as another version, at least as a release. The release before it can't open the store.
  mutating func restart(_ least: Int) throws {
    try store.close()
    version = version % 3 + 1
    release = max(release, least)
    store = try Self.start(url, key, &release, log)
    guard release > 0 else { return }
    do {
      try Self.open(url, key, release - 1, log).close()
    } catch let error as StoreError where error.code == .otherFormat {
      return
    }
    throw Difference("a store that an older release opens")
  }

  /// Acts, and updates the app when another process's newer release has changed the store.
  mutating func asNewestRelease(_ act: (App) throws -> Void) throws {
    while true {
      do {
        return try act(self)
      } catch let error as StoreError where error.code == .otherFormat {
        try restart(release + 1)
      }
    }
  }
}
