import CofferDocuments
import Foundation
import Testing

@testable import CofferFormats

/// Members of a record, one by one: parts, attributes, and values that no part can have.
@Suite struct MemberTests {
  private func source(
    _ text: String, mapping: String? = nil, options: ReadingOptions = ReadingOptions()
  ) -> NDJSONSource {
    NDJSONSource(
      MemoryByteSource(text), mapping: mapping.map { ColumnMapping(parsing: $0)! } ?? ColumnMapping(), options: options)
  }

  /// An export's record, whose members are never attributes.
  private let exported =
    #"{"collection":"c","id":1,"position":2,"text":"a","created":"2026-11-21T14:35:00Z","modified":"2026-11-21T14:35:00Z""#

  // MARK: Shapes

  @Test(
    arguments: [
      (#"{"title":null,"text":"beta"}"#, "beta", nil, nil, nil),
      (
        #"{"id":null,"key":null,"created":null,"parent":null,"text":"a","attributes":null,"json":null}"#, "a", nil, nil,
        nil
      ),
      (#"{"title":"b","text":"T2","tags":["x"]}"#, "T2", "b", nil, #"{"tags":["x"]}"#),
      (#"{"text":"g","key":7}"#, "g", nil, "7", nil), (#"{"text":5.50,"title":1984}"#, "5.50", "1984", nil, nil),
      (#"{"text":true}"#, "true", nil, nil, nil),
      (#"{"text":"a","attributes":{"b":1},"a":null}"#, "a", nil, nil, #"{"a":null,"b":1}"#),
      (
        #"{"text":"a","t\u00e9":{"z":[1],"b":{}},"s":"x\n","A":1.50}"#, "a", nil, nil,
        #"{"A":1.5,"s":"x\n","té":{"b":{},"z":[1]}}"#
      ),
      (#"{"text":"a","id":"abc"}"#, "a", nil, nil, #"{"id":"abc"}"#),
      (#"{"id":5,"text":"a"}"#, "a", nil, nil, #"{"id":5}"#),
      (#"{"text":"a","position":"first","parent":"top"}"#, "a", nil, nil, #"{"parent":"top","position":"first"}"#),
      (#"{"text":"a","name":"n","body":"b"}"#, "a", nil, nil, #"{"body":"b","name":"n"}"#),
    ] as [(String, String, String?, String?, String?)])
  func readsObjectWithTextAsDocument(
    line: String, text: String, title: String?, key: String?, attributes: String?
  ) throws {
    for mapped in [false, true] {
      var source = mapped ? JSONSource(MemoryByteSource("[\(line)]")) as any DraftSource : source(line)
      var batch = DraftBatch()
      #expect(try source.read(into: &batch))
      let read = Drafted(batch.drafts[0], batch.bytes)
      #expect(read.text == text)
      #expect(read.title == title)
      #expect(read.keyText == key)
      #expect(read.attributes == attributes)
      #expect(!read.isJSON && !read.isComplete)
    }
  }

  @Test func readsTextThatIsNoStringAsValue() throws {
    let read = try drafts(source(#"{"title":"t","text":["a",{"b":"c"}],"n":1}"#))
    #expect(read.map(\.text) == [#"["a",{"b":"c"}]"#])
    #expect(read.map(\.isJSON) == [true])
    #expect(read.map(\.title) == ["t"])
    #expect(read.map(\.attributes) == [#"{"n":1}"#])
  }

  @Test(arguments: ["5", "\"5\""]) func keepsIDsThatAreDigits(id: String) throws {
    let options = ReadingOptions(keepsIDs: true)
    let read = try drafts(source(#"{"id":\#(id),"parent":\#(id),"text":"a"}"#, options: options))
    #expect(read.map(\.id) == [5])
    #expect(read.map(\.parent) == [5])
    #expect(read.map(\.attributes) == [nil])
    let row = try drafts(source(#"{"id":\#(id),"a":1}"#, options: options))
    #expect(row.map(\.id) == [5])
  }

  @Test func dropsUnkeptIDsOfExport() throws {
    let record = exported + #","parent":3}"#
    var source = source(record)
    #expect(try drafts(&source).map(\.attributes) == [nil])
    #expect(source.report.columns.filter { $0.use == .dropped }.map(\.name) == ["id", "parent"])
    #expect(try drafts(self.source(record)).map(\.isComplete) == [true])
  }

  @Test func unnamedCollectionsBecomeAttributes() throws {
    var options = ReadingOptions()
    options.namesCollections = false
    let lines = #"{"text":"a","collection":"x"}"# + "\n" + exported + "}"
    #expect(try drafts(source(lines, options: options)).map(\.attributes) == [#"{"collection":"x"}"#, nil])
    #expect(try drafts(source(lines)).map(\.collection) == ["x", "c"])
  }

  // MARK: Values that can't be used

  @Test(
    arguments: [
      ("key", "{\"x\":1}"), ("key", "[1]"), ("key", "\"\""), ("key", "{\"$base64\":\"!!!!\"}"), ("title", "{}"),
      ("title", "[\"a\"]"), ("created", "\"yesterday\""), ("created", "[]"), ("modified", "{}"), ("modified", "true"),
      ("attributes", "[]"), ("attributes", "\"a\""), ("json", "1"), ("collection", "{}"), ("id", "\"abc\""),
      ("id", "0"), ("id", "1.5"), ("id", "[1]"), ("parent", "-1"), ("parent", "\"\""),
    ])
  func namesMemberWithUnusableValue(member: String, value: String) throws {
    let line = #"{"text":"a", "\#(member)":\#(value)}"#
    let text = "{\"text\":\"first\"}\n\n\(line)\n{\"text\":\"last\"}\n"
    let options = ReadingOptions(keepsIDs: true)
    let error = failure(source(text, options: options))
    #expect(error?.code == .malformed)
    #expect(error?.reason.hasPrefix("member \(member): ") == true, "\(error?.reason ?? "")")
    #expect(error?.location?.record == 2)
    #expect(error?.location?.line == 3)
    #expect(error?.location?.column == 17 + member.count)
    let rejections = Rejections()
    let kept = try drafts(source(text, options: rejections.options { $0.keepsIDs = true }))
    #expect(kept.map(\.text) == ["first", "last"])
    #expect(rejections.all.map { String(decoding: $0.bytes, as: UTF8.self) } == [line + "\n"])
    let element = JSONSource(MemoryByteSource("[\(line)]"), options: options)
    #expect(failure(element)?.location?.column == 18 + member.count)
  }

  @Test func namesMappedMemberWithUnusableValue() {
    let error = failure(source(#"{"text":"a","made":"never"}"#, mapping: "created=made"))
    #expect(error?.reason.hasPrefix("member made: ") == true)
    #expect(error?.location?.column == 20)
  }

  @Test(arguments: [
    #"{"text":"a","text":"b"}"#, #"{"text":"a","x":1,"x":2}"#, #"{"text":"a","x":1,"attributes":{"x":2}}"#,
  ])
  func rejectsRepeatedNames(line: String) {
    #expect(failure(source(line))?.code == .malformed)
  }

  // MARK: Long integers

  @Test(
    arguments: [
      "9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
      "4611686018427387904", "123456789012345678901234567890", "1e400",
    ])
  func attributesKeepEveryDigit(number: String) throws {
    let members = #""a":\#(number),"b":{"c":[\#(number)]}"#
    let expected = #"{"a":"\#(number)","b":{"c":["\#(number)"]}}"#
    #expect(try drafts(source(#"{"text":"t",\#(members)}"#)).map(\.attributes) == [expected])
    #expect(try drafts(source(#"{"text":"t","attributes":{\#(members)}}"#)).map(\.attributes) == [expected])
    #expect(try drafts(source(#"{"body":"t",\#(members)}"#, mapping: "text=body")).map(\.attributes) == [expected])
    #expect(try drafts(source(#"{"text":"t","key":\#(number)}"#)).map(\.keyText) == [number])
    #expect(try drafts(source(#"{"a":\#(number)}"#)).map(\.text) == [#"{"a":\#(number)}"#])
  }

  @Test(arguments: ["9007199254740992", "-9007199254740992", "0", "1.5", "1e+300", "1152921504606847000"])
  func attributesKeepOtherNumbers(number: String) throws {
    #expect(try drafts(source(#"{"text":"t","a":\#(number)}"#)).map(\.attributes) == [#"{"a":\#(number)}"#])
  }

  // MARK: Mappings

  @Test(
    arguments: [
      ("text=Body", [#"{"title":"a","body2":"b"}"#, #"{"title":"c"}"#], ["title", "body2"]),
      ("title=Name,text=Body", [#"{"name":"a","text":"b"}"#], ["name", "text"]),
      ("title=Name", [#"{"name":"a"}"#], ["name"]), ("created=made,modified=made", [#"{"text":"b"}"#], ["text"]),
    ])
  func rejectsMappingThatMatchesNothing(mapping: String, records: [String], names: [String]) throws {
    let lines = records.joined(separator: "\n")
    let array = JSONSource(
      MemoryByteSource("[\(records.joined(separator: ","))]"), mapping: ColumnMapping(parsing: mapping)!)
    for error in [
      failure(source(lines, mapping: mapping)), failure(array),
      failure(source(lines, mapping: mapping, options: ReadingOptions(onError: .skip))),
    ] {
      #expect(error?.code == .missingColumn)
      #expect(error?.names == names)
      #expect(error?.location == nil)
    }
  }

  @Test(arguments: ["[{\"a\":1}]", "\"a\"", "12", "null", "true"])
  func mappingNeedsObjects(line: String) {
    let error = failure(source(line, mapping: "text=a"))
    #expect(error?.code == .malformed)
    #expect(error?.reason.contains("not an object") == true)
  }

  @Test func mappingMayFitSomeRecords() throws {
    var source = source("{\"a\":\"x\"}\n{\"b\":\"y\"}\n{\"a\":\"z\",\"b\":1}\n", mapping: "text=a,key=k")
    #expect(try drafts(&source).map(\.text) == ["x", "{\"b\":\"y\"}", "z"])
    #expect(
      source.report.columns == [
        ColumnUse(name: "a", use: .text), ColumnUse(name: "k", use: .missing), ColumnUse(name: "b", use: .attribute),
        ColumnUse(name: "b", use: .value),
      ])
    #expect(source.report.values == 1)
    #expect(try drafts(self.source("", mapping: "text=a")).isEmpty)
  }

  @Test func mapsOneMemberToSeveralParts() throws {
    let read = try drafts(source(#"{"at":"2001-01-01","b":"t"}"#, mapping: "created=at,modified=at,text=b,title=b"))
    #expect(read.map(\.created) == [978_307_200_000])
    #expect(read.map(\.modified) == [978_307_200_000])
    #expect(read.map(\.title) == ["t"])
  }

  // MARK: Report

  @Test func reportsEveryMember() throws {
    let lines = [
      #"{"id":1,"title":"a","text":"T","tags":[],"s\u0065e":1}"#, #"{"see":2,"text":"b","tags":1,"key":"k"}"#,
      #"{"name":"n","see":3,"id":4}"#,
    ]
    let expected = [
      ColumnUse(name: "id", use: .attribute), ColumnUse(name: "id", use: .value), ColumnUse(name: "title", use: .title),
      ColumnUse(name: "text", use: .text), ColumnUse(name: "key", use: .key), ColumnUse(name: "tags", use: .attribute),
      ColumnUse(name: "see", use: .attribute), ColumnUse(name: "see", use: .value),
      ColumnUse(name: "name", use: .title),
    ]
    var source = source(lines.joined(separator: "\n"))
    _ = try drafts(&source)
    #expect(source.report.columns == expected)
    var array = JSONSource(MemoryByteSource("[\(lines.joined(separator: ","))]"))
    _ = try drafts(&array)
    #expect(array.report.columns == expected)
    #expect(array.report.values == 1)
    #expect(array.report.documents == 3)
  }

  /// A record may have any number of members: their names don't fill the memory.
  @Test func reportsLimitedNumberOfMembers() throws {
    let members = (0..<10_000).map { "\"m\($0)\":1" }.joined(separator: ",")
    var source = source("{\"text\":\"t\",\(members)}\n{\"text\":\"u\",\(members)}\n")
    #expect(try drafts(&source).count == 2)
    #expect(source.report.columns.count == 257)
    #expect(source.report.attributeColumns.prefix(2) == ["m0", "m1"])
  }
}
