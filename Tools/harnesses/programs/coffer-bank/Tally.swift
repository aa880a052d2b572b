internal import Coffer
internal import Foundation
internal import Synchronization

/// Counts the work of this process's threads, for the report at its end.
final class Tally: Sendable {
  private struct Report: Encodable {
    var done = 0
    /// The number of documented errors, by the error's code.
    var refused: [String: Int] = [:]
    /// Transfers by the name that counted them.
    var acknowledged: [String: Int] = [:]
    var findings: [String] = []
  }

  /// The errors that the library's page names for concurrent work: a thread waited too long.
  private static let documented: Set<StoreError.Code> = [.locked]

  private let state = Mutex(Report())

  func count(_ work: () throws -> Void) {
    do {
      try work()
      state.withLock { $0.done += 1 }
    } catch let error as StoreError where Self.documented.contains(error.code) {
      state.withLock { $0.refused[error.code.rawValue, default: 0] += 1 }
    } catch {
      fail("\(error)")
    }
  }

  func acknowledge(_ name: String, _ count: Int = 1) {
    state.withLock { $0.acknowledged[name, default: 0] += count }
  }

  func fail(_ finding: String) {
    state.withLock { if $0.findings.count < 20 { $0.findings.append(finding) } }
  }

  func report() {
    let report = state.withLock { $0 }
    guard let json = try? JSONEncoder().encode(report) else { return }
    FileHandle.standardOutput.write(json + Data("\n".utf8))
  }
}
