internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A document of one of the merged stores without its text. Its dots have joint numbers.
struct MergeDocument {
  /// The ID in its store.
  let id: Int64
  let uid: UniqueID
  let created: Int64
  let modified: Int64
  let title: [UInt8]?
  /// Whether the store keeps titles. Otherwise the missing title isn't a value.
  var keepsTitle = true
  /// The key, even if another document holds it.
  let key: [UInt8]?
  let attributes: Attributes
  let text: TextValue
  let place: PlaceValue
  let dots: DocumentDots
  let extensionBytes: [UInt8]
  /// The number of the collection in its store.
  let collection: UInt32
  let isNewer: Bool

  /// The digest and flags of a text, for comparing texts.
  struct TextValue: Hashable {
    let digest: TextDigest
    let isJSON: Bool
  }

  struct PlaceValue: Hashable, Comparable {
    let collection: UniqueID
    let position: DocumentPosition
    let parent: UniqueID?

    static func < (lhs: PlaceValue, rhs: PlaceValue) -> Bool {
      let none = UniqueID(high: 0, low: 0)
      return (lhs.collection, lhs.position, lhs.parent ?? none) < (rhs.collection, rhs.position, rhs.parent ?? none)
    }
  }

  /// - Parameter dots: Returns dots with joint numbers.
  init(
    _ row: RecordRow, _ head: HeadData, in collection: UniqueID,
    _ dots: (DocumentDots) throws(StoreError) -> DocumentDots
  ) throws(StoreError) {
    self.init(
      row.fields.id, head, isJSON: row.fields.isJSON, DocumentPosition(verified: row.position), in: collection,
      numbered: row.fields.collection, try dots(DocumentDots(checked: head.dots)))
  }

  /// - Parameter dots: The dots with joint numbers.
  init(_ document: ChangesetDocument, in collection: UniqueID, _ dots: DocumentDots) {
    self.init(
      document.id, document.head, isJSON: document.isJSON, document.position, in: collection,
      numbered: document.collection, dots)
  }

  private init(
    _ id: Int64, _ head: HeadData, isJSON: Bool, _ position: DocumentPosition, in collection: UniqueID,
    numbered number: UInt32, _ dots: DocumentDots
  ) {
    self.id = id
    uid = head.uid
    created = head.created
    modified = head.modified
    title = head.title.map { Array($0) }
    key = head.key.map { Array($0) }
    attributes = head.attributes.isEmpty ? Attributes() : Attributes(uncheckedCanonicalJSON: head.attributes)
    text = TextValue(digest: head.textDigest, isJSON: isJSON)
    place = PlaceValue(collection: collection, position: position, parent: head.parent)
    self.dots = dots
    extensionBytes = Array(head.extensionPart.bytes)
    self.collection = number
    isNewer = head.extensionPart.isNewer
  }
}

/// The outcome of merging two states of one document, part by part (FORMAT, "Merging").
struct JoinedDocument {
  enum Side { case mine, theirs }

  /// A part and the store whose value it takes.
  struct Part {
    var side: Side
    var dot: Dot
    /// The dots in both stores.
    let mine: Dot
    let theirs: Dot
    /// Whether both stores have equal values.
    let areEqual: Bool
    /// Whether neither store included the other's change.
    var isConflict = false

    var isMine: Bool { (side == .mine || areEqual) && dot == mine }
    var isTheirs: Bool { (side == .theirs || areEqual) && dot == theirs }
  }

  var text: Part
  var title: Part
  var key: Part
  var place: Part
  var born: Part
  var members: [[UInt8]: Part] = [:]
  /// Whether one of the texts is a value.
  private var hasValue = false
  /// The side whose text lost, which becomes a separate document unless one side is preferred.
  var lostText: Side?
  /// Whether a person's choice took the other store's value under its own dot.
  var takesByChoice = false

  var parts: [Part] { [born, text, title, key, place] + members.values }
  var contents: [Part] { [text, title, key] + members.values }
}

/// Merges two states of one document or collection part by part.
struct PartJoin {
  let replicas: JointReplicas
  let myKept: Dot
  let theirKept: Dot

  /// Returns the side whose value a part takes.
  ///
  /// - Parameters:
  ///   - areEqual: Whether both values are equal.
  ///   - prefersTheirs: Decides between different values if neither was ever written.
  /// - Throws: `anchorMismatch` if one dot has two values.
  func side(
    _ mine: Dot, _ theirs: Dot, areEqual: Bool, prefersTheirs: @autoclosure () -> Bool
  ) throws(StoreError) -> JoinedDocument.Part {
    guard mine != theirs || areEqual || mine.isZero else { throw JointReplicas.clone }
    func part(_ takesTheirs: Bool, isConflict: Bool = false) -> JoinedDocument.Part {
      JoinedDocument.Part(
        side: takesTheirs ? .theirs : .mine, dot: takesTheirs ? theirs : mine, mine: mine, theirs: theirs,
        areEqual: areEqual, isConflict: isConflict)
    }
    let (iKnow, theyKnow) = (replicas.iInclude(theirs), replicas.theyInclude(mine))
    if iKnow != theyKnow {
      return part(!iKnow)
    }
    guard iKnow else { return part(replicas.isBefore(mine, theirs), isConflict: !areEqual) }
    if myKept != theirKept { return part(replicas.isBefore(myKept, theirKept)) }
    if mine != theirs { return part(replicas.isBefore(mine, theirs)) }
    return part(!areEqual && prefersTheirs())
  }

