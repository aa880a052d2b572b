// A release build, which runs simulated histories, has no Testing.
#if canImport(Testing)
  internal import Foundation
  package import Testing

  /// The bound of a poll, over five minutes on an idle machine. A busy machine makes a poll slower, so it waits longer.
  private let mostPolls = 1_000_000_000

  /// Polls a condition that another thread or process changes without a signal. After a billion polls, the function
  /// records an issue and returns. What a task changes is waited for by ``yieldUntil(_:_:)``: tasks may stand behind
  /// tests that take minutes, and their own polls stand there, too.
  package func waitUntil(
    _ sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
  ) rethrows {
    for _ in 0..<mostPolls {
      if try condition() { return }
      sched_yield()
    }
    Issue.record("the condition stayed false", sourceLocation: sourceLocation)
  }

  /// Polls a condition as ``waitUntil(_:_:)`` does, and lets other tasks run between two polls.
  package func yieldUntil(
    _ sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
  ) async rethrows {
    for _ in 0..<mostPolls {
      if try condition() { return }
      await Task.yield()
    }
    Issue.record("the condition stayed false", sourceLocation: sourceLocation)
  }
#endif
