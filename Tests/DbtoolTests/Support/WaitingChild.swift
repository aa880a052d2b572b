import CofferPlatform
import CofferTestSupport
import Foundation
import Testing

/// A dbtool process that waits for a full pipe to print its result.
final class WaitingChild {
  /// Whether the tests can distinguish a waiting process from a working process without tracing it.
  static let isPossible = getuid() == 0 && FileManager.default.fileExists(atPath: "/proc/self/wchan")

  let child: Child
  private var ends: [Int32] = [0, 0]

  init(_ arguments: [String], in sandbox: Sandbox, under prefix: [String] = []) throws {
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // Fill the pipe completely.
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    while write(ends[1], [UInt8](repeating: 0, count: 4096), 4096) > 0 {}
    while write(ends[1], [0], 1) > 0 {}
    _ = fcntl(ends[1], F_SETFL, 0)
    child = try Child(
      arguments, in: sandbox, under: prefix, streams: .descriptors(input: nil, output: ends[1], errors: nil))
    try waitUntil {
      try #require(waitpid(child.process, nil, WNOHANG) == 0, "it ended before it printed")
      return try fact("wchan").contains("pipe_write")
    }
  }

  func fact(_ name: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(child.process)/\(name)"))
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// The peak memory use in KiB.
  func peak() throws -> Int {
    let line = try #require(try fact("status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.filter(\.isNumber)))
  }

  deinit {
    child.signal(SIGKILL)
    _ = child.wait()
    for end in ends { close(end) }
  }
}