  /// Returns whether both stores include both changes, which happens if a deleted document is kept with an older value.
  func areBothKnown(_ mine: Dot, _ theirs: Dot) -> Bool { replicas.iInclude(theirs) && replicas.theyInclude(mine) }
}

extension JoinedDocument {
  /// Joins two states of a document.
  ///
  /// - Throws: `anchorMismatch` if one dot has two values.
  init(_ mine: MergeDocument, _ theirs: MergeDocument, _ replicas: JointReplicas) throws(StoreError) {
    let join = PartJoin(replicas: replicas, myKept: mine.dots.kept, theirKept: theirs.dots.kept)
    // A missing value precedes every other value.
    func precedes(_ one: [UInt8]?, _ other: [UInt8]?) -> Bool {
      guard let one, let other else { return one == nil && other != nil }
      return one.lexicographicallyPrecedes(other)
    }
    text = try join.side(
      mine.dots.text, theirs.dots.text, areEqual: mine.text == theirs.text,
      prefersTheirs: precedes(mine.text.digest.bytes, theirs.text.digest.bytes))
    // A document that came through a store without titles lost its title, but not the title's dot.
    let isTitleLost = mine.dots.title == theirs.dots.title && (mine.title == nil) != (theirs.title == nil)
    title =
      if isTitleLost || !theirs.keepsTitle {
        Part(
          side: isTitleLost && mine.title == nil && mine.keepsTitle ? .theirs : .mine, dot: mine.dots.title,
          mine: mine.dots.title, theirs: theirs.dots.title, areEqual: mine.title == theirs.title)
      } else {
        try join.side(
          mine.dots.title, theirs.dots.title, areEqual: mine.title == theirs.title || !mine.keepsTitle,
          prefersTheirs: precedes(mine.title, theirs.title))
      }
    key = try join.side(
      mine.dots.key, theirs.dots.key, areEqual: mine.key == theirs.key, prefersTheirs: precedes(mine.key, theirs.key))
    place = try join.side(
      mine.dots.place, theirs.dots.place, areEqual: mine.place == theirs.place,
      prefersTheirs: mine.place < theirs.place)
    born = try join.side(mine.dots.born, theirs.dots.born, areEqual: true, prefersTheirs: false)
    if mine.text != theirs.text, text.isConflict || join.areBothKnown(mine.dots.text, theirs.dots.text) {
      lostText = text.side == .mine ? .theirs : .mine
    }
    let (here, there) = (mine.memberValues, theirs.memberValues)
    let names = Set(here.keys).union(there.keys).union(mine.dots.members.map(\.name))
      .union(theirs.dots.members.map(\.name))
    for name in names {
      let (one, other) = (mine.dot(ofMember: name, in: here), theirs.dot(ofMember: name, in: there))
      members[name] = try join.side(
        one, other, areEqual: here[name] == there[name], prefersTheirs: precedes(here[name], there[name]))
    }
    hasValue = mine.text.isJSON || theirs.text.isJSON
    takeSchemaWithText()
  }

  /// Takes a value's schema version from the side of its text, because other versions don't describe this text.
  mutating func takeSchemaWithText() {
    guard hasValue, text.mine != text.theirs, var part = members[Self.schema] else { return }
    (part.side, part.dot) = (text.side, text.side == .mine ? part.mine : part.theirs)
    part.isConflict = false
    members[Self.schema] = part
  }

  private static let schema = Array(CodableValues.schemaName.utf8)
}

extension MergeDocument {
  var memberValues: [[UInt8]: [UInt8]] {
    Dictionary(uniqueKeysWithValues: attributes.memberList.map { ($0.name, $0.value) })
  }

  /// Returns the member's dot, or zero if the document never had the member.
  func dot(ofMember name: [UInt8], in values: [[UInt8]: [UInt8]]) -> Dot {
    dots.members.first { $0.name == name }?.dot ?? (values[name] == nil ? .zero : dots.attributes)
  }

  /// The dots of all parts, without the stamp and `kept`.
  var partDots: [Dot] {
    let values = memberValues
    return [dots.born, dots.text, dots.title, dots.key, dots.place] + dots.members.map(\.dot)
      + (values.keys.contains { name in !dots.members.contains { $0.name == name } } ? [dots.attributes] : [])
  }
}

extension TextDigest {
  var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    bytes.withUnsafeMutableBytes { write(to: $0) }
    return bytes
  }
}
