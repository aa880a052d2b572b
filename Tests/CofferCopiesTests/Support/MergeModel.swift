import Coffer
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// A store in the merge model. Its numbers for documents and collections come from the tests, not the store.
struct MergeModel {
  struct Entry: Equatable {
    var text: String
    var key: String?
    /// The parent's number, or `nil` if the parent is missing or unset.
    var parent: Int?
    var collection: Int
  }

  var documents: [Int: Entry] = [:]
  var ids: [Int: DocumentID] = [:]
  var goneParents: [Int: DocumentID] = [:]
  /// The documents of each collection, in order.
  var order: [Int: [Int]] = [:]
  var names: [Int: String] = [:]
  /// Documents edited or placed since the last merge, if the other side doesn't have the change.
  var edited: Set<Int> = []
  var placed: Set<Int> = []
  var renamed: Set<Int> = []

  static func number(_ attributes: Attributes) -> Int? {
    if case .number(let number) = attributes["n"] { Int(number) } else { nil }
  }

  /// Reads a store that keeps the number of each document and collection in the attribute `n`.
  init(_ store: DocumentStore) throws {
    try store.read { reader in
      var numbers: [DocumentID: Int] = [:]
      var parents: [Int: DocumentID] = [:]
      for collection in try reader.collections() {
        let c = try #require(MergeModel.number(collection.attributes))
        #expect(names.updateValue(collection.name, forKey: c) == nil, "a collection is there twice")
        order[c] = []
        try reader.forEach(in: collection.handle) { opened in
          let header = opened.header
          guard let n = MergeModel.number(header.attributes) else { return }
          numbers[header.id] = n
          parents[n] = header.parent
          order[c]!.append(n)
          let entry = Entry(text: opened.text, key: header.key?.text, parent: nil, collection: c)
          #expect(documents.updateValue(entry, forKey: n) == nil, "document \(n) is there twice")
        }
      }
      for (n, parent) in parents { documents[n]!.parent = numbers[parent] }
      for (id, n) in numbers { ids[n] = id }
      goneParents = parents.filter { numbers[$0.value] == nil }
    }
  }
}

/// Merges two models by the rules of `merge`, without stamps, identities or rings.
struct MergeJudge {
  let mine: MergeModel
  let theirs: MergeModel
  /// The documents and collections that both sides had after their last merge.
  let known: Set<Int>
  let knownCollections: Set<Int>
  let theirsWin: Bool

  /// The conflicts found by the model.
  private(set) var conflicts: Set<String> = []
  /// Whether each document's position comes from the other store.
  private(set) var places: [Int: Bool] = [:]
  private(set) var contents: [Int: Bool] = [:]
  /// Documents that both sides edited or placed equally, so the change no longer counts for this side.
  private var sameEdits: Set<Int> = []
  private var samePlaces: Set<Int> = []

  init(_ mine: MergeModel, _ theirs: MergeModel, known: Set<Int>, knownCollections: Set<Int>, theirsWin: Bool) {
    self.mine = mine
    self.theirs = theirs
    self.known = known
    self.knownCollections = knownCollections
    self.theirsWin = theirsWin
    for n in Set(mine.documents.keys).union(theirs.documents.keys).sorted() { decide(n) }
  }

  private func isDroppedHere(_ c: Int) -> Bool { knownCollections.contains(c) && mine.names[c] == nil }
  private func isDroppedThere(_ c: Int) -> Bool { knownCollections.contains(c) && theirs.names[c] == nil }

