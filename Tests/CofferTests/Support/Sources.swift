import Coffer

/// Drafts from an array, a batch at a time; throws where told.
struct ListSource: DraftSource {
  struct Item {
    var title: String?
    var text = ""
    var key: String?
    var id: DocumentID?
    var collection: String?
    var parent: DocumentID?
    var isComplete = false
  }

  var items: [Item]
  var batch = 4
  /// Throws instead of reading this item.
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
      batch.drafts.append(draft)
    }
    return true
  }
}

/// Titles alone, one to a batch.
func titlesOnly(_ titles: [String]) -> ListSource {
  ListSource(titles.map { .init(title: $0) }, batch: 1)
}
