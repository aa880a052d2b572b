internal import CofferEngine
internal import CofferPatterns

/// Finds a query's phrases in texts, in a single pass whose time depends only on the text.
///
/// Each word of the query is a bit. A state's bit is set if the text's last words match the phrase up to this bit (the
/// Shift-And algorithm).
final class PhraseFinder {
  /// An occurrence of a phrase.
  struct Occurrence {
    /// The number of the first word in the text.
    let word: Int
    /// The byte range from the first word to the last word.
    let place: Range<Int>
    /// The start of the word that precedes the first word by ``excerptWords``, or of the text's first word.
    let anchor: Int
    let phrase: Int
  }

  /// The number of words in an excerpt, in which occurrences are considered together.
  static let excerptWords = 24
  /// The maximum number of occurrences from which an excerpt is chosen.
  static let occurrenceLimit = 1000
  /// The number of words between two checks for cancellation.
  static let checkInterval = 4096

  private typealias Bits = UInt128

  private struct Phrase {
    let length: Int
    let columns: WordColumns
    let isAtStart: Bool
    let first: Bits
    let last: Bits
    let group: Range<Int>
    let distance: Int
  }

  private var phrases: [Phrase] = []
  /// The phrase of each bit.
  private var owners: [Int] = []
  private var tree = WordForms()
  private let words: WordScan
  /// The number of words read since the finder was created.
  private(set) var wordsRead = 0

  /// - Parameter query: The query, whose counting phrases are found.
  init(_ query: WordQuery, _ words: WordScan) {
    self.words = words
    let counting = query.phrases.filter(\.counts)
    for (number, entry) in counting.enumerated() {
      let first = Bits(1) << owners.count
      for word in entry.phrase.words {
        tree.add(word.form, isPrefix: word.isPrefix, Bits(1) << owners.count)
        owners.append(number)
      }
      var group = number..<number + 1
      if let near = entry.group {
        let members = counting.indices.filter { counting[$0].group?.number == near.number }
        group = members[0]..<members[members.count - 1] + 1
      }
      phrases.append(
        Phrase(
          length: entry.phrase.words.count, columns: entry.phrase.columns, isAtStart: entry.phrase.isAtStart,
          first: first, last: Bits(1) << (owners.count - 1), group: group, distance: entry.group?.distance ?? 0))
    }
  }

  /// Whether phrases must be near each other.
  var hasGroups: Bool { phrases.contains { $0.group.count > 1 } }

