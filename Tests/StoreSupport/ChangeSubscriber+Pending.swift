package import CofferEngine

extension ChangeSubscriber {
  /// Returns the next change if there's one already, or `nil`.
  package func pending() async throws -> StoreChange? {
    try await Task {
      // A canceled task doesn't wait.
      withUnsafeCurrentTask { $0?.cancel() }
      return try await next()
    }.value
  }
}
