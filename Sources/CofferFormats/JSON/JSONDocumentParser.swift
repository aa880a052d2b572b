internal import CofferDocuments

/// A parser that creates a document from a JSON value.
///
/// An object with a text is a document, and its other members become its parts or attributes. Other JSON is stored as a
/// value. `null` means that a part is missing.
struct JSONDocumentParser: Sendable {
  /// A member of an object, scanned but not parsed.
  struct Member: Sendable {
    let name: JSONScanner.StringToken
    let value: ScannedValue
  }

  /// The parts that all records of an export have. Other records rarely have all of them.
  private static let exported: MemberRoles.Parts =
    [DocumentMember.collection, .id, .position, .created, .modified].reduce(0) { $0 | $1.bit }

  let roles: MemberRoles
  let keepsIDs: Bool
  /// The parts that become attributes in documents outside of exported records.
  private let attributeParts: MemberRoles.Parts
  /// Whether a record without a text is read as a document's parts.
  private var readsParts = false
  /// Whether an empty string means that a part is missing, like an empty field in a table.
  private var ignoresEmptyParts = false
  private let valuesNameCollections: Bool
  /// The options, for reading the contents of attachments.
  let options: ReadingOptions
  /// The number of attachments whose content isn't in the input.
  var attachmentsWithoutContent = 0
  /// The name of a member to ignore, which is neither a part nor an attribute.
  var passedOver: StaticString?
  var dates: DateReader
  /// The members of the parts. ``found`` has a bit for each member that isn't null.
  private var parts = [Member?](repeating: nil, count: DocumentMember.allCases.count)
  private var found: MemberRoles.Parts = 0
  /// The parts with a member, including null.
  private var present: MemberRoles.Parts = 0
  private var isRepeated = false
  /// The members that aren't parts.
  private(set) var others: [Member] = []
  private var report = MemberReport()
  private var object: [UInt8] = []

  init(mapping: ColumnMapping, options: ReadingOptions) {
    roles = MemberRoles(mapping)
    dates = DateReader(unit: mapping.dates)
    self.options = options
    keepsIDs = options.keepsIDs
    valuesNameCollections = options.namesCollections && options.valuesNameCollections
    var attributes = DocumentMember.position.bit
    if !options.keepsIDs { attributes |= DocumentMember.id.bit | DocumentMember.parent.bit }
    if options.attachments == nil { attributes |= DocumentMember.attachments.bit }
    if !options.namesCollections, !roles.isMapped { attributes |= DocumentMember.collection.bit }
    attributeParts = attributes
  }

  /// Creates a parser for table rows as JSON objects.
  init(parts: [ColumnMapping.Part: String], dates: ColumnMapping.NumericDates?, _ options: ReadingOptions) {
    var mapping = ColumnMapping(parts.mapValues { ColumnMapping.Column($0) })
    mapping.dates = dates
    self.init(mapping: mapping, options: options)
    ignoresEmptyParts = true
  }

  /// See ``DraftBatch/readParts``.
  var readParts: @Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch {
    var parser = self
    parser.readsParts = true
    return { [parser] record, number in
      var parser = parser
      var output = RecordOutput()
      output.draft.record = number
      output.generatedBase = record.count
      var scanner = JSONScanner(record)
      if let fault = try parser.read(&scanner, record, into: &output) {
        var error = FormatError(fault.code, fault.reason)
        error.location = InputLocation(record: number, line: nil, column: nil, byteOffset: nil)
        error.advice = fault.advice
        throw error
      }
      var batch = DraftBatch()
      batch.bytes = Array(record) + output.generated
      batch.drafts = [output.draft]
      batch.attachments = output.takeAttachments()
      return batch
    }
  }

  /// The uses of the members so far.
  var columns: [ColumnUse] { report.columns(roles, attributes: attributeParts) }

