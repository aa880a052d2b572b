import Coffer
import CofferFormats
import Foundation

/// A record of the feed, which an app reads back from the store as this type.
struct Article: Codable, Sendable {
  var id: String
  var title: String
  var body: String
}

/// An error in a file of the feed.
struct FeedError: Error, CustomStringConvertible {
  let description: String
}

/// `feed.json`, which the server's client writes last: the revision of the feed, and the files that hold its records.
struct Manifest: Codable, Equatable {
  var revision: String
  var files: [String]

  init(in folder: URL) throws {
    var source = try InputSource(
      opening: folder.appending(path: "feed.json").path, format: .json, options: ReadingOptions(path: "feed.json"))
    var batch = DraftBatch()
    guard try source.read(into: &batch), batch.drafts.count == 1, let text = batch.drafts[0].text else {
      throw FeedError(description: "feed.json: not one JSON object")
    }
    do {
      self = try JSONDecoder().decode(Manifest.self, from: Data(batch.bytes[text]))
    } catch let error as DecodingError {
      throw FeedError(description: "feed.json: \(error.sentence)")
    }
    // The manifest names files of this folder, and no others.
    guard files.allSatisfy({ !$0.contains("/") && !$0.hasPrefix(".") }) else {
      throw FeedError(description: "feed.json: a file outside of the feed's folder")
    }
  }
}

/// The records of all files of a feed, one file after the other. At most about 256 KiB of records are in memory.
///
/// Each record becomes a document: its JSON is the text, and its id is the key.
struct FeedRecords: DraftSource {
  private let folder: URL
  private var files: ArraySlice<String>
  private var source: InputSource?

  init(_ files: [String], in folder: URL) {
    self.folder = folder
    self.files = files[...]
  }

  mutating func read(into batch: inout DraftBatch) throws -> Bool {
    while true {
      if try source?.read(into: &batch) == true {
        try addKeys(to: &batch)
        return true
      }
      if source != nil { files.removeFirst() }
      guard let name = files.first else { return false }
      // A syntax error is thrown with file, line and column.
      source = try InputSource(
        opening: folder.appending(path: name).path, format: .json, options: ReadingOptions(path: name))
    }
  }

  private func addKeys(to batch: inout DraftBatch) throws {
    let decoder = JSONDecoder()
    for index in batch.drafts.indices {
      let draft = batch.drafts[index]
      let article: Article
      do {
        article = try decoder.decode(Article.self, from: Data(draft.text.map { batch.bytes[$0] } ?? []))
      } catch let error as DecodingError {
        throw FeedError(description: "\(files.first ?? ""), record \(draft.record): \(error.sentence)")
      }
      let start = batch.bytes.count
      batch.bytes += article.id.utf8
      batch.drafts[index].key = start..<batch.bytes.count
      batch.drafts[index].isJSON = true
    }
  }
}

extension DecodingError {
  /// The member that is wrong; never its value.
  fileprivate var sentence: String {
    let (path, reason): ([any CodingKey], String) =
      switch self {
      case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
      case .valueNotFound(_, let context): (context.codingPath, "is null")
      case .typeMismatch(let type, let context): (context.codingPath, Self.requirement(of: type))
      case .dataCorrupted(let context): (context.codingPath, "is no valid value")
      @unknown default: ([], "is no valid value")
      }
    let name = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
    return "\(name.isEmpty ? "the record" : "its \"\(name)\"") \(reason)"
  }

  /// The JSON that decodes as a type.
  private static func requirement(of type: Any.Type) -> String {
    if type == String.self { return "must be a string" }
    if type == [Any].self { return "must be an array" }
    return type == [String: Any].self ? "must be an object" : "has another type"
  }
}
