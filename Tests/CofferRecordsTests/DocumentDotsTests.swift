import CofferDocuments
import CofferRecords
import CofferTestSupport
import Testing

/// Dots of a document's parts after random changes, and their stored form.
struct DocumentDotsTests {
  private static let names = ["a", "b", "ä", ""].map { Array($0.utf8) }

  @Test(arguments: 0..<40) func changesGiveEachPartItsDot(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let born = Dot(replica: 3, counter: 1)
    var dots = DocumentDots(born)
    var members: [[UInt8]: Dot] = [:]
    var attributes = Attributes()
    var (text, title, key, place) = (born, born, born, born)
    for step in 2..<60 as Range<UInt64> {
      let dot = Dot(replica: UInt32(random.number(below: 4)), counter: step)
      var parts: DocumentDots.Parts = []
      if random.number(below: 3) == 0 { (parts, text) = (parts.union(.text), dot) }
      if random.number(below: 3) == 0 { (parts, title) = (parts.union(.title), dot) }
      if random.number(below: 5) == 0 { (parts, key) = (parts.union(.key), dot) }
      if random.number(below: 5) == 0 { (parts, place) = (parts.union(.place), dot) }
      var changed: [[UInt8]] = []
      for name in Self.names where random.number(below: 4) == 0 {
        let member = String(decoding: name, as: UTF8.self)
        let isThere = attributes[member] != nil
        // Removing a member that isn't there changes nothing.
        guard random.number(below: 3) > 0 || isThere else { continue }
        attributes[member] = isThere && random.number(below: 2) == 0 ? nil : .number(Double(step))
        changed.append(name)
        members[name] = dot
      }
      dots.change(parts, names: changed, of: attributes, to: dot)
      let stored = dots.bytes.withUnsafeBytes { DocumentDots(checked: $0) }
      #expect(stored == dots)
      #expect(stored.born == born && stored.text == text && stored.title == title)
      #expect(stored.key == key && stored.place == place && stored.stamp == dot)
      #expect(stored.memberDots(attributes.memberList.map(\.name)) == members)
    }
  }

  @Test func removedMemberKeepsDot() {
    let dots = (1...3).map { Dot(replica: 0, counter: UInt64($0)) }
    var document = DocumentDots(dots[0])
    document.change([], names: [Self.names[0]], of: ["a": .number(1)], to: dots[1])
    document.change([], names: [Self.names[0]], of: [:], to: dots[2])
    #expect(document.members == [DocumentDots.Member(Self.names[0], dots[2])])
    #expect(document.bytes.withUnsafeBytes { DocumentDots(checked: $0) } == document)
  }

  @Test func newDocumentHasOneDot() {
    let dot = Dot(replica: 5, counter: 1 << 40)
    #expect(DocumentDots(dot).bytes == DocumentDots.bytes(ofNew: dot))
  }
}
