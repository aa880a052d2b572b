import CofferDocuments
import CofferTestSupport
import CofferText
import Foundation
import Testing

@testable import CofferFormats

/// Shared public test files. The tests are skipped if the files aren't available.
@Suite struct CorpusTests {
  private func rows(_ bytes: [UInt8]) throws -> [[String: String]] {
    // These files don't have a text column, so each text is a whole row.
    let source = DelimitedSource(MemoryByteSource(bytes), dialect: .csv)
    return try drafts(source).map { draft in
      try JSONDecoder().decode([String: String].self, from: Data(draft.text.utf8))
    }
  }

  @Test(.corpora("csv-spectrum")) func readsCSVSpectrum() throws {
    for name in try Corpora.names(in: "csv-spectrum/csvs") {
      let json = try Corpora.bytes("csv-spectrum/json/\(name.dropLast(4)).json")
      let bytes = try Corpora.bytes("csv-spectrum/csvs/\(name)")
      var read = try rows(bytes)
      if name == "location_coordinates.csv" {
        // The published JSON and CSV have different telephone numbers.
        #expect(read[0].removeValue(forKey: "Contact Phone Number") == "2095257564")
        var expected = try JSONDecoder().decode([String: String].self, from: Data(json))
        expected["Contact Phone Number"] = nil
        #expect(read == [expected])
        continue
      }
      var expected = try JSONDecoder().decode([[String: String]].self, from: Data(json))
      if !bytes.contains(Byte.carriageReturn) {
        // The CRLF files are published with LF, but their JSON still contains CRLF.
        expected = expected.map { $0.mapValues { $0.replacingOccurrences(of: "\r\n", with: "\n") } }
      }
      #expect(read == expected, "\(name)")
    }
  }

  @Test(.corpora("csv-swiftcsv")) func readsSwiftCSVFiles() throws {
    let large = try rows(try Corpora.bytes("csv-swiftcsv/large.csv"))
    #expect(large.count == 10_000)
    #expect(large[1] == ["id": "2", "name": "name2", "age": "20", "job": "job2"])
    let marked = try rows(try Corpora.bytes("csv-swiftcsv/utf8_with_bom.csv"))
    #expect(marked.first?["Part Number"] == "12345")
    #expect(marked.first?["Unit Price"] == "€ 100,00")
    let quotes = try rows(try Corpora.bytes("csv-swiftcsv/quotes.csv"))
    #expect(quotes[2]["name, first"] == "Person, with a \"quote\" in their name")
    #expect(quotes.last?["name, first"] == "Newlines\nare the best")
    let wonderland = try rows(try Corpora.bytes("csv-swiftcsv/wonderland.csv"))
    #expect(wonderland[0]["Quote"] == "\"Where shall I begin, please your Majesty?\" he asked.")
    #expect(throws: FormatError(.malformed, "")) { try rows(try Corpora.bytes("csv-swiftcsv/empty_fields.csv")) }
  }

  @Test(
    .corpora("hostile-import"),
    arguments: [
      ("unterminated-quote.csv", FormatError.Code.malformed), ("ragged.csv", .malformed),
      ("truncated.jsonl", .malformed), ("deep-100k.json", .malformed),
      ("lone-surrogate.json", .malformed), ("billion-laughs.plist", .malformed),
      ("bplist-self-ref.plist", .malformed),
    ])
  func rejectsHostileInputs(name: String, code: FormatError.Code) throws {
    do {
      let source = try InputSource(opening: Corpora.path("hostile-import/\(name)"))
      #expect(failure(source)?.code == code)
    } catch {
      #expect(error.code == code)
    }
  }

  @Test(.corpora("hostile-import")) func rejectsHostileJSONLines() throws {
    for name in ["deep-100k.json", "lone-surrogate.json"] {
      let bytes = try Corpora.bytes("hostile-import/\(name)")
      #expect(failure(NDJSONSource(MemoryByteSource(bytes)))?.code == .malformed)
    }
    let marked = NDJSONSource(MemoryByteSource(try Corpora.bytes("hostile-import/bom.json")))
    #expect(try drafts(marked).map(\.text) == [#"[{"title":"a","txt":"b"}]"#])
  }

  @Test(.corpora("hostile-import")) func readsJSONWithByteOrderMark() throws {
    let source = try InputSource(opening: Corpora.path("hostile-import/bom.json"))
    #expect(try drafts(source).map(\.text) == [#"{"title":"a","txt":"b"}"#])
  }

