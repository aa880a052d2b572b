internal import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferText

/// The source for an indexed field's values in the text, the attributes or the header.
struct FieldSource {
  private enum Place {
    case text(JSONPath)
    case attributes(JSONPath)
    case created, modified, size, title, key
  }

  private let place: Place
  private let kind: DocumentIndex.Kind
  private let dates: StoredDates?
  /// The store's values, if the program has the coder that reads their dates.
  private let values: CodableValues?

  /// - Parameter values: The store's values, if the program has the coder that reads their dates.
  /// - Throws: `invalidArgument` if the path is invalid, or if its values can't have the field's kind.
  init(_ field: IndexDeclaration.Field, _ values: CodableValues? = nil) throws(StoreError) {
    (kind, dates, self.values) = (field.kind, field.dates, values)
    func path(_ text: some StringProtocol) throws(StoreError) -> JSONPath {
      guard let path = JSONPath(text) else {
        throw StoreError(
          .invalidArgument, "the path of a field can't be read", hint: "write it as $.member, $.list[0] or $.\"a name\""
        )
      }
      return path
    }
    guard field.path.hasPrefix("@") else {
      place = .text(try path(field.path))
      return
    }
    let kinds: [DocumentIndex.Kind]
    switch field.path {
    case "@created": (place, kinds) = (.created, [.date])
    case "@modified": (place, kinds) = (.modified, [.date])
    case "@size": (place, kinds) = (.size, [.number])
    case "@title": (place, kinds) = (.title, [.text, .folded])
    case "@key": (place, kinds) = (.key, [.text, .folded])
    default:
      let prefix = "@attributes"
      guard field.path.hasPrefix(prefix), field.path.count > prefix.count else {
        throw StoreError(
          .invalidArgument, "the path of a field can't be read",
          hint: "the header's fields are @created, @modified, @size, @title, @key and @attributes with a path")
      }
      (place, kinds) = (.attributes(try path("$" + field.path.dropFirst(prefix.count))), DocumentIndex.Kind.allCases)
    }
    guard kinds.contains(kind) else {
      throw StoreError(
        .invalidArgument, "\(field.path) is no \(kind.rawValue)",
        hint: "index it as \(kinds.map(\.rawValue).joined(separator: " or "))")
    }
  }

  /// Returns the values to index for a document.
  static func values(
    of fields: [FieldSource], _ header: DocumentHeader, _ text: UnsafeRawBufferPointer
  ) -> [SQLiteValue] {
    var document: JSONValueRange?
    if fields.contains(where: \.readsText) {
      var scanner = JSONScanner(text)
      document = try? scanner.scanDocument()
    }
    return fields.map { $0.value(header, text, document) }
  }

  private typealias JSONValueRange = (kind: JSONScanner.Kind, range: Range<Int>)

  private var readsText: Bool {
    if case .text = place { true } else { false }
  }

  /// - Parameter document: The text's JSON value, or `nil` if the text isn't JSON.
  private func value(
    _ header: DocumentHeader, _ text: UnsafeRawBufferPointer, _ document: JSONValueRange?
  ) -> SQLiteValue {
    switch place {
    case .text(let path): document.flatMap { path.find(in: text, $0) }.map { value($0, in: text) } ?? .null
    case .attributes(let path):
      header.attributes.isEmpty
        ? .null
        : header.attributes.canonicalJSON.withUnsafeBytes { json in
          path.find(in: json).map { value($0, in: json) } ?? .null
        }
    case .created: .text(header.created.description)
    case .modified: .text(header.modified.description)
    case .size: .integer(Int64(header.byteCount))
    case .title: header.title.map { string($0) } ?? .null
    case .key: header.key?.text.map { string($0) } ?? .null
    }
  }

  private func value(_ found: JSONValueRange, in json: UnsafeRawBufferPointer) -> SQLiteValue {
    var literal: String { String(decoding: json[found.range], as: UTF8.self) }
    if kind == .date, dates == .own, readsText, found.kind != .null {
      let date = UnsafeRawBufferPointer(rebasing: json[found.range])
      // Without the coder, keep the date for a program that has it.
      guard let values else { return .blob(Array(date)) }
      if let timestamp = values.date(inJSON: date).map({ Timestamp($0) }), timestamp.isStorable {
        return .text(timestamp.description)
      }
    }
    switch (kind, found.kind) {
    case (.number, .bool), (.boolean, .bool): return .integer(literal == "true" ? 1 : 0)
    case (.number, .number):
      if let integer = Int64(literal) { return .integer(integer) }
      return Double(literal).map { .real($0) } ?? .null
    case (.date, .number):
      guard let dates, let number = Double(literal), let timestamp = dates.timestamp(number) else { return .null }
      return .text(timestamp.description)
    case (.text, .string), (.folded, .string), (.date, .string):
      return string(String(decoding: JSONPath.bytes(ofStringAt: found.range, in: json), as: UTF8.self))
    default: return .null
    }
  }

  private func string(_ text: String) -> SQLiteValue {
    switch kind {
    case .number, .boolean: .null
    case .text: .text(text)
    case .folded: .text(String(decoding: KeyFolding.fold(text), as: UTF8.self))
    case .date: Timestamp(iso8601: text).map { .text($0.description) } ?? .null
    }
  }
}
