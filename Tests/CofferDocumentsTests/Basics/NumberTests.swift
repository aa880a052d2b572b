import CofferDocuments
import Testing

struct NumberTests {
  @Test func createsNumbersFromAnyInteger() {
    let count = [5, 6].count
    #expect(DocumentID(count) == 2)
    #expect(DocumentID(UInt8(7)) == DocumentID(rawValue: 7))
    #expect([1, 2, 3].map { DocumentID($0) } == [1, 2, 3] as [DocumentID])
    #expect(CollectionID(count) == CollectionID(rawValue: 2))
  }

  @Test func clampsNumbersOutOfBounds() {
    #expect(DocumentID(-1).rawValue == -1)
    #expect(DocumentID(UInt64.max).rawValue == .max)
    #expect(CollectionID(-1).rawValue == 0)
    #expect(CollectionID(1 << 32 + 1).rawValue == .max)
  }
}
