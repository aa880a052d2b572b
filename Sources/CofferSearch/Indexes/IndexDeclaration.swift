internal import CofferDocuments
package import CofferEngine
internal import CofferFoundation
package import CofferRecords

/// The declared indexes, as stored in an index root.
package struct IndexDeclaration: Codable {
  struct Field: Codable, Equatable {
    var name: String
    var path: String
    var kind: DocumentIndex.Kind
    /// The form of dates in a date field's values, or `nil` for ISO 8601.
    var dates: StoredDates?

    /// Compares bytes, because composed and decomposed forms are equal Strings but different names and paths.
    static func == (one: Field, other: Field) -> Bool {
      one.name.isIdentical(to: other.name) && one.path.isIdentical(to: other.path) && one.kind == other.kind
        && one.dates == other.dates
    }
  }

  package struct Collection: Codable {
    var number: UInt32
    /// The collection's identity, because numbers are reused.
    package var uid: UniqueID
    /// Whether the word index keeps diacritics, or `nil` without a word index.
    var keepsDiacritics: Bool?
    /// The paths of the members whose words are indexed, or `nil` for whole texts.
    var members: [String]?
    var hasSubstrings = false
    var fields: [Field] = []
    /// The names of fields that are indexed together, or `nil` without compound indexes.
    var compounds: [[String]]?
    var hasTitles = false

    var hasTexts: Bool { keepsDiacritics != nil || hasSubstrings }
    var isEmpty: Bool { !hasTexts && fields.isEmpty && !hasTitles }

    /// The word index, or `nil` without one.
    var words: DocumentIndex? { keepsDiacritics.map { .words(in: members ?? [], keepingDiacritics: $0) } }

    package var indexes: [DocumentIndex] {
      var indexes: [DocumentIndex] = []
      if let words { indexes.append(words) }
      if hasSubstrings { indexes.append(.substrings) }
      if hasTitles { indexes.append(.titles) }
      indexes += fields.map { .field($0.name, $0.path, as: $0.kind) }
      return indexes + (compounds ?? []).map { .fields($0) }
    }

    /// The field numbers in each index: single fields, followed by compounds.
    var indexedFields: [[Int]] {
      fields.indices.map { [$0] }
        + (compounds ?? []).map { names in
          names.compactMap { name in fields.firstIndex { $0.name.isIdentical(to: name) } }
        }
    }

    /// The numbers of the fields whose dates only the store's own coder can read.
    var ownDates: [Int] { fields.indices.filter { fields[$0].dates == .own } }

    /// Returns the part of the entry for an inner database.
    fileprivate func part(_ part: UInt32) -> Collection {
      var entry = Collection(number: number, uid: uid)
      if part == IndexPart.titles {
        entry.hasTitles = hasTitles
      } else {
        (entry.keepsDiacritics, entry.members) = (keepsDiacritics, members)
        (entry.hasSubstrings, entry.fields, entry.compounds) = (hasSubstrings, fields, compounds)
      }
      return entry
    }
  }

  /// Sorted by number.
  var collections: [Collection] = []

  static let maximumFields = 64
  static let maximumCompounds = 16
  static let fieldsInCompound = 2...8

  package init() {}

  /// - Throws: `damaged` if the bytes are invalid.
  package init(_ bytes: [UInt8]) throws(StoreError) {
    do {
      self = try JSONDecoder().decode(IndexDeclaration.self, from: Data(bytes))
    } catch {
      throw IndexRoot.damaged("its declaration can't be read")
    }
    var last: UInt32 = 0
    for collection in collections {
      guard collection.number > last, collection.number <= StoreFormat.maximumNumber, collection.isValid else {
        throw IndexRoot.damaged("its declaration is invalid")
      }
      last = collection.number
    }
  }

  package var bytes: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // Encoding numbers, strings and flags can't fail.
    return (try? encoder.encode(self)).map { Array($0) } ?? []
  }

  /// Returns the declaration for an inner database.
  package func part(_ part: UInt32) -> IndexDeclaration {
    var declaration = IndexDeclaration()
    declaration.collections = collections.map { $0.part(part) }.filter { !$0.isEmpty }
    return declaration
  }

  /// Merges the declaration for another inner database.
  package mutating func join(_ other: IndexDeclaration) {
    for entry in other.collections {
      guard let index = collections.firstIndex(where: { $0.number == entry.number && $0.uid == entry.uid }) else {
        collections.append(entry)
        continue
      }
      if entry.hasTitles {
        collections[index].hasTitles = true
      } else {
        let hasTitles = collections[index].hasTitles
        collections[index] = entry
        collections[index].hasTitles = hasTitles
      }
    }
    collections.sort { ($0.number, $0.uid) < ($1.number, $1.uid) }
  }

  /// Whether a field has dates that only the store's own coder can read.
  var hasOwnDates: Bool { collections.contains { !$0.ownDates.isEmpty } }

  package func collection(_ number: UInt32) -> Collection? {
    collections.first { $0.number == number }
  }

  /// Changes a collection's entry, creating it if it's missing and removing it if it becomes empty.
  mutating func change(_ record: CollectionRecord, _ body: (inout Collection) throws(StoreError) -> Void)
    throws(StoreError)
  {
    var entry = collection(record.id) ?? Collection(number: record.id, uid: record.uid)
    try body(&entry)
    collections.removeAll { $0.number == record.id }
    guard !entry.isEmpty else { return }
    collections.append(entry)
    collections.sort { $0.number < $1.number }
  }
}