  /// Returns occurrences in a title or text, sorted by their first word.
  ///
  /// - Parameters:
  ///   - ignoringDistance: Whether to return the phrases in NEAR groups regardless of their distance.
  ///   - isForExcerpt: Whether to return only as many occurrences as an excerpt of the text needs.
  ///   - check: Called regularly. If it throws, the pass ends.
  func occurrences(
    in text: UnsafeRawBufferPointer, _ column: WordColumns, ignoringDistance: Bool = false, isForExcerpt: Bool,
    _ check: () throws(StoreError) -> Void
  ) throws(StoreError) -> [Occurrence] {
    let sought = phrases.indices.filter { phrases[$0].columns.contains(column) }
    guard !sought.isEmpty else { return [] }
    let firsts = phrases.reduce(0) { $0 | $1.first }
    let atStart = sought.reduce(0) { $0 | phrases[$1].first }
    let anywhere = sought.reduce(0) { $0 | (phrases[$1].isAtStart ? 0 : phrases[$1].first) }
    let lasts = sought.reduce(0) { $0 | phrases[$1].last }
    // Words after the deciding occurrence may still be in the excerpt, which doesn't count the gaps between them.
    let rest = 2 * Self.excerptWords + (sought.map { phrases[$0].length }.max() ?? 0)
    var (state, word, end) = (Bits(0), 0, Int.max)
    // The starts of the last words, because a phrase has at most 128 words, and the anchor is 24 words before it.
    var starts = [Int](repeating: 0, count: 256)
    var latest = [Occurrence?](repeating: nil, count: phrases.count)
    var marked = [Int](repeating: -1, count: phrases.count)
    var found: [Occurrence] = []
    var failure: StoreError?

    func mark(_ number: Int) {
      guard let occurrence = latest[number], occurrence.word > marked[number] else { return }
      marked[number] = occurrence.word
      found.append(occurrence)
    }

    func note(_ number: Int, _ upper: Int) {
      let phrase = phrases[number]
      let first = word - phrase.length + 1
      latest[number] = Occurrence(
        word: first, place: starts[first & 255]..<upper, anchor: starts[max(first - Self.excerptWords, 0) & 255],
        phrase: number)
      if phrase.group.count == 1 || ignoringDistance { return mark(number) }
      guard let newest = phrase.group.map({ latest[$0]?.word ?? .max }).max(), newest < .max,
        phrase.group.allSatisfy({ latest[$0]!.word + phrases[$0].length + phrase.distance >= newest })
      else { return }
      for member in phrase.group { mark(member) }
    }

    /// Returns whether later excerpts can't be better.
    func isDecided() -> Bool {
      if found.count >= Self.occurrenceLimit { return true }
      var (low, high) = (Int.max, 0)
      for number in sought { (low, high) = (min(low, marked[number]), max(high, marked[number])) }
      return low >= 0 && high - low < Self.excerptWords
    }

    words.forEachWord(in: text) { form, place in
      starts[word & 255] = place.lowerBound
      if word % Self.checkInterval == Self.checkInterval - 1 {
        do throws(StoreError) { try check() } catch {
          failure = error
          return false
        }
      }
      state = (state << 1 & ~firsts | (word == 0 ? atStart : anywhere)) & tree.bits(of: form)
      var ends = state & lasts
      if ends != 0 {
        while ends != 0 {
          note(owners[ends.trailingZeroBitCount], place.upperBound)
          ends &= ends - 1
        }
        if isForExcerpt, end == .max, isDecided() { end = word + rest }
      }
      word += 1
      return word <= end
    }
    wordsRead += word
    if let failure { throw failure }
    return found.sorted { ($0.word, $0.place.upperBound) < ($1.word, $1.place.upperBound) }
  }
}

/// A query's words as a tree of bytes, each with its bits.
private struct WordForms {
  private struct Node {
    let byte: UInt8
    var child = 0
    var sibling = 0
    /// The bits for the whole word that ends here.
    var whole: UInt128 = 0
    /// The bits for the word prefix that ends here.
    var beginning: UInt128 = 0
  }

  private var nodes = [Node(byte: 0)]
  private var roots = [Int](repeating: 0, count: 256)

  mutating func add(_ form: [UInt8], isPrefix: Bool, _ bit: UInt128) {
    var place = 0
    for byte in form {
      var next = place == 0 ? roots[Int(byte)] : child(of: place, byte)
      if next == 0 {
        next = nodes.count
        nodes.append(Node(byte: byte, sibling: place == 0 ? 0 : nodes[place].child))
        if place == 0 { roots[Int(byte)] = next } else { nodes[place].child = next }
      }
      place = next
    }
    if isPrefix { nodes[place].beginning |= bit } else { nodes[place].whole |= bit }
  }

  private func child(of place: Int, _ byte: UInt8) -> Int {
    var next = nodes[place].child
    while next != 0, nodes[next].byte != byte { next = nodes[next].sibling }
    return next
  }

  /// Returns the bits that match a text's word.
  func bits(of form: UnsafeRawBufferPointer) -> UInt128 {
    var place = roots[Int(form[0])]
    var bits: UInt128 = 0
    var index = 1
    while place != 0 {
      bits |= nodes[place].beginning
      guard index < form.count else { return bits | nodes[place].whole }
      place = child(of: place, form[index])
      index += 1
    }
    return bits
  }
}
