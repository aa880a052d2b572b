// What libFuzzer calls: one input, read by the parser that COFFER_FUZZ names, in different ways that must agree.

internal import CofferDocuments
internal import CofferFormats
internal import Foundation

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let parser = Parser.chosen
  let whole = Reading(bytes, chunk: .max, by: parser, onError: .fail)
  precondition(Reading(bytes, chunk: 3, by: parser, onError: .fail) == whole, "chunks change what is read")
  let skipping = Reading(bytes, chunk: .max, by: parser, onError: .skip)
  if whole.error == nil {
    precondition(skipping == whole, "skipping bad records changes what is good")
  } else {
    precondition(skipping.texts.starts(with: whole.texts), "skipping bad records loses good ones")
  }
  if parser == .json { compareWithFoundation(bytes, whole) }
  return 0
}

/// What we take for JSON is JSON to Foundation too. (Property lists are not compared: Foundation's parser crashes on
/// damaged ones.)
private func compareWithFoundation(_ bytes: [UInt8], _ reading: Reading) {
  guard reading.error == nil, bytes.first.map({ $0 < 0x80 }) == true else { return }
  // A number beyond a double is JSON, and nothing that Foundation can hold.
  let hasHugeNumber = bytes.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") } || bytes.count > 300
  guard !hasHugeNumber else { return }
  let parsed = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
  precondition(parsed != nil, "Foundation refuses what was read")
}

enum Parser: String {
  case text, csv, tsv, json, ndjson, plist
  case keyedArchive = "keyed-archive"

  static let chosen: Parser = {
    let name = ProcessInfo.processInfo.environment["COFFER_FUZZ"] ?? ""
    guard let parser = Parser(rawValue: name) else {
      fatalError("COFFER_FUZZ names no parser: text, csv, tsv, json, ndjson, plist, keyed-archive")
    }
    return parser
  }()

  func source(_ bytes: any ByteSource, _ options: ReadingOptions) -> any DraftSource {
    switch self {
    case .text: TextSource(bytes, options: options)
    case .csv: DelimitedSource(bytes, dialect: .csv, options: options)
    case .tsv: DelimitedSource(bytes, dialect: .tsv, options: options)
    case .json: JSONSource(bytes, options: options)
    case .ndjson: NDJSONSource(bytes, options: options)
    case .plist: PropertyListSource(bytes, content: .values, options: options)
    case .keyedArchive: PropertyListSource(bytes, content: .automatic, options: options)
    }
  }
}

/// What came of reading an input, up to its end or its first error.
struct Reading: Equatable {
  private(set) var texts: [[UInt8]] = []
  private(set) var error: FormatError.Code?
  private(set) var location: InputLocation?

  init(_ bytes: [UInt8], chunk: Int, by parser: Parser, onError: RecordErrorMode) {
    var source = parser.source(MemoryByteSource(bytes, chunk: chunk), ReadingOptions(onError: onError))
    var batch = DraftBatch()
    do {
      while try source.read(into: &batch) {
        for draft in batch.drafts {
          for range in [draft.text, draft.title, draft.key, draft.attributes, draft.collection] {
            guard let range else { continue }
            precondition(range == draft.key || isUTF8(batch.bytes[range]), "a part that is not UTF-8")
          }
          texts.append(Array(batch.bytes[draft.text]))
        }
      }
    } catch {
      guard let error = error as? FormatError else { preconditionFailure("an error of another room") }
      self.error = error.code
      location = error.location
      precondition(location.map { (0...bytes.count).contains($0.byteOffset) } ?? true, "an error outside the input")
    }
  }

  private func isUTF8(_ bytes: ArraySlice<UInt8>) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }
}
