import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A finished rekey removes all earlier values from used pages, free pages and journals.
struct ResidueTests {
  /// Inserts, changes and deletes documents to split, merge and free pages, and returns all values written.
  private func lived(_ test: TestStore) throws -> Residue {
    var residue = Residue()
    var random = Pseudorandom(seed: 7)
    func document(_ number: Int) -> Document {
      let title = "Klartitel \(number) " + String(repeating: "t", count: random.number(below: 300))
      residue.add(Data(title.utf8.prefix(24)))
      return Document(
        title: title,
        text: String(repeating: "x", count: random.number(below: number.isMultiple(of: 9) ? 30_000 : 900)),
        key: number.isMultiple(of: 2) ? DocumentKey("key \(number)") : nil)
    }
    for round in 0..<4 {
      try test.store.write { writer in
        for number in 1...120 {
          let id = try writer.insert(
            document(1000 * round + number), into: DocumentCollection("c\(number % 3)"),
            at: number.isMultiple(of: 5) ? .top : .bottom)
          let other = DocumentID(1 + random.number(below: Int(id.rawValue)))
          guard try writer.exists(other) else { continue }
          switch random.number(below: 3) {
          case 0: try writer.delete(other)
          case 1: try writer.update(other) { $0 = document(1000 * round + 500 + number) }
          default: try writer.move(other, to: .bottom)
          }
        }
      }
      try residue.addSealedValues(of: test.raw())
    }
    return residue
  }

  @Test(.slow, arguments: CreateOptions.Journal.allCases, CreateOptions.Titles.allCases)
  func rekeyErasesEarlierValues(_ journal: CreateOptions.Journal, _ mode: CreateOptions.Titles) throws {
    let test = try TestStore {
      $0.journal = journal; $0.titles = mode
    }
    let residue = try lived(test)
    let before = try test.store.everything()
    #expect(residue.count(in: try test.bytesOnDisk()) > 1000)
    var options = RekeyOptions()
    options.batchSize = 50
    options.changeTitles(to: .sealed)
    #expect(try test.store.rekey(to: [.published("next")], options: options) { _ in }.isFinished)
    #expect(residue.count(in: try test.bytesOnDisk()) == 0)
    let after = try test.store.everything()
    #expect(mode == .none || after == before)
    try test.expectSound()
    // Connections don't rewrite outdated pages from their caches.
    try test.store.write { writer in
      for document in after.values.flatMap({ $0 }) { try writer.move(document.header.id, to: .bottom) }
    }
    #expect(residue.count(in: try test.bytesOnDisk()) == 0)
    try test.store.close()
    #expect(residue.count(in: try test.bytesOnDisk()) == 0)
  }
}
