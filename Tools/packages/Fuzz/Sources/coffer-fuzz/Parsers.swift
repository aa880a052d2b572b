internal import CofferDocuments
internal import CofferFormats
internal import Foundation

enum Parser: String {
  case text, csv, tsv, json, ndjson, plist
  case keyedArchive = "keyed-archive"

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

func readInDifferentWays(_ bytes: [UInt8], by parser: Parser) {
  func reading(chunk: Int, _ onError: RecordErrorMode) -> Reading {
    Reading(parser.source(MemoryByteSource(bytes, chunk: chunk), ReadingOptions(onError: onError)), of: bytes)
  }
  let whole = reading(chunk: .max, .fail)
  precondition(reading(chunk: 3, .fail) == whole, "chunks change what is read")
  let skipping = reading(chunk: .max, .skip)
  if whole.error == nil {
    precondition(skipping == whole, "skipping bad records changes what is good")
  } else {
    precondition(skipping.texts.starts(with: whole.texts), "skipping bad records loses good ones")
  }
  guard whole.error == nil, bytes.first.map({ $0 < 0x80 }) == true else { return }
  switch parser {
  case .json: compareWithFoundation(bytes)
  case .ndjson: compareLinesWithFoundation(bytes, whole)
  default: break
  }
}

// Property lists are not compared: Foundation's parser crashes on damaged ones.

/// Checks that Foundation accepts all JSON that our parser accepts.
private func compareWithFoundation(_ bytes: [UInt8]) {
  guard !mayHoldHugeNumber(bytes) else { return }
  let parsed = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
  precondition(parsed != nil, "Foundation refuses what was read")
}

/// Each line that is not blank is a document; an object with a text alone holds the text that Foundation reads.
private func compareLinesWithFoundation(_ bytes: [UInt8], _ reading: Reading) {
  let lines = bytes.split(separator: 0x0A).map(Array.init).filter {
    !$0.allSatisfy { [0x09, 0x0D, 0x20].contains($0) }
  }
  precondition(lines.count == reading.texts.count, "a line is not a document")
  for (line, text) in zip(lines, reading.texts) where !mayHoldHugeNumber(line) {
    guard let value = try? JSONSerialization.jsonObject(with: Data(line), options: .fragmentsAllowed) else {
      preconditionFailure("Foundation refuses what was read")
    }
    if let object = value as? [String: Any], object.count == 1, let expected = object["text"] as? String {
      precondition(Array(expected.utf8) == text, "Foundation reads another text")
    }
  }
}

/// JSON may contain a number beyond a double, which Foundation can't represent.
private func mayHoldHugeNumber(_ bytes: [UInt8]) -> Bool {
  bytes.contains { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") } && bytes.contains { (0x30...0x39).contains($0) }
    || bytes.count > 300
}

/// The result of reading an input up to its end or its first error.
struct Reading: Equatable {
  private(set) var texts: [[UInt8]] = []
  private(set) var error: FormatError.Code?
  private(set) var location: InputLocation?

  init(_ source: any DraftSource, of bytes: [UInt8]) {
    var source = source
    var batch = DraftBatch()
    do {
      while try source.read(into: &batch) {
        for draft in batch.drafts {
          for range in [draft.text, draft.title, draft.key, draft.attributes, draft.collection] {
            guard let range else { continue }
            precondition(range == draft.key || isUTF8(batch.bytes[range]), "a part that is not UTF-8")
          }
          texts.append(draft.text.map { Array(batch.bytes[$0]) } ?? [])
        }
      }
    } catch {
      guard let error = error as? FormatError else { preconditionFailure("an error of another module") }
      self.error = error.code
      location = error.location
      let offset = error.location?.byteOffset ?? 0
      precondition((0...bytes.count).contains(offset), "an error outside the input")
    }
  }

  private func isUTF8(_ bytes: ArraySlice<UInt8>) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }
}
