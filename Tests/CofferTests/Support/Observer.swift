import Coffer
import Testing

/// An iteration over an observation, which tasks may use one after another.
final class Observer<Element: Sendable>: @unchecked Sendable {
  // Sendable because a test waits for a task that uses the observer before it uses it again.
  private var iterator: StoreObservation<Element>.AsyncIterator

  init(_ observation: StoreObservation<Element>) {
    iterator = observation.makeAsyncIterator()
  }

  func next() async throws -> Element? { try await iterator.next() }

  /// Returns the next element, and fails if the observation has ended.
  func require(_ location: SourceLocation = #_sourceLocation) async throws -> Element {
    try #require(try await iterator.next(), sourceLocation: location)
  }
}
