import Coffer
import CofferEngine
import CofferRecords
import CofferSQLite
import CofferSealing
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferStoreTestSupport

/// Slots in a hostile file, which are never tried. Where only such slots are of a secret's kind, the secret isn't requested.
struct HostileSlotTests: OpeningSuite {
  let place: Workplace
  let url: URL

  init() throws {
    place = try Workplace()
    url = place.file("some.coffer")
  }

  /// Expects opening to fail for every kind of secret, without requesting the secret.
  private func expectRefusedWithoutAsking(
    _ code: StoreError.Code, naming field: String, options: OpenOptions = .testing,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let asked = Mutex(0)
    let ask: @Sendable () -> Secret = {
      asked.withLock { $0 += 1 }
      return .text("words")
    }
    for key in [StoreKey.passphrase { ask() }, .keyMaterial { ask() }, .provider(name: "vault") { _ in ask() }] {
      do throws(StoreError) {
        _ = try DocumentStore.open(at: url, key: key, options: options)
        Issue.record("it opened", sourceLocation: location)
      } catch {
        #expect(error.code == code && error.message.contains(field), "\(error)", sourceLocation: location)
      }
    }
    try expectRefused(code, options: options, location: location)
    #expect(asked.withLock { $0 } == 0, sourceLocation: location)
  }

  private func edit(_ statement: String) throws {
    let database = try Database(url.path)
    try database.execute(statement)
    try database.close()
  }

  /// A writer can give values of any length to any number of rows, which aren't read.
  @Test(arguments: [("label", "printf('%020000d', 0)"), ("params", "zeroblob(20000)"), ("wrapped", "zeroblob(20000)")])
  func rejectsLongValuesUnread(_ column: String, _ value: String) throws {
    try makeStore(keys: [.published("primary")], recipients: [])
    try edit("UPDATE coffer_slot SET \(column) = \(value)")
    let message = "a value is longer than the format allows"
    do throws(StoreError) {
      _ = try DocumentStore.info(at: url)
      Issue.record("it was read")
    } catch {
      #expect(error.code == .damaged && error.message.contains(message), "\(error)")
    }
    try expectRefused(.damaged)
  }

  private static let provider: @Sendable ([UInt8]) throws -> Secret = { _ in .text(String(repeating: "a", count: 32)) }

  @Test(arguments: [
    (1, "x'0a0801'", "params"), (1, "zeroblob(4096)", "params"), (2, "x''", "params"), (2, "zeroblob(17)", "params"),
    (3, "zeroblob(63)", "params"), (3, "zeroblob(65)", "params"), (4, "zeroblob(16)", "external slot"),
    (4, "CAST(zeroblob(16) || x'ff' || 'vault' AS BLOB)", "provider name"),
    (4, "CAST(zeroblob(16) || x'00' || 'vault' AS BLOB)", "provider name"),
    (4, "CAST(zeroblob(16) || x'05' || 'Vault' AS BLOB)", "provider name"),
    (4, "CAST(zeroblob(16) || x'05' || '; sh;' AS BLOB)", "provider name"),
  ])
  func rejectsMalformedParameters(_ kind: Int, _ parameters: String, _ field: String) throws {
    try makeStore(
      keys: [.published("primary"), .words("words"), .provider(name: "vault", Self.provider)],
      recipients: kind == 3 ? [PublishedKeys.recipient] : [])
    try edit("UPDATE coffer_slot SET params = \(parameters) WHERE kind = \(kind)")
    let asked = Mutex(0)
    let ask: @Sendable () -> Secret = {
      asked.withLock { $0 += 1 }
      return .text("words")
    }
    let key: StoreKey =
      switch kind {
      case 1: .passphrase { ask() }
      case 2: .published("primary")
      case 3: .identity(PublishedKeys.url("identity"))
      default: .provider(name: "vault") { _ in ask() }
      }
    do throws(StoreError) {
      _ = try DocumentStore.open(at: url, key: key, options: .testing)
      Issue.record("it opened")
    } catch {
      #expect(error.code == .parametersRefused && error.message.contains(field), "\(error)")
    }
    #expect(asked.withLock { $0 } == 0)
    // The keys of other slots get as far as the edited header.
    try expectRefused(.damaged, key: kind == 2 ? .words("words") : .published("primary"))
  }

  @Test func limitsTotalPassphraseCost() throws {
    try makeStore(keys: (1...64).map { .words("words \($0)") })
    let before = try Data(contentsOf: url)
    // The limit allows 64 slots of 2^10, so the last slot opens.
    try DocumentStore.open(at: url, key: .words("words 64"), options: .testing).close()
    #expect(try Data(contentsOf: url) == before)
    // 64 slots of 2^14 cost twice the limit.
    try edit("UPDATE coffer_slot SET params = CAST(x'0e0801' || substr(params,4) AS BLOB)")
    let asked = Mutex(0)
    let passphrase = StoreKey.passphrase {
      asked.withLock { $0 += 1 }
      return .text("words 64")
    }
    try expectRefused(.parametersRefused, key: passphrase)
    #expect(asked.withLock { $0 } == 0)
    try expectRefused(.parametersRefused, key: .keyMaterial { .text("words 64") })
    // A key line doesn't apply to any of these slots.
    try expectRefused(.cannotUnlock, key: .published("primary"))
    try edit("INSERT INTO coffer_slot SELECT slot + 64, kind, label, params, wrapped FROM coffer_slot WHERE slot = 1")
    try expectRefusedWithoutAsking(.parametersRefused, naming: "slot")
  }