  /// The fault in an input whose records don't have any mapped member, or never have the text.
  var endFault: FormatError? {
    guard roles.isMapped, report.objects > 0 else { return nil }
    let columns = columns
    let missing = columns.filter { $0.use == .missing }.map(\.name)
    let text = roles.mapping.columns[.text].flatMap { missing.contains($0.name) ? $0.name : nil }
    let isAll = missing.count == Set(roles.mapping.columns.values.map(\.name)).count
    guard let name = text ?? (isAll ? missing.first : nil) else { return nil }
    var error = FormatError(.missingColumn, "no record has the member \(name)")
    error.names = columns.filter { $0.use != .missing }.map(\.name)
    return error
  }

  /// Scans the value at the scanner's position into the draft of `output`.
  mutating func read(
    _ scanner: inout JSONScanner, _ bytes: UnsafeRawBufferPointer, into output: inout RecordOutput
  ) throws(JSONError) -> RecordFault? {
    let start = scanner.position
    guard scanner.next == JSONByte.openBrace else {
      let kind = try scanner.skipValue()
      if roles.isMapped {
        let reason = "not an object, which the mapping needs, but \(kind.words)"
        return RecordFault(position: start, reason: reason)
      }
      output.setValue(start..<scanner.position)
      return nil
    }
    try scan(&scanner)
    report.beginObject()
    if found & DocumentMember.text.bit == 0 { findOtherText(scanner) }
    guard readsParts || found & DocumentMember.text.bit != 0 else {
      if valuesNameCollections, let value = self[.collection], case .string(let token) = value.content {
        output.draft.collection = output.value(of: token, scanner)
      }
      return fillValue(start..<scanner.position, &output, scanner, bytes)
    }
    if isRepeated { throw JSONError(.duplicateName, at: start, "an object with the same name twice") }
    let isExport = isExport(scanner)
    if isExport { report.inExports |= present } else { report.inDocuments |= present }
    for member in others { report.note(member.name, as: .attribute, scanner) }
    if let fault = fillParts(isExport: isExport, &output, scanner, bytes) { return fault }
    let attributes = isExport ? [] : attributeMembers
    return try fillAttributes(attributes + others, at: start, &output, scanner, bytes)
  }

  private mutating func scan(_ scanner: inout JSONScanner) throws(JSONError) {
    found = 0
    present = 0
    isRepeated = false
    others.removeAll(keepingCapacity: true)
    try scanner.openObject(depth: 1)
    var isFirst = true
    while let name = try scanner.nextName(isFirst: isFirst) {
      isFirst = false
      let value = try scanner.scanMemberValue()
      var parts = roles.parts(of: name, scanner)
      if parts == 0 {
        let isIgnored = ignoresEmptyParts && isAbsent(value) || passedOver.map { scanner.equals(name, $0) } == true
        if !isIgnored { others.append(Member(name: name, value: value)) }
        continue
      }
      isRepeated = isRepeated || present & parts != 0
      present |= parts
      if isAbsent(value) { found &= ~parts } else { found |= parts }
      while parts != 0 {
        self.parts[parts.trailingZeroBitCount] = Member(name: name, value: value)
        parts &= parts - 1
      }
    }
  }

  private func isAbsent(_ value: ScannedValue) -> Bool {
    switch value.content {
    case .null: true
    case .string(let token): ignoresEmptyParts && token.range.isEmpty
    default: false
    }
  }

  /// Finds the text under its other usual names if there's a mapping, and uses the first match.
  private mutating func findOtherText(_ scanner: JSONScanner) {
    for name in roles.otherTexts {
      let index = others.firstIndex { member in
        if case .null = member.value.content { return false }
        return scanner.equals(member.name, name)
      }
      guard let index else { continue }
      let member = others.remove(at: index)
      report.note(member.name, as: .text, scanner)
      parts[Int(DocumentMember.text.rawValue)] = member
      found |= DocumentMember.text.bit
      return
    }
  }

