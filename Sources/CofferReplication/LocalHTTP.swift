internal import Coffer
internal import CofferEngine
internal import CofferPlatform
internal import CofferRecords

/// An HTTP/1.0 exchange (RFC 1945) over a Unix socket, with a deadline.
///
/// An HTTP/1.1 server answers a 1.0 request without chunks and then closes the connection, which ends the answer.
struct LocalHTTP {
  struct Answer: Equatable {
    let status: Int
    let body: [UInt8]
  }

  /// The maximum answer size in bytes.
  private static let limit = 1 << 20
  /// The maximum time in milliseconds between checks of the deadline and the task's cancellation.
  private static let pollInterval = 100

  let path: String
  let deadline: ContinuousClock.Instant

  /// - Throws: `notConfirmed` if the answer is incomplete or doesn't arrive in time, or `cancelled`.
  func exchange(_ method: String, _ target: String, _ body: [UInt8]) throws(StoreError) -> Answer {
    let descriptor = try connected()
    defer { close(descriptor) }
    let head = """
      \(method) \(target) HTTP/1.0\r
      Host: localhost\r
      Content-Type: application/json\r
      Content-Length: \(body.count)\r
      \r

      """
    try send(Array(head.utf8) + body, to: descriptor)
    return try parsed(try received(from: descriptor))
  }

  /// Returns the first 200 characters of an untrusted text, without control characters.
  static func excerpt(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.prefix(200).map { $0.properties.isWhitespace ? " " : $0 }
          .filter { $0.properties.generalCategory != .control && $0.properties.generalCategory != .format }))
  }

  // MARK: The socket

  private func connected() throws(StoreError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
      throw refused(
        "\(path): the path of a socket has 1 to \(MemoryLayout.size(ofValue: address.sun_path) - 1) bytes",
        hint: "choose a shorter one in the service's configuration")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = coffer_local_socket()
    guard descriptor >= 0 else { throw refused("\(path): \(Self.words(errno))") }
    guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
      defer { close(descriptor) }
      throw refused("\(path): \(Self.words(errno))")
    }
    do throws(StoreError) {
      while true {
        let result = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
        if result == 0 || errno == EISCONN { return descriptor }
        switch errno {
        case EINTR: continue
        // The server's queue is full.
        case EAGAIN: try pause()
        case EINPROGRESS: try wait(descriptor, for: POLLOUT)
        case ENOENT, ECONNREFUSED, ENOTDIR:
          throw refused(
            "no program answers at \(path) (\(Self.words(errno)))",
            hint: "start the service, and enable its control socket")
        case EACCES, EPERM:
          throw refused("\(path): \(Self.words(errno))", hint: "run as the user that may use the socket")
        default: throw refused("\(path): \(Self.words(errno))")
        }
      }
    } catch {
      close(descriptor)
      throw error
    }
  }

  private func send(_ bytes: [UInt8], to descriptor: Int32) throws(StoreError) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        coffer_send(descriptor, buffer.baseAddress! + sent, buffer.count - sent)
      }
      if count >= 0 {
        sent += count
      } else if errno == EAGAIN {
        try wait(descriptor, for: POLLOUT)
      } else if errno != EINTR {
        throw refused("\(path): \(Self.words(errno))")
      }
    }
  }

  private func received(from descriptor: Int32) throws(StoreError) -> [UInt8] {
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count == 0 { return answer }
      if count > 0 {
        answer += buffer[..<count]
        guard answer.count <= Self.limit else { throw refused("\(path): the answer is longer than 1 MiB") }
      } else if errno == EAGAIN {
        try wait(descriptor, for: POLLIN)
      } else if errno != EINTR {
        throw refused("\(path): \(Self.words(errno))")
      }
    }
  }

  private func wait(_ descriptor: Int32, for event: Int32) throws(StoreError) {
    while true {
      try checkDeadline()
      var wanted = pollfd(fd: descriptor, events: Int16(event), revents: 0)
      if poll(&wanted, 1, Int32(Self.pollInterval)) > 0 { return }
    }
  }

  private func pause() throws(StoreError) {
    try checkDeadline()
    poll(nil, 0, Int32(Self.pollInterval))
  }

  private func checkDeadline() throws(StoreError) {
    try Cancellation.checkCurrent()
    guard ContinuousClock.now < deadline else {
      throw refused("\(path): no answer in time", hint: "look at the service's log, or wait longer")
    }
  }

  // MARK: The answer

  /// Parses a complete answer.
  func parsed(_ answer: [UInt8]) throws(StoreError) -> Answer {
    guard let headEnd = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { throw foreign }
    let lines = String(decoding: answer[..<headEnd.lowerBound], as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = lines[0].split(separator: " ")
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3,
      words[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(words[1])
    else {
      throw foreign
    }
    let body = Array(answer[headEnd.upperBound...])
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "content-length" else { continue }
      guard Int(parts[1].filter { $0 != " " }) == body.count else {
        throw refused("\(path): the answer was cut short", hint: "try again")
      }
    }
    return Answer(status: status, body: body)
  }

  private var foreign: StoreError {
    refused("\(path): the answer is no HTTP", hint: "it may be another program's socket")
  }

  private func refused(_ reason: String, hint: ErrorHint? = nil) -> StoreError {
    StoreError(.notConfirmed, "the commits are not confirmed: \(reason)", hint: hint)
  }

  private static func words(_ number: Int32) -> String { String(cString: strerror(number)) }
}