extension IndexDeclaration.Collection {
  /// - Throws: `invalidArgument` for an invalid field name or path, or a compound of undeclared fields, `alreadyExists`
  ///   if the column name is taken, or `tooLarge` if the collection has too many fields.
  private mutating func add(_ index: DocumentIndex, dates: StoredDates? = nil) throws(StoreError) {
    switch index {
    case .words(let paths, let keepsDiacritics):
      try Self.requireMembers(paths)
      (members, self.keepsDiacritics) = (paths.isEmpty ? nil : paths, keepsDiacritics)
    case .substrings: hasSubstrings = true
    case .titles: hasTitles = true
    case .field(let name, let path, let kind):
      let field = IndexDeclaration.Field(name: name, path: path, kind: kind, dates: kind == .date ? dates : nil)
      let isThere = fields.contains {
        $0.kind == kind && $0.name.isIdentical(to: name) && $0.path.isIdentical(to: path)
      }
      if isThere { return }
      _ = try FieldSource(field)
      guard !name.isEmpty, !name.utf8.contains(0), name.utf8.count <= 128 else {
        throw StoreError(.invalidArgument, "the name of a field has 1 to 128 bytes, none of them U+0000")
      }
      let taken = DocumentColumn.names + fields.map(\.name)
      guard !taken.contains(where: { $0.isEqualForSQL(to: name) }) else {
        throw StoreError(.alreadyExists, "there is a column of that name already", hint: "choose another name")
      }
      guard fields.count < IndexDeclaration.maximumFields else {
        throw StoreError(.tooLarge, "a collection has at most \(IndexDeclaration.maximumFields) fields")
      }
      fields.append(field)
    case .fields(let names): try addCompound(names)
    }
  }

  private mutating func addCompound(_ names: [String]) throws(StoreError) {
    var known: [Int] = []
    for name in names {
      guard let field = fields.firstIndex(where: { $0.name.isEqualForSQL(to: name) }) else {
        throw StoreError(
          .invalidArgument, "fields can't be indexed together, because one of them isn't a declared field",
          hint: "declare it as a field in the same call, or before with \(.addIndex)")
      }
      known.append(field)
    }
    guard IndexDeclaration.fieldsInCompound.contains(known.count), Set(known).count == known.count else {
      throw StoreError(.invalidArgument, "2 to 8 different fields are indexed together, not \(names.count)")
    }
    let others = compounds ?? []
    let declared = known.map { fields[$0].name }
    if others.contains(where: { $0.isEqualForSQL(to: declared) }) { return }
    guard others.count < IndexDeclaration.maximumCompounds else {
      throw StoreError(
        .tooLarge, "a collection has at most \(IndexDeclaration.maximumCompounds) indexes of several fields")
    }
    compounds = others + [declared]
  }

  private static func requireMembers(_ paths: [String]) throws(StoreError) {
    guard paths.count <= IndexDeclaration.maximumFields else {
      throw StoreError(.tooLarge, "words are limited to at most \(IndexDeclaration.maximumFields) members")
    }
    guard paths.allSatisfy({ !$0.hasPrefix("@") && JSONPath($0) != nil }) else {
      throw StoreError(
        .invalidArgument, "the path of a member can't be read", hint: "write it as $.member, $.list[0] or $.\"a name\"")
    }
  }