  /// Reads the suite as JSON texts, with a document for each array element.
  @Test(.corpora("jsontestsuite")) func readsTestSuiteElements() throws {
    for name in try Corpora.names(in: "jsontestsuite/test_parsing") {
      let bytes = try Corpora.bytes("jsontestsuite/test_parsing/\(name)")
      let read = try? drafts(JSONSource(MemoryByteSource(bytes)))
      guard name.hasPrefix("y_") else {
        if name.hasPrefix("n_") { #expect(read == nil, "\(name)") }
        continue
      }
      let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      let texts = try #require(read, "\(name)").map(\.text)
      if text.hasPrefix("[") {
        let inside = text.dropFirst().dropLast().split(whereSeparator: \.isWhitespace).joined()
        #expect(texts.joined(separator: ",").split(whereSeparator: \.isWhitespace).joined() == inside, "\(name)")
      } else {
        #expect(texts == [text], "\(name)")
      }
    }
  }

  /// Reads the suite as JSON lines, which keep their exact text.
  @Test(.corpora("jsontestsuite")) func preservesTestSuiteTexts() throws {
    for name in try Corpora.names(in: "jsontestsuite/test_parsing") {
      let bytes = try Corpora.bytes("jsontestsuite/test_parsing/\(name)")
      guard !bytes.contains(UInt8(ascii: "\n")) || bytes.last == UInt8(ascii: "\n") else { continue }
      let read = try? drafts(NDJSONSource(MemoryByteSource(bytes)))
      if name.hasPrefix("y_"), bytes.filter({ $0 == UInt8(ascii: "\n") }).count <= 1 {
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(read?.map(\.text) == [text], "\(name)")
      } else if name.hasPrefix("n_") {
        #expect(read == nil, "\(name)")
      }
    }
  }

  @Test(.corpora("utf16")) func readsUTF16Spreadsheet() throws {
    let source = try InputSource(opening: Corpora.path("utf16/derived/excel-unicode-text.tsv"))
    #expect(source.format == .tsv)
    let read = try drafts(source)
    #expect(read.map(\.id) == Array(1...10))
    #expect(read[0].title == "Привет")
    #expect(read[0].text == "строка 1\nстрока 2")
    #expect(read[1].text == "tab\there")
    #expect(read[2].title == "quo\"te")
    #expect(read[2].text == "He said \"\"x\"\"")
    #expect(read[4].text == "")
  }
}

@Suite struct PropertyListCorpusTests {
  /// Compares equal values in five encodings.
  @Test(.corpora("plist-cpython")) func readsEqualValuesFromAllForms() throws {
    let texts = try [
      "testdata-FMT_XML", "testdata-FMT_BINARY", "xml-utf-16", "xml-utf-16-le", "xml-utf-16-be",
    ].map { name in
      try drafts(try InputSource(opening: Corpora.path("plist-cpython/\(name).plist"))).map(\.text)
    }
    #expect(texts.allSatisfy { $0 == texts[0] && $0.count == 1 })
    #expect(texts[0][0].contains("\"aBigInt2\":9223372036854775852,\"aDate\":\"2004-10-26T10:33:33.000Z\""))
    let wide = try InputSource(opening: Corpora.path("plist-cpython/xml-utf-32.plist"))
    #expect(failure(wide)?.code == .undecodable)
  }

  @Test(.corpora("plist-cpython")) func reportsOffsetOfInvalidPropertyLists() throws {
    for name in try Corpora.names(in: "plist-cpython") where name.hasPrefix("invalid") {
      let error = failure(try InputSource(opening: Corpora.path("plist-cpython/\(name)")))
      #expect(error?.code == .malformed || error?.code == .undecodable, "\(name)")
      #expect(error?.location?.byteOffset != nil, "\(name)")
    }
  }

  @Test(
    .corpora("plist-corelibs"),
    arguments: [
      ("Array", "[\"baa\",\"baa\",\"black\",\"sheep\"]"), ("OrderedSet", "[\"valgeir\",\"nico\",\"puzzle\"]"),
      ("UUID", "\"0AD863BA-7584-40CF-8896-BD87B3280C34\""),
      ("URL", "{\"$class\":\"NSURL\",\"NS.base\":\"https://www.example.com\",\"NS.relative\":\"foo.xml\"}"),
      (
        "Range", "{\"$class\":\"NSValue\",\"NS.rangeval.length\":98345,\"NS.rangeval.location\":97345,\"NS.special\":4}"
      ),
    ])
  func readsFoundationArchives(name: String, expected: String) throws {
    let source = try InputSource(opening: Corpora.path("plist-corelibs/NSKeyedUnarchiver-\(name)Test.plist"))
    #expect(source.format == .keyedArchive)
    #expect(try drafts(source).map(\.text) == [expected])
  }
}
