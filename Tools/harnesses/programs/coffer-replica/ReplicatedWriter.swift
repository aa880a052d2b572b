internal import Coffer
internal import CofferReplication
internal import Foundation

/// One commit after the other: documents are inserted, changed, moved and deleted at random.
final class ReplicatedWriter: Sendable {
  private static let notes = DocumentCollection("Zwetschge")

  private let store: DocumentStore
  private let seed: UInt64

  init(store path: String, key: String, seed: UInt64) throws {
    var options = OpenOptions()
    options.allowsTestKeys = true
    options.wait = .seconds(30)
    store = try DocumentStore.open(at: URL(filePath: path), key: .keyFile(URL(filePath: key)), options: options)
    self.seed = seed
  }

  /// Prints `confirmed ANCHOR` after each confirmation, on another thread. A refusal is printed and tried again.
  func confirm(by socket: String, every milliseconds: Double) {
    let service = ReplicationService.litestream(socket: URL(filePath: socket))
    Thread.detachNewThread { [store] in
      while true {
        do {
          let start = ContinuousClock.now
          let anchor = try store.confirm(by: service, timeout: .seconds(5))
          say("confirmed \(anchor) \((ContinuousClock.now - start) / .milliseconds(1))")
        } catch {
          say("unconfirmed \(error)")
        }
        Thread.sleep(forTimeInterval: milliseconds / 1000)
      }
    }
  }

  /// Prints `commit GENERATION ACT ID` after each commit.
  func run(rate: Double) throws -> Never {
    var random = Numbers(state: seed)
    var next = Date()
    while true {
      let roll = Int.random(in: 0..<100, using: &random)
      let place = Int.random(in: 0..<1_000_000, using: &random)
      let size = Int.random(in: 10..<(roll == 0 ? 40_000 : 1500), using: &random)
      let (act, id) = try store.write { writer -> (String, DocumentID) in
        let count = try writer.count(in: Self.notes)
        let text = "Waldschrat \(place) " + String(repeating: "x", count: size)
        guard count > 20, roll >= 50,
          let header = try writer.headers(in: Self.notes, offset: place % count, limit: 1).first
        else {
          return ("inserted", try writer.insert(Document(title: "Nachtigall", text: text), into: Self.notes))
        }
        switch roll {
        case 50..<75: try writer.update(header.id) { $0.text = text }
        case 75..<85: try writer.move(header.id, to: .top)
        default: try writer.delete(header.id)
        }
        return (roll < 75 ? "changed" : roll < 85 ? "moved" : "deleted", header.id)
      }
      let generation = try store.read { $0.generation }
      say("commit \(generation) \(act) \(id)")
      next = max(next.addingTimeInterval(1 / rate), Date().addingTimeInterval(-0.5))
      let rest = next.timeIntervalSinceNow
      if rest > 0 { Thread.sleep(forTimeInterval: rest) }
    }
  }
}

/// SplitMix64.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
