internal import CofferDocuments

// Converts object members to the parts of a draft.
extension JSONDocumentParser {
  /// Fills a document's parts. Returns a fault that names the member if its value is invalid for the part.
  mutating func fillParts(
    isExport: Bool, _ output: inout RecordOutput, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    if let fault = fillID(isUsed: uses(.id, isExport: isExport), &output, scanner, bytes) { return fault }
    // An array or object isn't text, so its strings are searched like the strings of a value.
    if let text = self[.text] {
      output.draft.text = output.scalar(text, scanner) ?? text.source
      output.draft.isJSON = !text.isScalar
    }
    // Only in an export, a missing title means that the document is untitled.
    output.draft.isComplete = isExport
    if let value = self[.title] {
      guard let title = output.scalar(value, scanner) else { return fault(.title, "not text", value) }
      output.draft.title = title
    }
    if let fault = fillMapped(isExport: isExport, &output, scanner, bytes) { return fault }
    if let value = self[.parent], uses(.parent, isExport: isExport) {
      output.draft.parent = documentID(value, scanner, bytes)
      if output.draft.parent == nil { return fault(.parent, "not a positive integer", value) }
    }
    if let value = self[.json] {
      guard case .bool(let flag) = value.content else { return fault(.json, "neither true nor false", value) }
      output.draft.isJSON = output.draft.isJSON || flag
    }
    if let value = self[.attributes] {
      guard case .object = value.content else { return fault(.attributes, "not an object", value) }
    }
    if let value = self[.attachments], uses(.attachments, isExport: isExport) {
      if let fault = fillAttachments(value, &output, bytes) { return fault }
    }
    return self[.key].flatMap { fillKey($0, &output, scanner, bytes) }
  }

  private mutating func fillAttachments(
    _ value: ScannedValue, _ output: inout RecordOutput, _ bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    guard case .array = value.content else { return fault(.attachments, "not an array", value) }
    var attachments: [DraftAttachment] = []
    do {
      for entry in try AttachmentEntry.list(bytes, in: value.source) {
        if let attachment = try options.attachments?.attachment(entry, options) {
          attachments.append(attachment)
        } else {
          attachmentsWithoutContent += 1
        }
      }
    } catch let error as FormatError {
      let reason = error.path.map { "\(error.reason): \($0)" } ?? error.reason
      return RecordFault(code: error.code, position: value.source.lowerBound, reason: reason)
    } catch {
      return fault(.attachments, (error as? JSONError)?.reason ?? "\(error)", value)
    }
    output.attach(attachments)
    return nil
  }

  /// Makes the whole object a value, which has an ID, a title and a key, like a table row without a text.
  mutating func fillValue(
    _ source: Range<Int>, _ output: inout RecordOutput, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    output.setValue(source)
    var name: JSONScanner.StringToken?
    if let title = self[.title], title.isString || roles.isMapped && title.isScalar {
      output.draft.title = output.scalar(title, scanner)
    } else if let member = others.last(where: { $0.value.isString && scanner.equals($0.name, "name") }) {
      output.draft.title = output.scalar(member.value, scanner)
      output.draft.isUsualTitle = true
      name = member.name
    }
    noteValue(title: name, scanner)
    if let fault = fillID(isUsed: keepsIDs, &output, scanner, bytes) { return fault }
    if roles.isMapped, let fault = fillMapped(isExport: false, &output, scanner, bytes) { return fault }
    guard let key = self[.key], key.isScalar, !key.isEmptyString else { return nil }
    return fillKey(key, &output, scanner, bytes)
  }

  private func fillID(
    isUsed: Bool, _ output: inout RecordOutput, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    guard let value = self[.id] else { return nil }
    output.draft.id = documentID(value, scanner, bytes)
    return output.draft.id == nil && isUsed ? fault(.id, "not a positive integer", value) : nil
  }

  /// Fills the dates and the collection, which tables have only in a mapping.
  private mutating func fillMapped(
    isExport: Bool, _ output: inout RecordOutput, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    if let value = self[.collection], uses(.collection, isExport: isExport) {
      guard let name = output.scalar(value, scanner) else { return fault(.collection, "not text", value) }
      // An empty column in a mapping doesn't name a collection.
      if !roles.isMapped || !name.isEmpty { output.draft.collection = name }
    }
    for (part, target) in [(DocumentMember.created, \DraftBatch.Draft.created), (.modified, \.modified)] {
      guard let value = self[part] else { continue }
      do throws(DateFault) {
        output.draft[keyPath: target] = try date(value, scanner, bytes)
      } catch {
        return RecordFault(error, at: value.source.lowerBound).naming("member", roles.name(of: part))
      }
    }
    return nil
  }

