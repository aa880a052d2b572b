import CofferDocuments
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFormats

/// Compares property lists read by Foundation and this package.
@Suite struct PropertyListDifferentialTests {
  /// Generates Foundation values from a seed.
  private struct Generator {
    var random: Pseudorandom

    mutating func value(depth: Int = 0) -> Any {
      switch Int.random(in: 0..<(depth < 4 ? 9 : 7), using: &random) {
      case 0: return string()
      case 1: return Int.random(in: -(1 << 53)...(1 << 53), using: &random)
      case 2: return Double(Int.random(in: -1_000_000...1_000_000, using: &random)) / 64
      case 3: return Bool.random(using: &random)
      case 4:
        return Data((0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
      case 5:
        return Date(timeIntervalSince1970: Double(Int.random(in: -10_000_000_000...10_000_000_000, using: &random)))
      case 6: return Int.random(in: -300...300, using: &random)
      case 7: return (0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth + 1) }
      default: return dictionary(depth: depth + 1)
      }
    }

    mutating func dictionary(depth: Int = 0) -> [String: Any] {
      var members: [String: Any] = [:]
      for _ in 0..<Int.random(in: 0..<5, using: &random) { members[string()] = value(depth: depth) }
      return members
    }

    mutating func string() -> String {
      let alphabet: [Character] = [
        "a", "Z", "<", "&", ">", "\"", "'", "\\", "ä", "€", "😀", "e\u{301}", " ", "\n", "\t", "]",
      ]
      return String((0..<Int.random(in: 0..<25, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
    }
  }

  /// Returns the expected JSON of a Foundation value.
  private static func expected(_ value: Any) -> Any {
    switch value {
    case let text as String: return text
    case let data as Data: return ["$base64": data.base64EncodedString()]
    case let date as Date: return Timestamp(millisecondsSince1970: Int64(date.timeIntervalSince1970 * 1000)).description
    case let array as [Any]: return array.map(expected)
    case let dictionary as [String: Any]: return dictionary.mapValues(expected)
    default: return value
    }
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func readsFoundationPropertyLists(format: PropertyListSerialization.PropertyListFormat) throws {
    var generator = Generator(random: Pseudorandom(seed: 7))
    for round in 0..<300 {
      let value = generator.dictionary()
      let data = try PropertyListSerialization.data(fromPropertyList: value, format: format, options: 0)
      let source = PropertyListSource(MemoryByteSource(data), content: .values, mapping: ColumnMapping())
      let read = try drafts(source)
      #expect(read.count == 1)
      let parsed = try JSONSerialization.jsonObject(with: Data(read[0].text.utf8))
      // A dictionary in the export format becomes a document.
      guard value["text"] == nil else { continue }
      let expected = try #require(Self.expected(value) as? [String: Any])
      #expect(parsed as? NSDictionary == expected as NSDictionary, "round \(round)")
    }
  }

  @Test func foundationReadsWrittenPropertyLists() throws {
    var sink = PropertyListSink(MemoryByteSink())
    try sink.writeAll(Samples.withNUL)
    let list = try PropertyListSerialization.propertyList(from: Data(sink.sink.bytes), format: nil)
    let table = try #require(list as? [String: Any])
    let rows = try #require(table["data"] as? [[String: String]])
    let index = try #require(table["index"] as? [String: String])
    #expect(table["autoincrement"] as? String == String(Int64.max - 1))
    #expect(rows.map { $0["text"]! } == Samples.withNUL.map(\.1))
    #expect(rows.map { $0["title"] } == Samples.withNUL.map(\.0.title))
    #expect(rows.map { $0["wgFileDbSecretId"]! } == Samples.withNUL.map { String($0.0.id.rawValue) })
    #expect(rows.indices.allSatisfy { index[rows[$0]["wgFileDbSecretId"]!] == String($0) })
  }
}
