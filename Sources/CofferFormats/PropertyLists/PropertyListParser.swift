internal import CofferDocuments

/// A property list to documents. It is one record to its reader until it is whole, and then as many as it holds.
struct PropertyListParser: RecordParser {
  static let keepsRejectedBytes = false
  static let makesEverything = true
  /// The property list as a whole, which holds the records.
  static let usualMaximum = 1 << 30

  private enum State: Sendable {
    case unread
    case records(PropertyListLayout, next: Int, Form, PropertyListBudget)
    case done
  }

  private enum Form: Sendable {
    case xml
    case binary(BinaryPropertyListTrailer)
  }

  private let content: PropertyListSource.Content
  private let keepsIDs: Bool
  private var documents: JSONDocumentParser
  private var rowDocuments: JSONDocumentParser
  private var state = State.unread
  /// What the property list turned out to be; nil until then.
  private(set) var isKeyedArchive: Bool?
  private(set) var highestID: Int64?
  private var json: [UInt8] = []
  private var scratch = RecordOutput()

  init(content: PropertyListSource.Content, mapping: ColumnMapping, keepsIDs: Bool) {
    self.content = content
    self.keepsIDs = keepsIDs
    documents = JSONDocumentParser(mapping: mapping, keepsIDs: keepsIDs)
    rowDocuments = JSONDocumentParser(mapping: mapping, keepsIDs: keepsIDs, passingOver: PropertyListLayout.rowID)
  }

  var mayEnd: Bool { if case .done = state { true } else { false } }

  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    guard isFinal else { return .needsMore }
    do throws(PropertyListFault) {
      if case .unread = state { state = try look(at: bytes, from: start) }
      guard case .records(let layout, let next, let form, let budget) = state else {
        return .nothing(end: bytes.count)
      }
      guard next < layout.records.count else {
        state = .done
        if let fault = layout.fault { return bad(fault, bytes, &output) }
        return .nothing(end: bytes.count)
      }
      switch form {
      case .xml:
        let reader = XMLPropertyListReader(bytes, resumingAt: layout.records[next].place, budget: budget)
        return record(next, layout, form, reader, from: start, &output)
      case .binary(let trailer):
        let file = UnsafeRawBufferPointer(rebasing: bytes[start...])
        let reader = BinaryPropertyListReader(file, base: start, trailer: trailer, budget: budget)
        return record(next, layout, form, reader, from: start, &output)
      }
    } catch {
      state = .done
      return bad(error, bytes, &output)
    }
  }

  /// Nothing is kept of a property list that is too long.
  mutating func skipRest(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isDone: Bool) {
    state = .done
    return (bytes.count, false)
  }

  private mutating func look(
    at bytes: UnsafeRawBufferPointer, from start: Int
  ) throws(PropertyListFault) -> State {
    let file = UnsafeRawBufferPointer(rebasing: bytes[start...])
    if BinaryPropertyListReader.magic.withUTF8Buffer({ file.starts(with: $0) }) {
      let trailer = try BinaryPropertyListTrailer(file, base: start)
      var reader = BinaryPropertyListReader(
        file, base: start, trailer: trailer, budget: PropertyListBudget(inputByteCount: file.count))
      let layout = try PropertyListLayout(&reader, content: content) { _ throws(PropertyListFault) in }
      isKeyedArchive = layout.archive != nil
      highestID = layout.highestID
      return .records(layout, next: 0, .binary(trailer), reader.budget)
    }
    var reader = try XMLPropertyListReader(bytes, from: start)
    let layout = try PropertyListLayout(&reader, content: content) { reader throws(PropertyListFault) in
      try reader.finish()
    }
    isKeyedArchive = layout.archive != nil
    highestID = layout.highestID
    return .records(layout, next: 0, .xml, reader.budget)
  }

  /// Makes the document of one record.
  private mutating func record(
    _ number: Int, _ layout: PropertyListLayout, _ form: Form, _ reader: some PropertyListReader,
    from start: Int, _ output: inout RecordOutput
  ) -> RecordOutcome {
    var reader = reader
    let place = layout.records[number].place
    json.removeAll(keepingCapacity: true)
    let fault: RecordFault?
    do throws(PropertyListFault) {
      if let archive = layout.archive {
        try archive.append(archive.tops[number], &reader, to: &json)
      } else {
        reader.move(to: place)
        var writer = PropertyListJSON()
        try writer.append(&reader, to: &json)
      }
      output.source = reader.range(of: place)
      fault = fill(&output, layout, layout.records[number].id)
    } catch {
      output.source = reader.range(of: place)
      fault = RecordFault(code: error.code, position: error.position, reason: error.reason)
    }
    state = .records(layout, next: number + 1, form, reader.budget)
    // Nothing is done with until the last record is, so that each can be found where it stands.
    if let fault { return .bad(fault, end: start) }
    return .record(end: start)
  }

  /// Makes the draft of the value in `json`.
  private mutating func fill(
    _ output: inout RecordOutput, _ layout: PropertyListLayout, _ rowID: [UInt8]?
  ) -> RecordFault? {
    let place = output.source?.lowerBound ?? 0
    scratch.draft = output.draft
    scratch.made.removeAll(keepingCapacity: true)
    scratch.madeBase = json.count
    let fault: RecordFault? = json.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      do throws(JSONError) {
        return layout.isTable
          ? try rowDocuments.read(&scanner, bytes, into: &scratch) : try documents.read(&scanner, bytes, into: &scratch)
      } catch {
        return RecordFault(position: place, reason: error.reason)
      }
    }
    // Places in what was made of the record say nothing to whoever has the input.
    if let fault { return RecordFault(code: fault.code, position: place, reason: fault.reason) }
    let base = output.madeBase + output.made.count
    output.made += json
    output.made += scratch.made
    output.draft = scratch.draft
    output.draft.mapRanges { $0.isEmpty ? 0..<0 : $0.lowerBound + base..<$0.upperBound + base }
    guard layout.isTable, let rowID else { return nil }
    if keepsIDs {
      output.draft.id = rowID.withUnsafeBytes { DocumentID(digits: $0) }
      if output.draft.id == nil { return RecordFault(position: place, reason: "an id that is not a positive integer") }
      return nil
    }
    let count = output.made.count
    output.made += rowID
    return output.setKey(output.range(madeSince: count), at: place)
  }

  private func bad(
    _ fault: PropertyListFault, _ bytes: UnsafeRawBufferPointer, _ output: inout RecordOutput
  ) -> RecordOutcome {
    let position = min(fault.position, bytes.count)
    output.source = position..<position
    return .bad(RecordFault(code: fault.code, position: position, reason: fault.reason), end: bytes.count)
  }
}
