internal import CofferPlatform
package import Foundation
internal import Synchronization

/// A Unix socket that answers each connection with the next of its answers, as a control socket does.
package final class AnsweringSocket: Sendable {
  package enum Answer: Sendable {
    /// An HTTP answer with this status and body.
    case json(Int, String)
    /// These bytes, and the end of the stream.
    case bytes(String)
    /// No answer until the client closes its side.
    case silence
  }

  package let url: URL
  private let descriptor: Int32
  private let requests = Mutex<[String]>([])

  package init(at url: URL, _ answers: [Answer]) throws {
    self.url = url
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(url.path.utf8)) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isBound, listen(descriptor, 8) == 0 else { throw POSIXError(.EIO) }
    Thread.detachNewThread { [self] in
      for answer in answers { serve(answer) }
    }
  }

  deinit { close(descriptor) }

  /// The first lines of the requests, and their bodies.
  package var received: [String] { requests.withLock { $0 } }

  private func serve(_ answer: Answer) {
    // A signal for another test may interrupt the call.
    let connection = Self.retrying { accept(descriptor, nil, nil) }
    guard connection >= 0 else { return }
    defer { close(connection) }
    var request = ""
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !Self.isWhole(request) {
      let count = Self.retrying { read(connection, &buffer, buffer.count) }
      guard count > 0 else { return }
      request += String(decoding: buffer[..<count], as: UTF8.self)
    }
    let lines = request.split(separator: "\r\n", omittingEmptySubsequences: false)
    requests.withLock { $0.append("\(lines[0]) \(lines.last ?? "")") }
    switch answer {
    case .json(let status, let body):
      Self.send("HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", to: connection)
    case .bytes(let text): Self.send(text, to: connection)
    case .silence: _ = Self.retrying { read(connection, &buffer, buffer.count) }
    }
  }

  private static func retrying<Count: SignedInteger>(_ call: () -> Count) -> Count {
    while true {
      let result = call()
      guard result < 0, errno == EINTR else { return result }
    }
  }

  private static func isWhole(_ request: String) -> Bool {
    guard let end = request.firstRange(of: "\r\n\r\n") else { return false }
    let line = request.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
    let length = line.flatMap { Int($0.dropFirst("Content-Length: ".count)) } ?? 0
    return request[end.upperBound...].utf8.count >= length
  }

  private static func send(_ text: String, to connection: Int32) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { CofferPlatform.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }
}
