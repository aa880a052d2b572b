import Coffer
import CofferEngine
import CofferSealing
import CofferTestSupport
import Foundation
import Testing

/// Every verb beside a slot that nobody can open. `DamagedSlotTests` has more kinds of damage.
@Suite struct DamagedSlotVerbTests {
  struct Damage: CustomTestStringConvertible, Sendable {
    let name: String
    let kind: UInt32
    let parameters: [UInt8]
    let reason: String

    var testDescription: String { name }
  }

  private static let point = [9] + [UInt8](repeating: 0, count: 31)

  private static let damages = [
    Damage(
      name: "recipient", kind: 3, parameters: point + [UInt8](repeating: 0, count: 32),
      reason: "its public key is of small order"),
    Damage(
      name: "passphrase", kind: 1, parameters: [31, 8, 1] + [UInt8](repeating: 7, count: 16),
      reason: "scrypt logN 31 is not in 10…14 of a TEST store"),
    Damage(name: "key-file", kind: 2, parameters: [1, 2, 3], reason: "params of a key file slot has another length"),
  ]

  /// A store with slot 1 for `primary.key`, and a damaged slot 2 with the label "Ann".
  private func sandbox(_ damage: Damage) throws -> Sandbox {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "-c", "notes", "--text", "kept", "--title", "one")
    var options = OpenOptions()
    options.allowsTestKeys = true
    let store = try DocumentStore.open(
      at: URL(filePath: sandbox.path("s.coffer")), key: .keyFile(URL(filePath: sandbox.path("primary.key"))),
      options: options)
    try store.engine.changingSlots { slots, _ throws(StoreError) in
      slots.append(
        KeySlotRecord(
          slot: 2, kind: damage.kind, label: "Ann", parameters: damage.parameters,
          wrapped: [UInt8](repeating: 7, count: 48)))
    }
    try store.close()
    return sandbox
  }

  private static let verbs: [[String]] = [
    ["ls", "s.coffer"], ["show", "s.coffer", "1"], ["search", "s.coffer", "kept"],
    ["query", "s.coffer", "SELECT id FROM documents"], ["export", "s.coffer", "-o", "out.ndjson"],
    ["put", "s.coffer", "-c", "notes", "--text", "new"], ["mv", "s.coffer", "1", "--to", "top"],
    ["import", "s.coffer", "in.txt", "-c", "notes"], ["rm", "s.coffer", "1"],
    ["collection", "list", "s.coffer"], ["index", "add", "s.coffer", "-c", "notes", "words"],
    ["key", "list", "s.coffer"], ["key", "add", "s.coffer", "-R", "recipient.txt"],
    ["key", "add", "s.coffer", "--new-key-file", "next.key"], ["key", "remove", "s.coffer", "2"],
    ["key", "passwd", "s.coffer", "2", "--new-key-file", "next.key"],
    ["key", "passwd", "s.coffer", "--new-key-file", "next.key"], ["rekey", "s.coffer", "--drop-slots"],
    ["rekey", "s.coffer", "--new-key-file", "next.key", "--drop-slots"],
    ["rekey", "s.coffer", "--keys-only", "--drop-slots"], ["info", "s.coffer"], ["verify", "s.coffer"],
    ["verify", "s.coffer", "--quick"], ["verify", "s.coffer", "--keyless"],
    ["verify", "s.coffer", "--save-anchor", "anchor"], ["compact", "s.coffer"], ["backup", "s.coffer", "b.coffer"],
    ["restore", "n.coffer", "s.coffer"], ["restore", "s.coffer", "s2.coffer", "1"],
    ["copy", "s.coffer", "n.coffer", "--new-key-file", "next.key"],
    ["copy", "s.coffer", "n.coffer", "--salvage", "--new-key-file", "next.key"], ["diff", "s.coffer", "s2.coffer"],
    ["merge", "s.coffer", "m.coffer", "-k", "primary.key", "-k", "next.key"],
    ["replica", "tail", "s.coffer", "--since", "1"],
  ]

  @Test(.slow, arguments: damages)
  func verbsSucceed(_ damage: Damage) throws {
    let sandbox = try sandbox(damage)
    try sandbox.write("in.txt", "more\n")
    let bytes = try sandbox.read("s.coffer")
    try sandbox.succeed("copy", "s.coffer", "m.coffer", "--editable", "--new-key-file", "next.key")
    for verb in Self.verbs {
      try sandbox.write("s.coffer", bytes: bytes)
      try sandbox.write("s2.coffer", bytes: bytes)
      for name in ["n.coffer", "b.coffer", "out.ndjson", "anchor"] where sandbox.exists(name) {
        try sandbox.remove(name)
      }
      let result = try sandbox.run(verb)
      #expect(result.status == 0, "\(verb): \(result.errors)")
      #expect(!result.errors.contains("damaged"), "\(verb): \(result.errors)")
    }
  }

  private struct Listed: Decodable {
    struct Slot: Decodable {
      let slot: Int
      let kind: String
      let label: String
      let detail: String
    }

    let slots: [Slot]?
    let unusableSlots: [Slot]?
  }

  @Test(arguments: damages)
  func listsNameSlot(_ damage: Damage) throws {
    let sandbox = try sandbox(damage)
    func expect(_ slot: Listed.Slot?) {
      #expect(slot?.slot == 2 && slot?.kind == damage.name && slot?.label == "Ann")
      #expect(slot?.detail == "nobody can open it: \(damage.reason)")
    }
    expect(try sandbox.succeed("info", "s.coffer", "--json").json(Listed.self).slots?.last)
    expect(try sandbox.succeed("key", "list", "s.coffer", "--json").json([Listed.Slot].self).last)
    for options in [[], ["--quick"], ["--keyless"]] {
      let listed = try sandbox.succeed(["verify", "s.coffer", "--json"] + options).json(Listed.self)
      expect(listed.unusableSlots?.first)
      let note = try sandbox.succeed(["verify", "s.coffer"] + options).diagnostics
      let kind = damage.name.replacing("-", with: " ")
      #expect(note.contains("nobody can open slot 2 (\(kind), Ann): \(damage.reason); rekey --drop-slots"))
    }
    try sandbox.succeed("rekey", "s.coffer", "--drop-slots")
    #expect(try sandbox.succeed("verify", "s.coffer", "--json").json(Listed.self).unusableSlots == nil)
  }

  @Test(arguments: damages)
  func rekeyHintDropsSlot(_ damage: Damage) throws {
    let sandbox = try sandbox(damage)
    for options in [[], ["--keep-recipient", "all"], ["--new-key-file", "next.key"]] {
      let result = try sandbox.run(["rekey", "s.coffer"] + options)
      #expect(result.status == 13)
      #expect(result.diagnostics.contains("nobody can open slot 2"), "\(result.errors)")
      #expect(result.diagnostics.contains("hint: drop it with rekey --drop-slots"), "\(result.errors)")
    }
    let kept = try sandbox.run("rekey", "s.coffer", "--keep-recipient", "2")
    #expect(kept.status == 64 && kept.diagnostics.contains("slot 2 is not a recipient's slot that can be kept"))
    try sandbox.succeed("rekey", "s.coffer", "--drop-slots")
    try sandbox.succeed("show", "s.coffer", "1")
  }

  /// The hint for the person whose slot is damaged.
  @Test(arguments: damages)
  func holderLearnsCure(_ damage: Damage) throws {
    let sandbox = try sandbox(damage)
    let key =
      switch damage.kind {
      case 1: ["--passphrase-file", "passphrase.txt"]
      case 2: ["--key-file", "next.key"]
      default: ["--key-file", "identity.key"]
      }
    let result = try sandbox.run(["ls", "s.coffer"] + key)
    #expect(result.status != 0 && result.status != 1)
    #expect(result.diagnostics.contains("nobody can open slot 2"), "\(result.errors)")
    #expect(result.diagnostics.contains(damage.reason), "\(result.errors)")
    let cure = "open the store with the key of another slot, and drop the damaged one with rekey --drop-slots"
    #expect(result.diagnostics.contains(cure), "\(result.errors)")
    try sandbox.succeed("rekey", "s.coffer", "--drop-slots")
    try sandbox.succeed(["key", "add", "s.coffer", "-R", "recipient.txt"])
    try sandbox.succeed("ls", "s.coffer", "--key-file", "identity.key")
  }
}
