internal import CofferRecords
package import Logging

/// The store's logger, for counts, IDs and slot numbers, but never for text, titles or keys.
package struct StoreLog: Sendable {
  /// The maximum number of IDs listed for each kind of change in a commit.
  private static let maximumListedIDs = 16

  let logger: Logger?

  package init(logger: Logger?) {
    self.logger = logger
  }

  /// Whether commits are logged, which requires transactions to record their changes.
  var logsCommits: Bool { logger.map { $0.logLevel <= .debug } ?? false }

  package func debug(_ message: @autoclosure () -> String) {
    logger?.debug("\(message())")
  }

  package func info(_ message: @autoclosure () -> String) {
    logger?.info("\(message())")
  }

  package func warning(_ message: @autoclosure () -> String) {
    logger?.warning("\(message())")
  }

  func committed(_ generation: UInt64, _ changes: @autoclosure () -> RingChanges) {
    guard logsCommits else { return }
    let change = StoreChange(changes(), at: generation)
    let parts = [
      ("inserted", change.inserted), ("updated", change.updated), ("moved", change.moved), ("deleted", change.deleted),
    ].compactMap { name, ids in ids.isEmpty ? nil : "\(name) \(ids.count) (\(Self.named(ids)))" }
    debug("committed generation \(generation)" + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")))
  }

  private static func named(_ ids: Set<DocumentID>) -> String {
    let named = ids.sorted().prefix(maximumListedIDs).map(\.description).joined(separator: " ")
    return ids.count > maximumListedIDs ? named + " …" : named
  }
}
