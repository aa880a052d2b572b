internal import CofferRecords
internal import Logging

/// The store's logger: counts, ids and numbers of slots, never text, titles or keys.
struct StoreLog: Sendable {
  /// The most ids listed for each kind of change of a commit.
  private static let namedCount = 16

  let logger: Logger?

  /// Whether each commit is logged, so that transactions must log their changes.
  var tellsCommits: Bool { logger.map { $0.logLevel <= .debug } ?? false }

  func debug(_ message: @autoclosure () -> String) {
    logger?.debug("\(message())")
  }

  func info(_ message: @autoclosure () -> String) {
    logger?.info("\(message())")
  }

  func warning(_ message: @autoclosure () -> String) {
    logger?.warning("\(message())")
  }

  func committed(_ generation: UInt64, _ changes: @autoclosure () -> RingChanges) {
    guard tellsCommits else { return }
    let change = StoreChange(changes(), at: generation)
    let parts = [
      ("inserted", change.inserted), ("updated", change.updated), ("moved", change.moved), ("deleted", change.deleted),
    ].compactMap { name, ids in ids.isEmpty ? nil : "\(name) \(ids.count) (\(Self.named(ids)))" }
    debug("committed generation \(generation)" + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")))
  }

  private static func named(_ ids: Set<DocumentID>) -> String {
    let named = ids.sorted().prefix(namedCount).map(\.description).joined(separator: " ")
    return ids.count > namedCount ? named + " …" : named
  }
}
