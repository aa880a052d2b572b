internal import CofferDocuments
internal import CofferPropertyLists

/// A parser that creates documents from a property list. The list is a single record until it's complete, and then
/// contains the actual records.
struct PropertyListParser: RecordParser {
  static let keepsRejectedBytes = false
  static let generatesEverything = true
  /// The property list as a whole, which holds the records.
  static let usualMaximum = 1 << 30

  private enum State: Sendable {
    case unread
    case records(PropertyList, next: Int)
    case done
  }

  private let content: PropertyList.Content
  private let keepsIDs: Bool
  private let attachesData: Bool
  private var documents: JSONDocumentParser
  private var state = State.unread
  /// A Boolean value that indicates whether the property list is a keyed archive, or `nil` until it's read.
  private(set) var isKeyedArchive: Bool?
  private(set) var highestID: Int64?
  private var isTable = false
  private var json: [UInt8] = []
  private var scratch = RecordOutput()

  init(content: PropertyListSource.Content, mapping: ColumnMapping, options: ReadingOptions) {
    self.content =
      switch content {
      case .automatic: .automatic
      case .values: .values
      case .keyedArchive: .keyedArchive
      }
    keepsIDs = options.keepsIDs
    attachesData = options.attachesData
    documents = JSONDocumentParser(mapping: mapping, options: options)
  }

  /// The uses of the members, starting with the ID of a table's row.
  var columns: [ColumnUse] {
    let id = ColumnUse(name: PropertyList.rowIDName.description, use: keepsIDs ? .id : .key)
    return (isTable ? [id] : []) + documents.columns
  }

  var attachmentsWithoutContent: Int { documents.attachmentsWithoutContent }
  var endFault: FormatError? { documents.endFault }
  var readParts: (@Sendable (UnsafeRawBufferPointer, Int) throws -> DraftBatch)? { documents.readParts }
  var mayEnd: Bool { if case .done = state { true } else { false } }

  mutating func parse(
    _ bytes: UnsafeRawBufferPointer, from start: Int, isFinal: Bool, into output: inout RecordOutput
  ) -> RecordOutcome {
    guard isFinal else { return .needsMore }
    do throws(PropertyListFault) {
      if case .unread = state { state = .records(try open(bytes, from: start), next: 0) }
    } catch {
      state = .done
      return bad(error, bytes, &output)
    }
    guard case .records(let list, let next) = state else { return .nothing(end: bytes.count) }
    guard next < list.recordCount else {
      state = .done
      if let fault = list.trailingFault { return bad(fault, bytes, &output) }
      return .nothing(end: bytes.count)
    }
    return record(next, of: list, bytes, from: start, &output)
  }

  /// Discards an oversized property list entirely.
  mutating func skipRest(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isDone: Bool) {
    state = .done
    return (bytes.count, false)
  }

  private mutating func open(
    _ bytes: UnsafeRawBufferPointer, from start: Int
  ) throws(PropertyListFault) -> PropertyList {
    let list = try PropertyList(bytes, from: start, as: content)
    isKeyedArchive = list.isKeyedArchive
    highestID = list.highestID
    isTable = list.isTable
    if isTable { documents.passedOver = PropertyList.rowIDName }
    return list
  }

  /// Creates the document for one record.
  private mutating func record(
    _ number: Int, of list: PropertyList, _ bytes: UnsafeRawBufferPointer, from start: Int,
    _ output: inout RecordOutput
  ) -> RecordOutcome {
    var list = list
    json.removeAll(keepingCapacity: true)
    let extracted = attachesData ? ExtractedData() : nil
    let (range, fault) = list.appendJSON(
      ofRecord: number, in: bytes, from: start, to: &json, data: extracted.map { data in { data.append($0, to: &$1) } })
    output.source = range
    state = .records(list, next: number + 1)
    // The reader keeps the entire input until the last record is created, so faults can refer to it.
    if let fault = fault.map(RecordFault.init) ?? fill(&output, list.rowID(ofRecord: number)) {
      return .bad(fault, end: start)
    }
    if let extracted {
      do throws(JSONError) {
        try extracted.nameByPlace(in: json)
      } catch {
        return .bad(RecordFault(position: range.lowerBound, reason: error.reason), end: start)
      }
      output.attach(extracted.attachments)
    }
    return .record(end: start)
  }

  /// Creates the draft for the value in `json`.
  private mutating func fill(_ output: inout RecordOutput, _ rowID: [UInt8]?) -> RecordFault? {
    let place = output.source?.lowerBound ?? 0
    scratch.draft = output.draft
    scratch.generated.removeAll(keepingCapacity: true)
    scratch.generatedBase = json.count
    let fault: RecordFault? = json.withUnsafeBytes { bytes in
      var scanner = JSONScanner(bytes)
      do throws(JSONError) {
        return try documents.read(&scanner, bytes, into: &scratch)
      } catch {
        return RecordFault(position: place, reason: error.reason)
      }
    }
    let listed = scratch.takeAttachments()
    // Report the position in the input, because the offset refers to the generated JSON.
    if var fault {
      fault.position = place
      return fault
    }
    let base = output.generatedBase + output.generated.count
    output.generated += json
    output.generated += scratch.generated
    output.draft = scratch.draft
    output.draft.mapRanges { $0.isEmpty ? 0..<0 : $0.lowerBound + base..<$0.upperBound + base }
    output.draft.attachments = 0..<0
    output.attach(listed)
    guard isTable, let rowID else { return nil }
    if keepsIDs {
      output.draft.id = rowID.withUnsafeBytes { DocumentID(digits: $0) }
      if output.draft.id == nil { return RecordFault(position: place, reason: "an id that is not a positive integer") }
      return nil
    }
    let count = output.generated.count
    output.generated += rowID
    return output.setKey(output.range(generatedSince: count), at: place)
  }

  private func bad(
    _ fault: PropertyListFault, _ bytes: UnsafeRawBufferPointer, _ output: inout RecordOutput
  ) -> RecordOutcome {
    let position = min(fault.position, bytes.count)
    output.source = position..<position
    var fault = RecordFault(fault)
    fault.position = position
    return .bad(fault, end: bytes.count)
  }
}

extension RecordFault {
  init(_ fault: PropertyListFault) {
    let code: FormatError.Code =
      switch fault.code {
      case .malformed: .malformed
      case .tooLarge: .tooLarge
      case .undecodable: .undecodable
      }
    self.init(code: code, position: fault.position, reason: fault.reason)
  }
}
