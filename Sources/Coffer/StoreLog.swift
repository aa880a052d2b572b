internal import Logging

/// Where a store tells what it does: counts, ids and numbers of slots, never text, titles or keys.
struct StoreLog: Sendable {
  let logger: Logger?

  func debug(_ message: @autoclosure () -> String) {
    logger?.debug("\(message())")
  }

  func info(_ message: @autoclosure () -> String) {
    logger?.info("\(message())")
  }
}