  private mutating func decide(_ n: Int) {
    switch (mine.documents[n], theirs.documents[n]) {
    case (nil, nil): return
    case (let here?, nil):
      var stays = !known.contains(n)
      if !stays, mine.edited.contains(n) {
        conflicts.insert("edited here, deleted there: \(n)")
        stays = !theirsWin
      }
      if stays, isDroppedThere(here.collection) {
        conflicts.insert("dropped there, used here: \(here.collection)")
        stays = !theirsWin
      }
      if stays { (places[n], contents[n]) = (false, false) }
    case (nil, let there?):
      var comes = !known.contains(n)
      if !comes, theirs.edited.contains(n) {
        conflicts.insert("deleted here, edited there: \(n)")
        comes = theirsWin
      }
      if comes, isDroppedHere(there.collection) {
        conflicts.insert("dropped here, used there: \(there.collection)")
        comes = theirsWin
      }
      if comes { (places[n], contents[n]) = (true, true) }
    case (let here?, let there?):
      contents[n] = side(n, mine.edited, theirs.edited, "edited twice")
      var takes = theirs.placed.contains(n) && !mine.placed.contains(n)
      if theirs.placed.contains(n), mine.placed.contains(n) {
        let isSame =
          here.collection == there.collection && haveEqualParents(n, here, there)
          && anchor(n, mine) == anchor(n, theirs)
        if isSame { samePlaces.insert(n) } else { conflicts.insert("moved twice: \(n)") }
        takes = theirsWin
      }
      if takes, isDroppedHere(there.collection) {
        conflicts.insert("dropped here, used there: \(there.collection)")
        takes = theirsWin
      }
      if !takes, isDroppedThere(here.collection) {
        conflicts.insert("dropped there, used here: \(here.collection)")
        takes = theirsWin
      }
      places[n] = takes
    }
  }

  private mutating func side(_ n: Int, _ here: Set<Int>, _ there: Set<Int>, _ conflict: String) -> Bool {
    guard there.contains(n) else { return false }
    guard here.contains(n) else { return true }
    let (one, other) = (mine.documents[n]!, theirs.documents[n]!)
    guard (one.text, one.key ?? "") != (other.text, other.key ?? "") else {
      sameEdits.insert(n)
      return theirsWin
    }
    conflicts.insert("\(conflict): \(n)")
    return theirsWin
  }

  /// Whether both sides chose the same parent, even if one side deleted the parent later.
  private func haveEqualParents(_ n: Int, _ here: MergeModel.Entry, _ there: MergeModel.Entry) -> Bool {
    if let parent = there.parent, let gone = mine.goneParents[n] { return theirs.ids[parent] == gone }
    if let parent = here.parent, let gone = theirs.goneParents[n] { return mine.ids[parent] == gone }
    return here.parent == there.parent
  }

  private func isUnmoved(_ n: Int) -> Bool {
    guard let here = mine.documents[n], let there = theirs.documents[n] else { return false }
    return known.contains(n) && !mine.placed.contains(n) && !theirs.placed.contains(n)
      && here.collection == there.collection
  }

  /// Returns the nearest preceding document in one side's order that neither side placed.
  private func anchor(_ n: Int, _ side: MergeModel) -> Int? {
    let order = side.order[side.documents[n]!.collection]!
    return order[..<order.firstIndex(of: n)!].last(where: isUnmoved)
  }

  // MARK: Checks

  /// Returns the rules that the result violates.
  func faults(of result: MergeModel) -> [String] {
    var faults: [String] = []
    func expect(_ condition: Bool, _ words: @autoclosure () -> String) {
      if !condition { faults.append(words()) }
    }
    expect(
      Set(result.documents.keys) == Set(places.keys),
      "documents: \(Set(result.documents.keys).symmetricDifference(places.keys).sorted())")
    for (n, isTheirs) in places {
      guard let found = result.documents[n] else { continue }
      let side = (isTheirs ? theirs : mine).documents[n]!
      let content = (contents[n]! ? theirs : mine).documents[n]!
      expect(found.text == content.text, "\(n) has the text \(found.text), not \(content.text)")
      expect(found.collection == side.collection, "\(n) is in \(found.collection), not \(side.collection)")
      if found.key != content.key {
        expect(found.key == nil, "\(n) has a key of nobody's")
        let holder = result.documents.first { $0.value.collection == found.collection && $0.value.key == content.key }
        expect(holder != nil, "\(n) lost its key \(content.key ?? "nil") for nothing")
        // Only a document from the winning side may hold the lost key.
        if let holder {
          expect(
            contents[n]! != theirsWin || contents[holder.key]! == contents[n]!, "\(n): the wrong side lost its key")
        }
      }
      if found.parent != side.parent {
        let other = (isTheirs ? mine : theirs).documents[n]?.parent
        // A parent deleted on this side becomes the parent again if it is restored.
        let isBack = found.parent.map { (isTheirs ? theirs : mine).documents[$0] == nil } ?? true
        expect(isBack || found.parent == other, "\(n) has a parent of nobody's: \(history(n, result))")
        if let parent = side.parent, let there = result.documents[parent], there.collection == found.collection {
          expect(isRing(n, parent, result), "\(n) lost its parent \(parent) for nothing")
        }
      }
      if let parent = found.parent {
        expect(
          result.documents[parent]?.collection == found.collection,
          "the parent \(parent) of \(n) is elsewhere: \(history(n, result)); \(history(parent, result))")
      }
      var seen: Set<Int> = []
      var next = found.parent
      while let ancestor = next, seen.insert(ancestor).inserted { next = result.documents[ancestor]?.parent }
      expect(next == nil, "\(n) has a ring of ancestors")
    }
    for c in result.order.keys { checkOrder(c, result, expect) }
    return faults
  }

