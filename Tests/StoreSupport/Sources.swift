import Coffer
import CofferDocuments
import Foundation
import Testing

/// A source that reads drafts from an array in batches, and can fail on request.
struct ListSource: DraftSource {
  struct Item {
    var title: String?
    var text = ""
    var key: String?
    var id: DocumentID?
    var collection: String?
    var parent: DocumentID?
    var isComplete = false
    var isJSON = false
  }

  var items: [Item]
  var batch = 4
  /// The index of the item that throws instead of being read.
  var failsAt: Int?
  private var next = 0

  init(_ items: [Item], batch: Int = 4, failsAt: Int? = nil) {
    self.items = items
    self.batch = batch
    self.failsAt = failsAt
  }

  mutating func read(into batch: inout DraftBatch) throws -> Bool {
    guard next < items.count else { return false }
    func append(_ text: String) -> Range<Int> {
      let start = batch.bytes.count
      batch.bytes += text.utf8
      return start..<batch.bytes.count
    }
    for item in items[next..<min(next + self.batch, items.count)] {
      if next == failsAt { throw Interruption(number: next) }
      next += 1
      var draft = DraftBatch.Draft(text: append(item.text), record: next)
      draft.title = item.title.map(append)
      draft.key = item.key.map(append)
      draft.collection = item.collection.map(append)
      draft.id = item.id
      draft.parent = item.parent
      draft.isComplete = item.isComplete
      draft.isJSON = item.isJSON
      batch.drafts.append(draft)
    }
    return true
  }
}

/// Returns a source with one title per batch.
func titlesOnly(_ titles: [String]) -> ListSource {
  ListSource(titles.map { .init(title: $0) }, batch: 1)
}

extension ListSource {
  /// Returns items titled with their numbers, starting at 1, after applying `change` to each item.
  static func items(_ count: Int, _ change: (Int, inout Item) -> Void = { _, _ in }) -> [Item] {
    (1...count).map { number in
      var item = Item(title: "\(number)", text: "text \(number)")
      change(number, &item)
      return item
    }
  }
}

func bulkOptions(_ change: (inout BulkOptions) -> Void) -> BulkOptions {
  var options = BulkOptions()
  change(&options)
  return options
}

extension TestStore {
  /// Expects the store to be empty and its file unchanged.
  func expectNothing(before: Data, location: SourceLocation = #_sourceLocation) throws {
    #expect(try Data(contentsOf: url) == before, sourceLocation: location)
    #expect(try store.everything().isEmpty, sourceLocation: location)
  }
}
