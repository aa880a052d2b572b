import Foundation
import Testing

@testable import CofferSQLite

/// An error to compare with: errors are equal if their codes are.
func error(_ code: SQLiteError.Code) -> SQLiteError { SQLiteError(code, "") }

func emptyDatabase(_ configuration: Database.Configuration = .init()) throws -> Database {
  try Database(":memory:", mode: .create, configuration: configuration)
}

/// The error of ours that the body throws; nil if it throws none.
func thrown(_ body: () throws -> Void) -> SQLiteError? {
  do {
    try body()
    return nil
  } catch {
    return error as? SQLiteError
  }
}

/// A directory that goes with its last user.
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

/// Runs the body on a new thread, which may block.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}

/// The shared corpora, if they are here.
enum Corpora {
  static let root: String? = {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path =
      ProcessInfo.processInfo.environment["COFFER_CORPORA"]
      ?? package.deletingLastPathComponent().appendingPathComponent("shared/corpora").path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  static func path(_ name: String) throws -> String { try #require(root) + "/" + name }
}
