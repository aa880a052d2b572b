import CofferTestSupport
import Foundation
import Testing

@testable import CofferSQLite

/// Returns an error for comparison, because errors with the same code are equal.
func error(_ code: SQLiteError.Code) -> SQLiteError { SQLiteError(code, "") }

func emptyDatabase(_ configuration: Database.Configuration = .init()) throws -> Database {
  try Database(":memory:", mode: .create, configuration: configuration)
}

/// Returns the `SQLiteError` that the body throws, or `nil` if it doesn't throw one.
func thrown(_ body: () throws -> Void) -> SQLiteError? {
  do {
    try body()
    return nil
  } catch {
    return error as? SQLiteError
  }
}

/// A temporary directory that is deleted with its last reference.
final class Scratch: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "coffer-sqlite-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
}

/// Runs a body that can block on a new thread.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
