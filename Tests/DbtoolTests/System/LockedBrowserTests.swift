import CofferDocuments
import CofferTerminal
import CofferTestSupport
import Testing

@testable import CofferBrowser

/// Tests what a locked browser hands over to the program that replaces it.
@Suite struct LockedBrowserTests {
  @Test func readsItsOwnForm() {
    var generator = Pseudorandom(seed: 36)
    for _ in 0..<1000 {
      func maybe<Value>(_ value: @autoclosure () -> Value) -> Value? {
        Bool.random(using: &generator) ? value() : nil
      }
      let words = [
        "sail", "", "two words", "line\nline", "می\u{200C}خواهم", "- - -", String(repeating: "ä", count: 500),
      ]
      let search = maybe(
        DocumentList.Search(
          words: words.randomElement(using: &generator)!, isInTitlesOnly: .random(using: &generator)))
      let order = DocumentList.Order.allCases.randomElement(using: &generator)!
      let place = Browser.Place(
        collection: .init(rawValue: .random(in: 1...(.max), using: &generator)),
        list: maybe((order, .random(using: &generator), search)),
        document: maybe(.init(rawValue: .random(in: 1...(.max), using: &generator))),
        pane: [.collections, .titles, .text].randomElement(using: &generator)!,
        textPlace: maybe(ShownText.Place(line: .random(in: 0...(1 << 28), using: &generator), row: 7)),
        hit: maybe(.random(in: 0..<100, using: &generator)))
      let locked = LockedBrowser(reason: "at your request", place: maybe(place))
      let copy = LockedBrowser(locked.bytes)
      #expect(locked.bytes.count <= LockedBrowser.maximumBytes)
      #expect(copy.reason == locked.reason && (copy.place == nil) == (locked.place == nil))
      guard let one = locked.place, let other = copy.place else { continue }
      #expect(one.collection == other.collection && one.document == other.document && one.pane == other.pane)
      #expect(one.textPlace == other.textPlace && one.hit == other.hit)
      #expect(one.list?.order == other.list?.order && one.list?.isDescending == other.list?.isDescending)
      #expect(one.list?.search == other.list?.search)
    }
  }

  @Test func malformedFormHasNoPlace() {
    for text in ["", "reason", "reason\n1 2", "reason\n1 2 9 - - - - - -", "\u{0}\n- - 0 - - - - - -"] {
      #expect(LockedBrowser(Array(text.utf8)).place == nil)
    }
  }

  /// A search with too many words isn't restored, because a pipe must hold everything.
  @Test func leavesOutLongSearch() {
    let search = DocumentList.Search(words: String(repeating: "ä", count: 5000), isInTitlesOnly: true)
    let place = Browser.Place(
      collection: .init(rawValue: 1), list: (.title, false, search), document: nil, pane: .titles, textPlace: nil,
      hit: nil)
    let locked = LockedBrowser(reason: "at your request", place: place)
    #expect(locked.bytes.count <= LockedBrowser.maximumBytes)
    let list = LockedBrowser(locked.bytes).place?.list
    #expect(list?.order == .title && list?.search == nil)
  }
}
