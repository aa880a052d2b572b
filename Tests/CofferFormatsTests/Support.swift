import CofferDocuments
import CofferTestSupport
import CofferText
import Foundation
import Synchronization

@testable import CofferFormats

/// A directory removed at the end of the test.
final class TemporaryDirectory {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "coffer-formats-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path()
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    try Data(Array(bytes)).write(to: URL(filePath: "\(path)/\(name)"))
  }

  func bytes(of name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
  }

  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }
}

/// A document from a source, copied from its batch.
struct Drafted: Equatable {
  var id: Int64?
  var collection: String?
  var title: String?
  var text: String
  var key: [UInt8]?
  var attributes: String?
  var parent: Int64?
  var created: Int64?
  var modified: Int64?
  var isJSON = false
  var isComplete = false
  var record = 0

  init(_ draft: DraftBatch.Draft, _ bytes: [UInt8]) {
    func string(_ range: Range<Int>?) -> String? {
      range.map { String(validating: bytes[$0], as: UTF8.self) ?? "NOT UTF-8" }
    }
    id = draft.id?.rawValue
    collection = string(draft.collection)
    title = string(draft.title)
    text = string(draft.text) ?? ""
    key = draft.key.map { Array(bytes[$0]) }
    attributes = string(draft.attributes)
    parent = draft.parent?.rawValue
    created = draft.created?.millisecondsSince1970
    modified = draft.modified?.millisecondsSince1970
    isJSON = draft.isJSON
    isComplete = draft.isComplete
    record = draft.record
  }

  var keyText: String? { key.map { String(decoding: $0, as: UTF8.self) } }
}

/// Reads all documents of a source, reusing the batch like a store.
func drafts(_ source: inout some DraftSource) throws -> [Drafted] {
  var batch = DraftBatch()
  var all: [Drafted] = []
  while try source.read(into: &batch) {
    all += batch.drafts.map { Drafted($0, batch.bytes) }
  }
  return all
}

func drafts(_ source: some DraftSource) throws -> [Drafted] {
  var source = source
  return try drafts(&source)
}

/// Returns the error that ends reading, or `nil` if reading succeeds.
func failure(_ source: some DraftSource) -> FormatError? {
  do {
    _ = try drafts(source)
    return nil
  } catch {
    return error as? FormatError
  }
}

/// Collects rejections while a source is read.
final class Rejections: Sendable {
  private let list = Mutex<[Rejection]>([])

  var all: [Rejection] { list.withLock { $0 } }

  func options(_ change: (inout ReadingOptions) -> Void = { _ in }) -> ReadingOptions {
    var options = ReadingOptions(onError: .skip) { rejection in self.list.withLock { $0.append(rejection) } }
    change(&options)
    return options
  }
}

extension DelimitedSource {
  init(
    csv text: String, mapping: ColumnMapping = ColumnMapping(), header: HeaderMode = .automatic,
    options: ReadingOptions = ReadingOptions()
  ) {
    self.init(MemoryByteSource(text), dialect: .csv, mapping: mapping, header: header, options: options)
  }
}

/// Returns a text in little-endian UTF-16.
func utf16(_ text: String, mark: Bool = false) -> [UInt8] {
  (mark ? [0xFF, 0xFE] : []) + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
}