  @Test func opensKeyFileWithoutPassphraseCost() throws {
    // The passphrase slots are within the limits, but trying them would take seconds.
    try makeStore(keys: (1...7).map { .words("words \($0)") } + [.published("primary")])
    let store = try DocumentStore.open(at: url, key: .published("primary"), options: .testing)
    #expect(try store.keys.list().first { $0.opened }?.slot == 8)
  }

  @Test func ignoresUnknownSlotKind() throws {
    try makeStore(keys: [.published("primary"), .published("next")])
    try edit("UPDATE coffer_slot SET kind = 5, params = zeroblob(4096) WHERE slot = 2")
    // An unknown kind isn't a reason to refuse the store, but the header's MAC detects the edit.
    try expectRefused(.cannotUnlock, key: .published("next"))
    try expectRefused(.damaged)
  }

  /// Only the caller chooses the provider, so a name in the file is never run.
  @Test func skipsProviderWithOtherName() throws {
    try makeStore(keys: [.provider(name: "vault", Self.provider), .published("primary")])
    let asked = Mutex<[[UInt8]]>([])
    let key = StoreKey.provider(name: "other") { blob in
      asked.withLock { $0.append(blob) }
      return try Self.provider(blob)
    }
    try expectRefused(.cannotUnlock, key: key)
    try expectRefused(.cannotUnlock, key: .words("vault"))
    #expect(asked.withLock { $0 }.isEmpty)
  }

  @Test func rejectsProviderKeysOfWrongLength() throws {
    try makeStore(keys: [.provider(name: "vault", Self.provider), .published("primary")])
    for count in [0, 1, 31, 33, 1024, 1025, 70_000] {
      try expectRefused(
        .cannotUnlock, key: .provider(name: "vault") { _ in .text(String(repeating: "a", count: count)) })
    }
  }

  // MARK: Mutations

  /// Parameters with changed, added and removed bytes are parsed or refused, without trapping or exceeding the work
  /// limit.
  @Test func parsesMutatedParametersWithoutTrapping() throws {
    var generator = Pseudorandom(seed: 0xC0FFE)
    let salt = [UInt8](repeating: 7, count: 16)
    let sound: [(UInt32, [UInt8])] = [
      (1, [10, 8, 1] + salt), (1, [17, 8, 1] + salt), (2, salt), (3, salt + salt + salt + salt),
      (4, salt + [5] + Array("vault".utf8)), (4, salt + [2] + Array("tp".utf8) + [1, 2, 3]),
    ]
    for round in 0..<30_000 {
      var (kind, bytes) = sound[round % sound.count]
      for _ in 0...Int.random(in: 0...3, using: &generator) {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0 where !bytes.isEmpty:
          bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= 1 << Int.random(in: 0..<8, using: &generator)
        case 1 where !bytes.isEmpty:
          bytes[Int.random(in: 0..<min(20, bytes.count), using: &generator)] = .random(
            in: .min ... .max, using: &generator)
        case 2:
          bytes.insert(
            .random(in: .min ... .max, using: &generator), at: Int.random(in: 0...bytes.count, using: &generator))
        case 3 where !bytes.isEmpty: bytes.remove(at: Int.random(in: 0..<bytes.count, using: &generator))
        default: kind = UInt32.random(in: 0...6, using: &generator)
        }
      }
      for isTest in [false, true] {
        do throws(SealingError) {
          guard let parameters = try SlotParameters(kind: kind, bytes: bytes, isTest: isTest) else {
            #expect(!(1...4).contains(kind))
            continue
          }
          #expect(parameters.kind == kind && parameters.bytes == bytes)
          if case .passphrase(let cost, _) = parameters {
            #expect(cost.r == 8 && cost.work <= ScryptCost.maximumTotalWork * 4 && (cost.logN < 15) == isTest)
          }
        } catch {
          #expect(error.code == .parametersRefused)
        }
      }
    }
  }

  @Test(.slow) func parsesOrRejectsMutatedKeyFiles() throws {
    var generator = Pseudorandom(seed: 0xF11E)
    let lines =
      try ["primary", "identity"].map { try Data(contentsOf: PublishedKeys.url($0)) } + [
        Data(try PublishedKeys.recipient.line.utf8)
      ]
    let pieces: [[UInt8]] = [
      [0x0A], [0x0D, 0x0A], [0], [0x20], Array("# x\n".utf8), Array("coffer-".utf8), [0xEF, 0xBB, 0xBF],
    ]
    for round in 0..<20_000 {
      let original = [UInt8](lines[round % lines.count])
      var bytes = original
      for _ in 0...Int.random(in: 0...2, using: &generator) {
        let place = Int.random(in: 0..<max(1, bytes.count), using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where !bytes.isEmpty: bytes[place] ^= 1 << Int.random(in: 0..<8, using: &generator)
        case 1: bytes.insert(contentsOf: pieces.randomElement(using: &generator)!, at: place)
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + 3))
        default: bytes = Array(bytes.prefix(place)) + bytes
        }
      }
      do throws(SealingError) {
        // If only comments and line endings changed, parsing still returns the original key.
        let line = try KeyLine(parsing: .init(copyingBytes: bytes)).line()
        #expect(
          original.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.contains(
            line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }))
      } catch {
        #expect(error.code == .invalidKeyLine)
      }
    }
  }
}

extension Secret {
  fileprivate convenience init(copyingBytes bytes: [UInt8]) {
    self.init(byteCount: bytes.count) { memory in
      memory.copyBytes(from: bytes)
      return bytes.count
    }
  }
}
