internal import CofferDocuments

/// Makes a document of a JSON value.
struct JSONDocumentParser: Sendable {
  private let mapping: ColumnMapping
  private let keepsIDs: Bool
  /// A member to ignore: it neither belongs to a record of ours nor makes an object foreign.
  private let passedOver: StaticString?
  private var dates: DateReader
  /// The values of our members; ``found`` has a bit for each.
  private var values = [ScannedValue](
    repeating: ScannedValue(content: .null, source: 0..<0), count: DocumentMember.allCases.count)
  private var found: UInt16 = 0

  init(mapping: ColumnMapping, keepsIDs: Bool, passingOver passedOver: StaticString? = nil) {
    self.passedOver = passedOver
    self.mapping = mapping
    self.keepsIDs = keepsIDs
    dates = DateReader(unit: mapping.dates)
  }

  /// Scans the value that begins here into the draft of `output`.
  mutating func read(
    _ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer, into output: inout RecordOutput
  ) throws(JSONError) -> RecordFault? {
    let start = scanner.position
    guard scanner.next == JSONByte.openBrace else {
      try scanner.skipValue()
      output.draft.text = start..<scanner.position
      return nil
    }
    if !mapping.isEmpty {
      return try MappedObject(scanning: &scanner, keepsIDs: keepsIDs, passingOver: passedOver)
        .fill(&output, mapping, scanner, bytes)
    }
    try scanner.openObject(depth: 1)
    found = 0
    var isOurs = true
    var hasDuplicates = false
    var isFirst = true
    var name: JSONScanner.StringToken?
    while let memberName = try scanner.nextName(isFirst: isFirst) {
      isFirst = false
      let value = try scanner.scanMemberValue()
      if let member = scanner.documentMember(memberName) {
        let bit = UInt16(1) << member.rawValue
        hasDuplicates = hasDuplicates || found & bit != 0
        found |= bit
        values[Int(member.rawValue)] = value
      } else if passedOver.map({ scanner.equals(memberName, $0) }) != true {
        isOurs = false
        if scanner.equals(memberName, "name"), case .string(let token) = value.content { name = token }
      }
    }
    if isOurs, let record = ownRecord(scanner, bytes) {
      if hasDuplicates { throw JSONError(.duplicateName, at: start, "an object with the same name twice") }
      return try record.fill(&output, scanner, bytes)
    }
    if case .string(let title)? = value(.title)?.content { name = title }
    if let name { output.draft.title = output.value(of: name, scanner) }
    output.draft.text = start..<scanner.position
    return nil
  }

  private func value(_ member: DocumentMember) -> ScannedValue? {
    found & (1 << member.rawValue) != 0 ? values[Int(member.rawValue)] : nil
  }

  /// The members as a record of ours; nil if one has another type, so that the object is foreign.
  private mutating func ownRecord(_ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer) -> OwnRecord? {
    guard case .string(let text)? = value(.text)?.content else { return nil }
    var record = OwnRecord(text: text)
    for member in DocumentMember.allCases {
      guard let value = value(member) else { continue }
      switch (member, value.content) {
      case (.text, _): break
      case (.collection, .string(let token)): record.collection = token
      case (.title, .string(let token)): record.title = token
      case (.key, .string(let token)): record.key = .text(token)
      case (.key, .object):
        guard let token = scanner.base64Token(in: value.source) else { return nil }
        record.key = .base64(token)
      case (.attributes, .object): record.attributes = value.source
      case (.json, .bool(let flag)): record.isJSON = flag
      case (.id, .number(let token)):
        guard let number = scanner.integer(of: token), number >= 1 else { return nil }
        record.id = DocumentID(number)
      case (.parent, .number(let token)):
        guard let number = scanner.integer(of: token), number >= 1 else { return nil }
        record.parent = DocumentID(number)
      case (.position, .number(let token)):
        guard scanner.integer(of: token) != nil else { return nil }
        record.hasPosition = true
      case (.created, .string), (.created, .number), (.modified, .string), (.modified, .number):
        do throws(DateFault) {
          let date = try date(value, scanner, bytes)
          if member == .created { record.created = date } else { record.modified = date }
        } catch {
          record.fault = RecordFault(error, at: value.source.lowerBound)
        }
      default: return nil
      }
    }
    return record
  }

