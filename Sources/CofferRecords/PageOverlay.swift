internal import Synchronization

/// Pages in memory that replace an index's pages in the file.
///
/// A copy shares its pages with the original until either of them writes.
package struct PageOverlay: Sendable {
  private var pages: [Int: Page] = [:]
  package var pageCount: Int
  /// The smallest number of pages that the index has had so far. Its pages starting with this number are only in
  /// memory.
  package private(set) var lowestCount: Int

  package init(pageCount: Int) {
    self.pageCount = pageCount
    lowestCount = pageCount
  }

  package var isEmpty: Bool { pages.isEmpty }
  /// Whether the index had no pages on the way, so it doesn't read those in the file.
  package var isWhole: Bool { lowestCount == 0 }

  /// Copies a page to `bytes`, or returns `false` if it isn't in memory.
  func read(_ page: Int, into bytes: UnsafeMutableRawBufferPointer) -> Bool {
    guard let kept = pages[page] else { return false }
    bytes.copyMemory(from: UnsafeRawBufferPointer(kept.bytes))
    return true
  }

  /// Keeps a page, or returns `false` if the budget is exhausted.
  mutating func write(_ page: Int, _ bytes: UnsafeRawBufferPointer, within budget: PageBudget) -> Bool {
    if pages[page] == nil || !isKnownUniquelyReferenced(&pages[page]!) {
      guard let new = Page(bytes, budget) else { return false }
      pages[page] = new
    } else {
      pages[page]!.bytes.copyMemory(from: bytes)
    }
    pageCount = max(pageCount, page + 1)
    return true
  }

  mutating func truncate(to count: Int) {
    pages = pages.filter { $0.key < count }
    pageCount = count
    lowestCount = min(lowestCount, count)
  }

  /// Calls `body` with each page, in ascending order.
  func forEachPage(_ body: (Int, UnsafeRawBufferPointer) -> Void) {
    for page in pages.keys.sorted() { body(page, UnsafeRawBufferPointer(pages[page]!.bytes)) }
  }

  /// A page's bytes, which change only while the page has a single owner.
  private final class Page: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    private let budget: PageBudget

    init?(_ content: UnsafeRawBufferPointer, _ budget: PageBudget) {
      guard budget.take(content.count) else { return nil }
      self.budget = budget
      bytes = .allocate(byteCount: content.count, alignment: 16)
      bytes.copyMemory(from: content)
    }

    deinit {
      budget.giveBack(bytes.count)
      bytes.deallocate()
    }
  }
}

/// The memory in bytes for index pages that readers have changed.
package final class PageBudget: Sendable, Equatable {
  /// The memory in bytes that is in use, which several budgets can share.
  package final class Usage: Sendable {
    fileprivate let bytes = Atomic<Int>(0)

    package init() {}
  }

  package let limit: Int
  private let usage: Usage

  package init(_ limit: Int, of usage: Usage = Usage()) {
    (self.limit, self.usage) = (limit, usage)
  }

  /// Whether more than half of the memory is in use.
  package var isScarce: Bool { usage.bytes.load(ordering: .relaxed) > limit / 2 }

  fileprivate func take(_ count: Int) -> Bool {
    guard usage.bytes.wrappingAdd(count, ordering: .relaxed).newValue <= limit else {
      giveBack(count)
      return false
    }
    return true
  }

  fileprivate func giveBack(_ count: Int) {
    usage.bytes.wrappingSubtract(count, ordering: .relaxed)
  }

  package static func == (one: PageBudget, two: PageBudget) -> Bool { one === two }
}
