internal import CofferDocuments

/// An object read as a row: its members are columns, and a mapping assigns them to the parts of a document.
struct MappedObject {
  private struct Member {
    let name: [UInt8]
    let nameSource: Range<Int>
    let value: ScannedValue
  }

  private let source: Range<Int>
  private var members: [Member] = []
  private let keepsIDs: Bool
  private let passedOver: StaticString?

  /// Scans the object that begins here.
  init(scanning scanner: inout JSONScanner, keepsIDs: Bool, passingOver passedOver: StaticString?) throws(JSONError) {
    self.keepsIDs = keepsIDs
    self.passedOver = passedOver
    let start = scanner.position
    try scanner.openObject(depth: 1)
    while let name = try scanner.nextName(isFirst: members.isEmpty) {
      members.append(
        Member(name: scanner.value(of: name), nameSource: name.range, value: try scanner.scanMemberValue()))
    }
    source = start..<scanner.position
  }

  func fill(
    _ output: inout RecordOutput, _ mapping: ColumnMapping, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) throws(JSONError) -> RecordFault? {
    if let column = mapping.columns[.text], index(of: column.name) == nil {
      return RecordFault(position: source.lowerBound, reason: "an object without the member that is to be the text")
    }
    let mapped = mapping.columns.values.compactMap { index(of: $0.name) }
    func place(of part: ColumnMapping.Part, or usual: String...) -> Int? {
      if let column = mapping.columns[part] { return index(of: column.name) }
      return usual.lazy.compactMap { index(of: $0) }.first { !mapped.contains($0) }
    }
    let text = place(of: .text, or: "text", "txt", "body")
    let id = place(of: .id, or: "id")
    let title = text == nil ? place(of: .title, or: "title", "name") : place(of: .title, or: "title")
    let key = place(of: .key, or: "key")
    if let id {
      let value = members[id].value
      output.draft.id = DocumentID(digits: UnsafeRawBufferPointer(rebasing: bytes[content(of: value)]))
      if output.draft.id == nil, keepsIDs, !isAbsent(value) {
        return RecordFault(position: value.source.lowerBound, reason: "an id that is not a positive integer")
      }
    }
    if let title, !isAbsent(members[title].value) {
      output.draft.title = string(members[title].value, &output, scanner)
    }
    if let key, !isAbsent(members[key].value) {
      let range = string(members[key].value, &output, scanner)
      if let fault = output.setKey(range, at: members[key].value.source.lowerBound) { return fault }
    }
    if let fault = setMapped(&output, mapping, scanner, bytes) { return fault }
    guard let text else {
      output.draft.text = source
      return nil
    }
    output.draft.text = isAbsent(members[text].value) ? 0..<0 : string(members[text].value, &output, scanner)
    // An id that is not kept stays visible.
    let others = members.indices.filter {
      ![text, keepsIDs ? id : nil, title, key].contains($0) && !isMappedOnly($0, mapping)
        && passedOver?.withUTF8Buffer(members[$0].name.elementsEqual) != true
    }
    return others.isEmpty ? nil : try setAttributes(others, &output, bytes)
  }

  /// Sets the parts that only a mapping gives.
  private func setMapped(
    _ output: inout RecordOutput, _ mapping: ColumnMapping, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    func member(_ part: ColumnMapping.Part) -> ScannedValue? {
      let value = mapping.columns[part].flatMap { index(of: $0.name) }.map { members[$0].value }
      return value.flatMap { isAbsent($0) ? nil : $0 }
    }
    if let name = member(.collection) {
      let range = string(name, &output, scanner)
      if !range.isEmpty { output.draft.collection = range }
    }
    for (part, target) in [(ColumnMapping.Part.created, \DraftBatch.Draft.created), (.modified, \.modified)] {
      guard let value = member(part) else { continue }
      var reader = DateReader(unit: mapping.dates)
      do throws(DateFault) {
        output.draft[keyPath: target] = try reader.read(UnsafeRawBufferPointer(rebasing: bytes[content(of: value)]))
      } catch {
        return RecordFault(error, at: value.source.lowerBound)
      }
    }
    return nil
  }

  private func isMappedOnly(_ member: Int, _ mapping: ColumnMapping) -> Bool {
    [ColumnMapping.Part.created, .modified, .collection].contains { part in
      mapping.columns[part].flatMap { index(of: $0.name) } == member
    }
  }

  private func setAttributes(
    _ others: [Int], _ output: inout RecordOutput, _ bytes: UnsafeRawBufferPointer
  ) throws(JSONError) -> RecordFault? {
    var object: [UInt8] = []
    for index in others {
      let member = members[index]
      object.append(object.isEmpty ? JSONByte.openBrace : JSONByte.comma)
      object += bytes[member.nameSource.lowerBound - 1..<member.nameSource.upperBound + 1]
      object.append(JSONByte.colon)
      object += bytes[member.value.source]
    }
    object.append(JSONByte.closeBrace)
    let failure: JSONError? = object.withUnsafeBytes { buffer in
      do throws(JSONError) {
        output.draft.attributes = try output.canonicalObject(JSONScanner(buffer))
        return nil
      } catch {
        return error
      }
    }
    // The object was assembled here, so that only the record's beginning can be reported.
    return failure.map { RecordFault(position: source.lowerBound, reason: $0.reason) }
  }

  /// The last member of that name, as in ECMAScript.
  private func index(of name: String) -> Int? {
    members.lastIndex { $0.name.elementsEqual(name.utf8) }
  }

  private func isAbsent(_ value: ScannedValue) -> Bool {
    if case .null = value.content { true } else { false }
  }

  /// The characters of a string or number, escapes as they are.
  private func content(of value: ScannedValue) -> Range<Int> {
    if case .string(let token) = value.content { token.range } else { value.source }
  }

  /// The value of a string; the source of any other value.
  private func string(
    _ value: ScannedValue, _ output: inout RecordOutput, _ scanner: JSONScanner
  ) -> Range<Int> {
    if case .string(let token) = value.content { output.value(of: token, scanner) } else { value.source }
  }
}
