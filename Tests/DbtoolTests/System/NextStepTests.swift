import CofferSQLite
import Foundation
import Testing

/// Tests that each failure to open a store has its own exit code, error kind and next step.
@Suite struct NextStepTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let name: String
    let status: Int32
    let kind: String
    let hint: String
    let prepare: @Sendable (Sandbox) throws -> [String]

    var testDescription: String { name }
  }

  private static func sql(_ sandbox: Sandbox, _ statements: String...) throws {
    let database = try Database(sandbox.path("s.coffer"))
    for statement in statements { try database.execute(statement) }
    try database.close()
  }

  static let cases: [Case] = [
    Case(name: "wrong key", status: 12, kind: "cannot-unlock", hint: "info lists the slots") { _ in
      ["ls", "s.coffer", "--key-file", "wrong.key"]
    },
    Case(name: "wrong passphrase", status: 12, kind: "cannot-unlock", hint: "info lists the slots") { _ in
      ["ls", "s.coffer", "--passphrase-file", "passphrase.txt"]
    },
    Case(name: "key needed", status: 13, kind: "key-needed", hint: "give one of --key-file") { _ in
      ["ls", "s.coffer", "--passphrase"]
    },
    Case(name: "missing secret of a slot", status: 13, kind: "key-needed", hint: "--drop-slots") { sandbox in
      try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key")
      return ["rekey", "s.coffer"]
    },
    Case(name: "newer format", status: 15, kind: "other-format", hint: "update this program") { sandbox in
      try sql(sandbox, "PRAGMA user_version = 4")
      return ["ls", "s.coffer"]
    },
    Case(name: "newer features", status: 15, kind: "other-format", hint: "update this program") { sandbox in
      try sql(sandbox, "UPDATE coffer_header SET incompat = incompat | 64")
      return ["ls", "s.coffer"]
    },
    Case(name: "TEST store", status: 16, kind: "test-key-refused", hint: "DBTOOL_ALLOW_TEST_KEYS=1") { sandbox in
      sandbox.environment["DBTOOL_ALLOW_TEST_KEYS"] = nil
      return ["ls", "s.coffer"]
    },
    Case(name: "test key for a real store", status: 16, kind: "test-key-refused", hint: "key of your own") { sandbox in
      try sandbox.succeed("keygen", "real.key")
      try sandbox.succeed("create", "real.coffer", "--key-file", "real.key")
      return ["ls", "real.coffer", "--key-file", "primary.key"]
    },
    Case(name: "damaged header", status: 20, kind: "damaged", hint: "restore") { sandbox in
      try sql(sandbox, "UPDATE coffer_header SET titles = 1")
      return ["ls", "s.coffer"]
    },
    Case(name: "damaged document", status: 20, kind: "damaged", hint: "restore") { sandbox in
      try sql(sandbox, "UPDATE coffer_record SET body = zeroblob(length(body))")
      return ["show", "s.coffer", "1"]
    },
    Case(name: "slot out of bounds", status: 20, kind: "parameters-refused", hint: "restore") { sandbox in
      try sql(sandbox, "UPDATE coffer_slot SET params = x'00'")
      return ["ls", "s.coffer"]
    },
    Case(name: "an older state put back", status: 21, kind: "rolled-back", hint: "restore the store from a backup") {
      sandbox in
      let database = try Database(sandbox.path("s.coffer"))
      let old = try database.query("SELECT hex(sealed) FROM coffer_state").rows[0][0]
      try database.close()
      try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key")
      guard case .text(let digits) = old else { return [] }
      try sql(sandbox, "UPDATE coffer_state SET sealed = x'\(digits)'")
      return ["ls", "s.coffer"]
    },
    Case(name: "an older file put back", status: 21, kind: "rolled-back", hint: "newer copy") { sandbox in
      let old = try sandbox.read("s.coffer")
      try sandbox.succeed("put", "s.coffer", "--text", "more")
      let anchor = try sandbox.succeed("verify", "--anchor-only", "--save-anchor", "-", "s.coffer").lines[0]
      try sandbox.write("s.coffer", bytes: old)
      return ["verify", "s.coffer", "--anchor-only", "--anchor", anchor]
    },
    Case(name: "another store", status: 21, kind: "pin-mismatch", hint: "ask the maker") { _ in
      ["ls", "s.coffer", "--pin", "coffer-pin-3-" + String(repeating: "1", count: 128)]
    },
  ]

  @Test(arguments: cases)
  func refusalHasCodeAndNextStep(_ example: Case) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    let arguments = try example.prepare(sandbox)
    let before = try sandbox.read("s.coffer")
    let result = try sandbox.run(arguments + ["--json"])
    #expect(result.status == example.status, "\(result.errors)")
    #expect(result.output.isEmpty)
    let lines = result.diagnostics.split(separator: "\n")
    #expect(
      lines.last?.hasPrefix(#"{"error":{"code":\#(example.status),"kind":"\#(example.kind)","#) == true, "\(lines)")
    let hint = try #require(lines.first { $0.hasPrefix("hint: ") }, "\(lines)")
    #expect(hint.contains(example.hint))
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func lockedStoreHasCodeAndNextStep() throws {
    let sandbox = try Sandbox.withStore()
    let database = try Database(sandbox.path("s.coffer"))
    try database.execute("BEGIN EXCLUSIVE")
    let result = try sandbox.run("ls", "s.coffer", "--wait", "0", "--json")
    #expect(result.status == 11)
    #expect(result.diagnostics.contains("hint: try again") && result.diagnostics.contains(#""kind":"locked""#))
    try database.execute("ROLLBACK")
  }
}