  private mutating func date(
    _ value: ScannedValue, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) throws(DateFault) -> Timestamp {
    guard case .string(let token) = value.content else {
      return try dates.read(UnsafeRawBufferPointer(rebasing: bytes[value.source]))
    }
    guard token.hasEscapes else { return try dates.read(UnsafeRawBufferPointer(rebasing: bytes[token.range])) }
    let result = scanner.value(of: token).withUnsafeBytes { text in
      Result { () throws(DateFault) in try dates.read(text) }
    }
    return try result.get()
  }
}

/// A record in our own format.
private struct OwnRecord {
  enum Key {
    case text(JSONScanner.StringToken)
    case base64(JSONScanner.StringToken)
  }

  let text: JSONScanner.StringToken
  var id: DocumentID?
  var parent: DocumentID?
  var collection: JSONScanner.StringToken?
  var title: JSONScanner.StringToken?
  var key: Key?
  var attributes: Range<Int>?
  var created: Timestamp?
  var modified: Timestamp?
  var isJSON = false
  var hasPosition = false
  /// The reason why the record can't be used.
  var fault: RecordFault?

  func fill(
    _ output: inout RecordOutput, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) throws(JSONError) -> RecordFault? {
    if let fault { return fault }
    output.draft.text = output.value(of: text, scanner)
    output.draft.id = id
    output.draft.parent = parent
    output.draft.collection = collection.map { output.value(of: $0, scanner) }
    output.draft.title = title.map { output.value(of: $0, scanner) }
    output.draft.created = created
    output.draft.modified = modified
    output.draft.isJSON = isJSON
    // Only a complete record of an export has a position; there an absent title means none.
    output.draft.isComplete = hasPosition
    if let attributes {
      output.draft.attributes = try output.canonicalObject(JSONScanner(bytes, in: attributes))
    }
    switch key {
    case nil: return nil
    case .text(let token): return output.setKey(output.value(of: token, scanner), at: token.range.lowerBound)
    case .base64(let token):
      let count = output.generated.count
      guard Base64.append(decoding: UnsafeRawBufferPointer(rebasing: bytes[token.range]), to: &output.generated) else {
        return RecordFault(position: token.range.lowerBound, reason: "a key that is not Base64")
      }
      return output.setKey(output.range(generatedSince: count), at: token.range.lowerBound)
    }
  }
}

extension RecordOutput {
  /// The value of a string: its own range, or that of a copy without escapes.
  mutating func value(of token: JSONScanner.StringToken, _ scanner: JSONScanner) -> Range<Int> {
    guard token.hasEscapes else { return token.range }
    let count = generated.count
    scanner.appendValue(of: token, to: &generated)
    return range(generatedSince: count)
  }

  /// The object at the scanner in canonical form; nil for `{}`.
  mutating func canonicalObject(_ scanner: JSONScanner) throws(JSONError) -> Range<Int>? {
    var scanner = scanner
    let count = generated.count
    try scanner.appendCanonicalObject(to: &generated)
    return generated.count == count ? nil : range(generatedSince: count)
  }

  mutating func setKey(_ range: Range<Int>, at position: Int) -> RecordFault? {
    guard range.count <= DocumentKey.maximumByteCount else { return .keyTooLong(at: position) }
    guard !range.isEmpty else { return RecordFault(position: position, reason: "an empty key") }
    draft.key = range
    return nil
  }
}

extension JSONScanner {
  /// The string of `{"$base64":"…"}`; nil for any other object.
  func base64Token(in range: Range<Int>) -> StringToken? {
    var scanner = JSONScanner(UnsafeRawBufferPointer(start: base, count: range.upperBound), in: range)
    do throws(JSONError) {
      try scanner.openObject(depth: 1)
      guard let name = try scanner.nextName(isFirst: true), scanner.equals(name, "$base64"),
        scanner.next == JSONByte.quote
      else { return nil }
      let token = try scanner.scanString()
      return try scanner.nextName(isFirst: false) == nil && !token.hasEscapes ? token : nil
    } catch {
      return nil
    }
  }
}