  /// Returns whether the object is a complete record of an export, in which a missing title means that the document is
  /// untitled.
  private func isExport(_ scanner: JSONScanner) -> Bool {
    guard !roles.isMapped, found & Self.exported == Self.exported,
      case .number(let token)? = self[.position]?.content
    else { return false }
    return scanner.integer(of: token) != nil
  }

  /// The value of a part, or `nil` if it's missing.
  subscript(part: DocumentMember) -> ScannedValue? {
    found & part.bit != 0 ? parts[Int(part.rawValue)]?.value : nil
  }

  /// The members whose part isn't used.
  private var attributeMembers: [Member] {
    let unused = found & attributeParts
    if unused == 0 { return [] }
    return DocumentMember.allCases.filter { unused & $0.bit != 0 }.compactMap { parts[Int($0.rawValue)] }
  }

  /// Returns whether a document's part is used, and doesn't become an attribute.
  func uses(_ part: DocumentMember, isExport: Bool) -> Bool {
    isExport || attributeParts & part.bit == 0
  }

  /// Notes the members of a value, whose title came from `title`.
  mutating func noteValue(title: JSONScanner.StringToken?, _ scanner: JSONScanner) {
    report.inValues |= present
    for member in others { report.note(member.name, as: member.name == title ? .title : .value, scanner) }
  }

  /// Sets the attributes from the other members and the members of `attributes`.
  private mutating func fillAttributes(
    _ members: [Member], at start: Int, _ output: inout RecordOutput, _ scanner: JSONScanner,
    _ bytes: UnsafeRawBufferPointer
  ) throws(JSONError) -> RecordFault? {
    let given = self[.attributes]?.source
    if members.isEmpty {
      guard let given else { return nil }
      output.draft.attributes = try output.canonicalObject(JSONScanner(bytes, in: given))
      return nil
    }
    var members = members
    if let given { members += try JSONScanner(bytes, in: given).members() }
    scanner.assemble(&members, into: &object)
    let failure: JSONError? = object.withUnsafeBytes { buffer in
      do throws(JSONError) {
        output.draft.attributes = try output.canonicalObject(JSONScanner(buffer))
        return nil
      } catch {
        return error
      }
    }
    // The object was assembled here, so only the record's beginning can be reported.
    return failure.map { RecordFault(position: start, reason: "\($0.reason), as attributes") }
  }
}

extension JSONScanner {
  /// Returns the members of the object at the scanner's position.
  fileprivate func members() throws(JSONError) -> [JSONDocumentParser.Member] {
    var scanner = self
    var members: [JSONDocumentParser.Member] = []
    try scanner.openObject(depth: 1)
    while let name = try scanner.nextName(isFirst: members.isEmpty) {
      members.append(JSONDocumentParser.Member(name: name, value: try scanner.scanMemberValue()))
    }
    return members
  }

  /// Writes members as an object in canonical order, which is the fastest order to parse.
  fileprivate func assemble(_ members: inout [JSONDocumentParser.Member], into object: inout [UInt8]) {
    func source(_ range: Range<Int>) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }
    func precedes(_ lhs: JSONDocumentParser.Member, _ rhs: JSONDocumentParser.Member) -> Bool {
      if lhs.name.hasEscapes || rhs.name.hasEscapes {
        return JSONOrder.precedes(value(of: lhs.name), value(of: rhs.name))
      }
      return JSONOrder.precedes(source(lhs.name.range), source(rhs.name.range))
    }
    members.sort(by: precedes)
    object.removeAll(keepingCapacity: true)
    object.append(JSONByte.openBrace)
    for (index, member) in members.enumerated() {
      if index > 0 { object.append(JSONByte.comma) }
      object.append(JSONByte.quote)
      object.append(contentsOf: source(member.name.range))
      object.append(JSONByte.quote)
      object.append(JSONByte.colon)
      object.append(contentsOf: source(member.value.source))
    }
    object.append(JSONByte.closeBrace)
  }
}

extension JSONScanner.Kind {
  fileprivate var words: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