  /// Describes a document on both sides and after the merge.
  func history(_ n: Int, _ result: MergeModel) -> String {
    func words(_ model: MergeModel) -> String {
      guard let entry = model.documents[n] else { return "-" }
      let marks = (model.edited.contains(n) ? "e" : "") + (model.placed.contains(n) ? "p" : "")
      return "\(entry.text) in \(entry.collection) below \(entry.parent ?? 0) \(marks)"
    }
    let side = places[n].map { $0 ? "theirs" : "mine" } ?? "gone"
    return "\(n): here \(words(mine)), there \(words(theirs)), place \(side), now \(words(result))"
  }

  /// Whether the parents chosen by the sides would form a cycle with this parent.
  private func isRing(_ n: Int, _ parent: Int, _ result: MergeModel) -> Bool {
    var seen: Set<Int> = [n]
    var next: Int? = parent
    while let ancestor = next {
      guard seen.insert(ancestor).inserted else { return true }
      guard let isTheirs = places[ancestor] else { return false }
      next = (isTheirs ? theirs : mine).documents[ancestor]?.parent
    }
    return false
  }

  private func checkOrder(_ c: Int, _ result: MergeModel, _ expect: (Bool, @autoclosure () -> String) -> Void) {
    let order = result.order[c]!
    let stay = (mine.order[c] ?? []).filter { isUnmoved($0) && places[$0] != nil }
    expect(order.filter(isUnmoved) == stay, "collection \(c): the order of unmoved documents is another")
    // After each unmoved document come all documents from one side, then all from the other, in their own order.
    var groups: [[Int]] = [[]]
    for n in order { if isUnmoved(n) { groups.append([]) } else { groups[groups.count - 1].append(n) } }
    let anchors: [Int?] = [nil] + order.filter(isUnmoved).map { $0 }
    for (anchor, group) in zip(anchors, groups) {
      let sides = group.map { places[$0] ?? false }
      let changes = zip(sides, sides.dropFirst()).filter { $0 != $1 }.count
      expect(
        changes <= 1,
        "collection \(c): the groups behind \(anchor ?? 0) are mixed: \(group) \(sides)"
          + group.map { "; \(history($0, result))" }.joined())
      for side in [true, false] {
        let part = group.filter { (places[$0] ?? false) == side }
        let model = side ? theirs : mine
        let there = (model.order[c] ?? []).filter(part.contains)
        expect(part == there, "collection \(c): \(part) is \(there) on its side")
        for n in part where model.documents[n] != nil {
          let wanted = self.anchor(n, model)
          expect(wanted == anchor, "\(n) is behind \(anchor ?? 0), not \(wanted ?? 0)")
        }
      }
    }
  }

  /// Returns this store's model after the merge, with the changes that the other side doesn't have.
  func met(_ result: MergeModel) -> MergeModel {
    var result = result
    result.edited = mine.edited.subtracting(sameEdits).filter { contents[$0] == false }
    result.placed = mine.placed.subtracting(samePlaces).filter { places[$0] == false }
    return result
  }
}
