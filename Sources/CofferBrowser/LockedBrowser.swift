internal import Coffer
internal import CofferTerminal

/// What remains of a browser that locked its store: the reason, and the place to restore. No text, title or key.
package struct LockedBrowser {
  let reason: String
  let place: Browser.Place?
}

// The program ends at the lock, because strings can't be erased from its memory, and a new one gets this text: the
// reason, then one line of words, then the words of the search.

extension LockedBrowser {
  /// The maximum size of ``bytes``. A search with more words isn't restored.
  package static let maximumBytes = 2048

  package var bytes: [UInt8] {
    guard let place else { return Array(reason.utf8) }
    func word(_ value: (some CustomStringConvertible)?) -> String { value.map { "\($0)" } ?? "-" }
    let list = place.list
    var words = [
      word(place.collection.rawValue), word(place.document?.rawValue), word(place.pane.rawValue),
      word(place.textPlace?.line), word(place.textPlace?.row), word(place.hit), word(list?.order.rawValue),
      word(list?.isDescending), word(list?.search?.isInTitlesOnly),
    ]
    let search = list?.search.map { "\n" + $0.words } ?? ""
    let isTooLong = search.utf8.count > Self.maximumBytes / 2
    if isTooLong { words[8] = "-" }
    return Array((reason + "\n" + words.joined(separator: " ") + (isTooLong ? "" : search)).utf8)
  }

  /// Reads the form of ``bytes``. A malformed text gives a locked browser without a place.
  package init(_ bytes: [UInt8]) {
    let lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    reason = lines.first.map(String.init) ?? ""
    let words = lines.dropFirst().first?.split(separator: " ").map(String.init) ?? []
    guard words.count == 9, let collection = UInt32(words[0]), let pane = Int(words[2]).flatMap(Browser.Pane.init)
    else {
      place = nil
      return
    }
    let search = Bool(words[8]).map { DocumentList.Search(words: String(lines.last ?? ""), isInTitlesOnly: $0) }
    let order = words[6].first.flatMap(DocumentList.Order.init)
    var textPlace: ShownText.Place?
    if let line = Int(words[3]), let row = Int(words[4]) { textPlace = ShownText.Place(line: line, row: row) }
    place = Browser.Place(
      collection: CollectionID(rawValue: collection),
      list: order.map { ($0, Bool(words[7]) ?? false, search) },
      document: Int64(words[1]).map(DocumentID.init(rawValue:)), pane: pane, textPlace: textPlace, hit: Int(words[5]))
  }
}
