import Coffer
import CofferReplication
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Anchors confirmed by a replication program.
struct ConfirmationTests {
  private func synced(_ path: String, txid: Int = 7, replicated: Int = 7, status: String = "synced") -> String {
    #"{"status":"\#(status)","path":"\#(path)","txid":\#(txid),"replicated_txid":\#(replicated)}"#
  }

  private func socket(_ test: TestStore, _ answers: AnsweringSocket.Answer...) throws -> AnsweringSocket {
    try AnsweringSocket(at: test.place.file("s"), answers)
  }

  @Test(arguments: ["synced", "no_change"])
  func returnsAnchorOfCompleteReplica(_ status: String) throws {
    let test = try TestStore { $0.journal = .writeAheadLog }
    let path = test.url.path
    let socket = try socket(test, .json(200, synced(path, status: status)))
    let anchor = try test.store.confirm(by: .litestream(socket: socket.url))
    #expect(try anchor == test.store.anchor())
    let request = try #require(socket.received.first)
    #expect(request.hasPrefix("POST /sync HTTP/1.0 "))
    struct Sync: Decodable { var path: String, wait: Bool, timeout: Int }
    let body = try JSONDecoder().decode(Sync.self, from: Data(request.dropFirst("POST /sync HTTP/1.0 ".count).utf8))
    // Without `wait`, the program would only confirm its copy on this machine.
    #expect(body.path == path && body.wait && body.timeout == 30)
  }

  @Test func returnsAnchorTakenBeforeRequest() throws {
    let test = try TestStore()
    let anchor = try test.store.anchor()
    let service = ReplicationService("copier") { url, _ in
      #expect(url.path == test.url.path)
      try test.store.write { _ = try $0.insert(Document(text: "later"), into: test.notes) }
    }
    #expect(try test.store.confirm(by: service) == anchor)
    #expect(try test.store.anchor() != anchor)
  }

  @Test func findsLinkedFileInList() throws {
    let test = try TestStore()
    let other = test.place.file("link.coffer")
    try FileManager.default.createSymbolicLink(at: other, withDestinationURL: test.url)
    let list = #"{"databases":[{"path":"/none","status":"open"},{"path":"\#(other.path)","status":"open"}]}"#
    let socket = try socket(
      test, .json(404, #"{"error":"database not found"}"#), .json(200, list), .json(200, synced(other.path)))
    _ = try test.store.confirm(by: .litestream(socket: socket.url))
    #expect(socket.received.map { $0.prefix(10) } == ["POST /sync", "GET /list ", "POST /sync"])
  }

  /// Answers without a confirmation, and the expected words of the error message.
  static let refusals: [(AnsweringSocket.Answer, String)] = [
    (.json(200, #"{"status":"synced_local","path":"PATH","txid":7,"replicated_txid":7}"#), "synced_local"),
    (.json(200, #"{"status":"synced","path":"PATH","txid":7,"replicated_txid":6}"#), "transaction 6 of 7"),
    (.json(200, #"{"status":"no_change","path":"PATH","txid":0,"replicated_txid":0}"#), "transaction 0 of 0"),
    (.json(200, #"{"status":"synced","path":"/other","txid":7,"replicated_txid":7}"#), "for /other"),
    (.json(200, #"{"status":"synced"}"#), "not one of Litestream"),
    (.json(200, "synced"), "not one of Litestream"),
    (.json(500, #"{"error":"replica sync: no space\u001b[2J"}"#), "status 500: replica sync: no space[2J"),
    (.json(409, "{}"), "status 409"),
    (.bytes(""), "no HTTP"),
    (.bytes("SSH-2.0-x\r\n\r\n"), "no HTTP"),
    (.bytes("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{"), "cut short"),
    (.bytes("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 2 << 20)), "longer than 1 MiB"),
  ]

  @Test(arguments: refusals.indices)
  func rejectsAnswerWithoutConfirmation(_ index: Int) throws {
    let test = try TestStore()
    var (answer, words) = Self.refusals[index]
    if case .json(let status, let body) = answer {
      answer = .json(status, body.replacing("PATH", with: test.url.path))
    }
    let socket = try socket(test, answer)
    expect(.notConfirmed) {
      do {
        return try test.store.confirm(by: .litestream(socket: socket.url))
      } catch {
        #expect("\(error)".contains(words), "\(error)")
        throw error
      }
    }
  }

  @Test func rejectsDeadSockets() throws {
    let test = try TestStore()
    for place in ["none", "test.coffer", "."] {
      expect(.notConfirmed) { try test.store.confirm(by: .litestream(socket: test.place.file(place))) }
    }
    let long = test.place.file(String(repeating: "x", count: 200))
    expect(.notConfirmed) { try test.store.confirm(by: .litestream(socket: long)) }
  }

  @Test func silentSocketTimesOut() throws {
    let test = try TestStore()
    let socket = try socket(test, .silence)
    expect(.notConfirmed) { try test.store.confirm(by: .litestream(socket: socket.url), timeout: .milliseconds(50)) }
  }

  @Test func cancelingTaskEndsConfirmation() async throws {
    let test = try TestStore()
    let socket = try socket(test, .silence)
    let (store, url) = (test.store, socket.url)
    let task = Task {
      try await store.perform { try $0.confirm(by: .litestream(socket: url), timeout: .seconds(3600)) }
    }
    await yieldUntil { !socket.received.isEmpty }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func failedServicePreventsConfirmation() throws {
    let test = try TestStore()
    let service = ReplicationService("copier") { _, _ in throw Interruption() }
    expect(.notConfirmed) { try test.store.confirm(by: service) }
    let silent = ReplicationService("copier") { _, _ in }
    try test.store.write { writer in
      _ = try writer.insert(Document(text: ""), into: test.notes)
      expect(.misuse) { try test.store.confirm(by: silent) }
    }
  }

  @Test func anchorDetectsFalseConfirmation() throws {
    let test = try TestStore()
    let replica = test.place.file("replica.coffer")
    try test.store.backup(to: replica)
    try test.store.write { _ = try $0.insert(Document(text: "not copied"), into: test.notes) }
    let anchor = try test.store.confirm(by: ReplicationService("liar") { _, _ in })
    let restored = try DocumentStore.open(at: replica, key: .published("primary"), options: .testing)
    #expect(try restored.verify().isSound)
    expect(.rolledBack) { try restored.relation(to: anchor) }
  }

  @Test func rejectsReplacedFile() throws {
    let test = try TestStore()
    let copy = test.place.file("copy.coffer")
    try test.store.backup(to: copy)
    let service = ReplicationService("copier") { url, _ in
      try FileManager.default.removeItem(at: url)
      try FileManager.default.moveItem(at: copy, to: url)
    }
    expect(.noSuchFile) { try test.store.confirm(by: service) }
  }
}
