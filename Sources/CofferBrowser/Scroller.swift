/// The marked line of a list, and the visible part of the list.
struct Scroller {
  private(set) var marked = 0
  private(set) var top = 0

  mutating func mark(_ index: Int, of count: Int) {
    marked = max(0, min(index, count - 1))
  }

  /// Returns the range of visible lines, which includes the marked line.
  mutating func visible(height: Int, of count: Int) -> Range<Int> {
    mark(marked, of: count)
    top = max(min(top, marked), marked - height + 1, 0)
    top = min(top, max(0, count - height))
    return top..<min(count, top + height)
  }
}
