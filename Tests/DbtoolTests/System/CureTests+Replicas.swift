import CofferTestSupport
import Foundation
import Testing

// The hints about Litestream's control socket.

extension CureTests {
  private static let confirming = ["replica", "confirm", "s.coffer", "l"]

  /// Opens a control socket that gives these answers, in which PATH is the store's path, and confirms after them.
  private static func serve(_ answers: [AnsweringSocket.Answer], in sandbox: Sandbox) throws {
    let path = sandbox.directory.resolvingSymlinksInPath().appending(path: "s.coffer").path
    let confirmation = #"{"status":"synced","path":"PATH","txid":4,"replicated_txid":4}"#
    let all = (answers + [.json(200, confirmation)]).map { answer -> AnsweringSocket.Answer in
      guard case .json(let status, let body) = answer else { return answer }
      return .json(status, body.replacing("PATH", with: path))
    }
    _ = try AnsweringSocket(at: sandbox.directory.appending(path: "l"), all)
  }

  private static let refusals: [(name: String, answers: [AnsweringSocket.Answer], hint: String)] = [
    (
      "store outside Litestream's configuration", [.json(404, "{}"), .json(200, #"{"databases":[]}"#)],
      "add the store to Litestream's configuration and start it again"
    ),
    (
      "replica behind", [.json(200, #"{"status":"synced","path":"PATH","txid":4,"replicated_txid":3}"#)],
      "try again"
    ),
    ("replica without space", [.json(500, #"{"error":"no space"}"#)], "look at Litestream's log"),
    ("answer of another service", [.json(200, "synced")], "/l may be another program's socket"),
    ("answer in another protocol", [.bytes("SSH-2.0-x\r\n\r\n")], "it may be another program's socket"),
    ("cut answer", [.bytes("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{")], "try again"),
  ]

  static let replicas: [Case] =
    refusals.map { refusal in
      Case(
        name: refusal.name, prepare: { try serve(refusal.answers, in: $0) }, fails: confirming, hint: refusal.hint,
        cures: [confirming])
    } + [
      Case(
        name: "silent service", prepare: { try serve([.silence], in: $0) }, fails: confirming + ["--timeout", "0.05"],
        hint: "look at the service's log, or wait longer", cures: [confirming])
    ]

  @Test func startedServiceConfirms() throws {
    let sandbox = try Sandbox.withStore()
    let long = try sandbox.run("replica", "confirm", "s.coffer", String(repeating: "x", count: 120))
    #expect(long.errors.contains("hint: choose a shorter one in the service's configuration"), "\(long.errors)")
    let missing = try sandbox.run(Self.confirming)
    #expect(missing.errors.contains("hint: start the service, and enable its control socket"), "\(missing.errors)")
    try Self.serve([], in: sandbox)
    try sandbox.succeed(Self.confirming)
  }
}