  /// Whether all indexes can be added.
  fileprivate var isValid: Bool {
    guard compounds?.isEmpty != true else { return false }
    var copy = self
    (copy.fields, copy.compounds) = ([], nil)
    do throws(StoreError) {
      if let members {
        guard let keepsDiacritics, !members.isEmpty else { return false }
        try copy.add(.words(in: members, keepingDiacritics: keepsDiacritics))
      }
      for field in fields { try copy.add(.field(field.name, field.path, as: field.kind)) }
      for names in compounds ?? [] { try copy.add(.fields(names)) }
    } catch {
      return false
    }
    return copy.fields.count == fields.count && copy.compounds == compounds
  }

  /// Declares exactly these indexes, with dates in the form that this program's coder writes. Other indexes keep their
  /// order, so an unchanged declaration has unchanged bytes.
  package mutating func set(_ wanted: [DocumentIndex], dates: StoredDates?) throws(StoreError) {
    let before = compounds ?? []
    compounds = nil
    for index in indexes where !index.isIdentical(toAnyOf: wanted) { try remove(index) }
    for field in fields.indices where fields[field].kind == .date { fields[field].dates = dates }
    let kept = before.map { DocumentIndex.fields($0) }.filter { $0.isIdentical(toAnyOf: wanted) }
    try add(kept + wanted, dates: dates)
  }

  /// Adds indexes, including compounds whose fields are anywhere in the list.
  package mutating func add(_ indexes: [DocumentIndex], dates: StoredDates?) throws(StoreError) {
    for index in indexes where !index.isCompound { try add(index, dates: dates) }
    for index in indexes where index.isCompound { try add(index) }
  }

  /// Removes indexes, including fields whose compounds are in the list.
  package mutating func remove(_ indexes: [DocumentIndex]) throws(StoreError) {
    for index in indexes where index.isCompound { try remove(index) }
    for index in indexes where !index.isCompound { try remove(index) }
  }

  /// - Throws: `invalidArgument` if a compound needs the field.
  private mutating func remove(_ index: DocumentIndex) throws(StoreError) {
    switch index {
    case .words: (keepsDiacritics, members) = (nil, nil)
    case .substrings: hasSubstrings = false
    case .titles: hasTitles = false
    case .field(let name, _, _):
      guard compounds?.contains(where: { $0.contains { $0.isIdentical(to: name) } }) != true else {
        throw StoreError(
          .invalidArgument, "the field is indexed together with others", hint: "drop the index of several fields too")
      }
      fields.removeAll { $0.name.isIdentical(to: name) }
    case .fields(let names):
      compounds?.removeAll { $0.isEqualForSQL(to: names) }
      if compounds?.isEmpty == true { compounds = nil }
    }
  }
}

extension DocumentIndex {
  fileprivate var isCompound: Bool {
    if case .fields = self { true } else { false }
  }

  /// Returns whether one of the indexes has the same names and paths, compared by their bytes.
  fileprivate func isIdentical(toAnyOf indexes: [DocumentIndex]) -> Bool {
    indexes.contains { $0 == self && $0.strings.elementsEqual(strings) { $0.isIdentical(to: $1) } }
  }

  private var strings: [String] {
    switch self {
    case .words(let paths, _): paths
    case .substrings, .titles: []
    case .field(let name, let path, _): [name, path]
    case .fields(let names): names
    }
  }
}

/// The reserved column names in queries.
enum DocumentColumn {
  static let names = [
    "id", "position", "title", "text", "json", "key", "created", "modified", "size", "parent", "attributes", "isJSON",
    "collection", "rowid", "_rowid_", "oid",
  ]
}

extension String {
  /// Returns whether two names are equal in SQL, which ignores the case of ASCII letters.
  func isEqualForSQL(to other: String) -> Bool {
    utf8.elementsEqual(other.utf8) { one, two in
      func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
      return lower(one) == lower(two)
    }
  }
}

extension [String] {
  /// Returns whether two lists of names are equal in SQL.
  fileprivate func isEqualForSQL(to other: [String]) -> Bool {
    elementsEqual(other) { $0.isEqualForSQL(to: $1) }
  }
}