  private func fillKey(
    _ value: ScannedValue, _ output: inout RecordOutput, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) -> RecordFault? {
    let position = value.source.lowerBound
    if let range = output.scalar(value, scanner) {
      return output.setKey(range, at: position)?.naming("member", roles.name(of: .key))
    }
    guard case .object = value.content, let token = scanner.base64Token(in: value.source) else {
      return fault(.key, "neither text nor a number", value)
    }
    let count = output.generated.count
    guard Base64.append(decoding: UnsafeRawBufferPointer(rebasing: bytes[token.range]), to: &output.generated) else {
      return fault(.key, "not Base64", value)
    }
    let range = output.range(generatedSince: count)
    return output.setKey(range, at: position)?.naming("member", roles.name(of: .key))
  }

  /// Returns a positive integer from a number or a string of digits, or `nil` for other values.
  private func documentID(
    _ value: ScannedValue, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) -> DocumentID? {
    switch value.content {
    case .number(let token): scanner.integer(of: token).flatMap { $0 >= 1 ? DocumentID($0) : nil }
    case .string(let token) where !token.hasEscapes:
      DocumentID(digits: UnsafeRawBufferPointer(rebasing: bytes[token.range]))
    default: nil
    }
  }

  private mutating func date(
    _ value: ScannedValue, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) throws(DateFault) -> Timestamp {
    switch value.content {
    case .string(let token) where token.hasEscapes:
      let result = scanner.value(of: token).withUnsafeBytes { text in
        Result { () throws(DateFault) in try dates.read(text) }
      }
      return try result.get()
    case .string(let token): return try dates.read(UnsafeRawBufferPointer(rebasing: bytes[token.range]))
    case .number(let token): return try dates.read(UnsafeRawBufferPointer(rebasing: bytes[token.range]))
    default: throw .notADate
    }
  }

  private func fault(_ part: DocumentMember, _ reason: String, _ value: ScannedValue) -> RecordFault {
    RecordFault(position: value.source.lowerBound, reason: reason).naming("member", roles.name(of: part))
  }
}

extension ScannedValue {
  fileprivate var isString: Bool { if case .string = content { true } else { false } }

  fileprivate var isEmptyString: Bool {
    if case .string(let token) = content { token.range.isEmpty } else { false }
  }

  fileprivate var isScalar: Bool {
    switch content {
    case .string, .number, .bool: true
    case .null, .object, .array: false
    }
  }
}

extension RecordOutput {
  /// Makes the draft a value with this JSON.
  mutating func setValue(_ source: Range<Int>) {
    draft.text = source
    draft.isJSON = true
    draft.isWholeRecord = true
  }

  /// Returns the characters of a string, number or Boolean, or `nil` for other values.
  fileprivate mutating func scalar(_ value: ScannedValue, _ scanner: JSONScanner) -> Range<Int>? {
    if case .string(let token) = value.content { return self.value(of: token, scanner) }
    return value.isScalar ? value.source : nil
  }

  /// Returns a string's range, or the range of a copy without escapes.
  mutating func value(of token: JSONScanner.StringToken, _ scanner: JSONScanner) -> Range<Int> {
    guard token.hasEscapes else { return token.range }
    let count = generated.count
    scanner.appendValue(of: token, to: &generated)
    return range(generatedSince: count)
  }

  /// Returns the object at the scanner's position in canonical form, with long integers as strings of digits, or `nil`
  /// for `{}`.
  mutating func canonicalObject(_ scanner: JSONScanner) throws(JSONError) -> Range<Int>? {
    var scanner = scanner
    let count = generated.count
    try scanner.appendCanonicalObject(to: &generated, keepsDigits: true)
    return generated.count == count ? nil : range(generatedSince: count)
  }

  mutating func setKey(_ range: Range<Int>, at position: Int) -> RecordFault? {
    guard range.count <= DocumentKey.maximumByteCount else { return .keyTooLong(at: position) }
    guard !range.isEmpty else { return RecordFault(position: position, reason: "an empty key") }
    draft.key = range
    return nil
  }
}
