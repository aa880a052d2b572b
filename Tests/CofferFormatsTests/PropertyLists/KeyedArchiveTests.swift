import CofferDocuments
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFormats

@Suite struct KeyedArchiveTests {
  private func source(_ data: Data, options: ReadingOptions = ReadingOptions()) -> PropertyListSource {
    PropertyListSource(MemoryByteSource(data), content: .keyedArchive, options: options)
  }

  /// Returns an archive as XML, in which `#n#` refers to an object.
  private func archive(top: String = "<key>root</key>#1#", _ objects: String...) -> Data {
    let text = """
      <plist version="1.0"><dict><key>$version</key><integer>100000</integer>
      <key>$objects</key><array><string>$null</string>\(objects.joined(separator: "\n"))</array>
      <key>$archiver</key><string>NSKeyedArchiver</string><key>$top</key><dict>\(top)</dict></dict></plist>
      """
    let parts = text.split(separator: "#", omittingEmptySubsequences: false)
    return Data(
      parts.enumerated().map { index, part in
        index % 2 == 0 ? String(part) : "<dict><key>CF$UID</key><integer>\(part)</integer></dict>"
      }.joined().utf8)
  }

  private func type(_ name: String) -> String {
    "<dict><key>$classname</key><string>\(name)</string><key>$classes</key><array><string>\(name)</string></array></dict>"
  }

  private func texts(_ data: Data) throws -> [String] {
    // Foundation must be able to parse the archive.
    let list = try PropertyListSerialization.propertyList(from: data, format: nil)
    #expect(list is [String: Any])
    return try drafts(source(data)).map(\.text)
  }

  // MARK: Malformed input

  @Test func rejectsDanglingReference() {
    #expect(failure(source(archive(top: "<key>root</key>#9#")))?.code == .malformed)
    #expect(failure(source(archive("<dict><key>$class</key>#7#</dict>")))?.code == .malformed)
    #expect(failure(source(archive("<dict><key>a</key>#-1#</dict>"))) == nil)
  }

  @Test func rejectsUnnamedClass() {
    #expect(failure(source(archive("<dict><key>$class</key>#2#</dict>", "<dict/>")))?.code == .malformed)
    #expect(failure(source(archive("<dict><key>$class</key><string>A</string></dict>")))?.code == .malformed)
    #expect(failure(source(archive("<dict><key>$class</key>#1#</dict>")))?.code == .malformed)
  }

  @Test func rejectsReferenceAsObject() {
    #expect(failure(source(archive("#1#")))?.code == .malformed)
  }

  @Test func reportsOldArchiveFormat() {
    let error = failure(source(Data([0x04, 0x0B] + "streamtyped".utf8)))
    #expect(error?.code == .malformed)
    #expect(error?.reason.contains("typedstream") == true)
  }

  @Test(.slow) func rejectsExponentialArchive() {
    let arrays = (1...30).map {
      "<dict><key>$class</key>#31#<key>NS.objects</key><array>#\($0 + 1)##\($0 + 1)#</array></dict>"
    }
    let objects = arrays.dropLast().joined() + "<true/>" + type("NSArray")
    #expect(failure(source(archive(objects)))?.code == .tooLarge)
  }

  @Test func rejectsLongReferenceChain() {
    let links = (1...600).map { "<dict><key>$class</key>#602#<key>next</key>#\($0 + 1)#</dict>" }.joined()
    #expect(failure(source(archive(links + "<true/>" + type("Link"))))?.reason.contains("512") == true)
  }

  @Test func skipsOnlyInvalidTopObject() throws {
    let rejections = Rejections()
    let data = archive(top: "<key>a</key>#1#<key>b</key>#9#<key>c</key>#1#", "<string>x</string>")
    #expect(try drafts(source(data, options: rejections.options())).map(\.text) == ["\"x\"", "\"x\""])
    #expect(rejections.all.map(\.error.location?.record) == [2])
  }

  // MARK: Objects

  /// Encodes the tutorial's object with four strings, an unknown class and the key `Data`.
  @Test func convertsObjectToFields() throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: false)
    archiver.encode(FourLines(lines: ["eins", "zwei ä", "", "vier"]), forKey: "Data")
    archiver.finishEncoding()
    let read = try drafts(source(archiver.encodedData))
    #expect(read.count == 1)
    let fields = try JSONDecoder().decode([String: String].self, from: Data(read[0].text.utf8))
    #expect(fields.filter { $0.key != "$class" } == ["line1": "eins", "line2": "zwei ä", "line3": "", "line4": "vier"])
    #expect(fields["$class"]?.hasSuffix("FourLines") == true)
    #expect(read[0].text.hasPrefix("{\"$class\":\""))
  }

  @Test func readsTopObjectsAsDocuments() throws {
    let data = archive(
      top: "<key>b</key>#1#<key>a</key><integer>3</integer><key>c</key>#0#",
      "<dict><key>$class</key>#2#<key>title</key><string>T</string><key>n</key><real>1</real></dict>", type("Note"))
    let read = try drafts(source(data))
    #expect(read.map(\.text) == ["{\"$class\":\"Note\",\"title\":\"T\",\"n\":1.0}", "3", "null"])
    #expect(read.map(\.title) == ["T", nil, nil])
  }

  @Test(arguments: ["NSArray", "NSMutableArray", "NSSet", "NSOrderedSet"])
  func readsArrayOfObjectsAsDocuments(list: String) throws {
    let data = archive(
      "<dict><key>$class</key>#4#<key>NS.objects</key><array>#2##3#</array></dict>",
      "<dict><key>$class</key>#5#<key>title</key><string>T</string><key>text</key><string>X</string></dict>",
      "<dict><key>$class</key>#6#<key>NS.keys</key><array>#7#</array><key>NS.objects</key><array>#8#</array></dict>",
      type(list), type("Note"), type("NSDictionary"), "<string>text</string>", "<string>Y</string>")
    let read = try drafts(source(data))
    #expect(read.map(\.text) == ["X", "Y"])
    #expect(read.map(\.title) == ["T", nil])
    #expect(read.map(\.attributes) == ["{\"$class\":\"Note\"}", nil])
    let mapping = ColumnMapping(parsing: "text=title")!
    let mapped = PropertyListSource(MemoryByteSource(data), mapping: mapping)
    #expect(try drafts(mapped).map(\.text) == ["T", "{\"text\":\"Y\"}"])
  }

  /// Each record is written once: others refer to it by its number.
  @Test func recordsReferToEachOther() throws {
    let data = archive(
      "<dict><key>$class</key>#5#<key>NS.objects</key><array>#2##3##4#</array></dict>",
      "<dict><key>$class</key>#6#<key>next</key>#3#<key>all</key>#1#</dict>",
      "<dict><key>$class</key>#6#<key>next</key>#4#<key>me</key>#3#</dict>", "<dict><key>$class</key>#6#</dict>",
      type("NSArray"), type("Note"))
    #expect(
      try texts(data) == [
        #"{"$class":"Note","next":{"$ref":3},"all":{"$ref":1}}"#,
        #"{"$class":"Note","$id":3,"next":{"$ref":4},"me":{"$ref":3}}"#, #"{"$class":"Note","$id":4}"#,
      ])
  }

  @Test(arguments: ["<string>s</string>", "<integer>1</integer>", "<array/>"])
  func readsOtherArraysAsSingleDocument(element: String) throws {
    let data = archive(
      "<dict><key>$class</key>#4#<key>NS.objects</key><array>#2##3#</array></dict>",
      "<dict><key>$class</key>#5#</dict>", element, type("NSArray"), type("Note"))
    #expect(try drafts(source(data)).count == 1)
  }

  @Test func skipsOnlyInvalidElement() throws {
    let rejections = Rejections()
    let data = archive(
      "<dict><key>$class</key>#4#<key>NS.objects</key><array>#2##3##2#</array></dict>",
      "<dict><key>$class</key>#5#</dict>", "<dict><key>$class</key>#5#<key>x</key>#99#</dict>", type("NSArray"),
      type("Note"))
    #expect(try drafts(source(data, options: rejections.options())).count == 2)
    #expect(rejections.all.map(\.error.location?.record) == [2])
  }

  @Test func numbersSharedObjects() throws {
    let data = archive(
      "<dict><key>$class</key>#4#<key>a</key>#2#<key>b</key>#2#<key>c</key>#3#</dict>",
      "<dict><key>$class</key>#4#<key>x</key><true/></dict>", "<string>s</string>", type("A"))
    #expect(
      try texts(data) == [
        "{\"$class\":\"A\",\"a\":{\"$class\":\"A\",\"$id\":2,\"x\":true},\"b\":{\"$ref\":2},\"c\":\"s\"}"
      ])
  }

  @Test func writesCyclesAsReferences() throws {
    let data = archive(
      "<dict><key>$class</key>#4#<key>children</key>#2#</dict>",
      "<dict><key>$class</key>#5#<key>NS.objects</key><array>#3#</array></dict>",
      "<dict><key>$class</key>#4#<key>parent</key>#1#</dict>", type("Node"), type("NSMutableArray"))
    #expect(
      try texts(data) == [
        "{\"$class\":\"Node\",\"$id\":1,\"children\":[{\"$class\":\"Node\",\"parent\":{\"$ref\":1}}]}"
      ])
  }

  @Test func numbersSelfContainingArray() throws {
    let data = archive(
      "<dict><key>$class</key>#2#<key>NS.objects</key><array>#1#</array></dict>", type("NSArray"))
    #expect(try texts(data) == ["{\"$class\":\"NSArray\",\"$id\":1,\"NS.objects\":[{\"$ref\":1}]}"])
  }

  @Test func repeatsSharedArrays() throws {
    let data = archive(
      "<dict><key>$class</key>#3#<key>NS.objects</key><array>#2##2#</array></dict>",
      "<dict><key>$class</key>#3#<key>NS.objects</key><array>#4#</array></dict>", type("NSArray"),
      "<dict><key>$class</key>#5#</dict>", type("A"))
    #expect(try texts(data) == ["[[{\"$class\":\"A\",\"$id\":4}],[{\"$ref\":4}]]"])
  }

  @Test(
    arguments: [
      ("NSArray", "<key>NS.objects</key><array>#0#</array>", "[null]"),
      ("NSSet", "<key>NS.objects</key><array/>", "[]"),
      ("NSOrderedSet", "<key>NS.object.0</key><true/><key>NS.object.1</key><false/>", "[true,false]"),
      ("NSSet", "", "[]"),
      (
        "NSOrderedSet", "<key>NS.object.0</key><true/><key>x</key><false/>",
        "{\"$class\":\"NSOrderedSet\",\"NS.object.0\":true,\"x\":false}"
      ),
      (
        "NSArray", "<key>NS.object.0</key><true/><key>NS.object.2</key><false/>",
        "{\"$class\":\"NSArray\",\"NS.object.0\":true,\"NS.object.2\":false}"
      ),
      (
        "NSArray", "<key>NS.objects</key><array/><key>x</key><true/>",
        "{\"$class\":\"NSArray\",\"NS.objects\":[],\"x\":true}"
      ),
      (
        "NSDictionary", "<key>NS.keys</key><array>#3#</array><key>NS.objects</key><array>#4#</array>", "{\"k\\\"\":7}"
      ),
      (
        "NSMutableDictionary", "<key>NS.keys</key><array>#4#</array><key>NS.objects</key><array>#3#</array>",
        "{\"$class\":\"NSMutableDictionary\",\"NS.keys\":[7],\"NS.objects\":[\"k\\\"\"]}"
      ),
      (
        "NSDictionary", "<key>NS.keys</key><array>#3##3#</array><key>NS.objects</key><array>#4##4#</array>",
        "{\"$class\":\"NSDictionary\",\"NS.keys\":[\"k\\\"\",\"k\\\"\"],\"NS.objects\":[7,7]}"
      ),
      ("NSDictionary", "<key>NS.key.0</key>#3#<key>NS.object.0</key>#4#", "{\"k\\\"\":7}"),
      ("NSNull", "", "null"), ("NSString", "<key>NS.string</key><string>s</string>", "\"s\""),
      ("NSMutableString", "<key>NS.bytes</key><data>w6Q=</data>", "\"ä\""),
      (
        "NSString", "<key>NS.bytes</key><data>/w==</data>",
        "{\"$class\":\"NSString\",\"NS.bytes\":{\"$base64\":\"/w==\"}}"
      ),
      ("NSMutableData", "<key>NS.data</key><data>AAE=</data>", "{\"$base64\":\"AAE=\"}"),
      ("NSDate", "<key>NS.time</key><real>0.5</real>", "\"2001-01-01T00:00:00.500Z\""),
      ("NSDate", "<key>NS.time</key><real>1e300</real>", "{\"$class\":\"NSDate\",\"NS.time\":1e+300}"),
      ("NSNumber", "<key>NS.intval</key><integer>-3</integer>", "-3"),
      ("NSURL", "<key>NS.base</key>#0#<key>NS.relative</key>#3#", "\"k\\\"\""),
      (
        "NSURL", "<key>NS.base</key>#3#<key>NS.relative</key>#3#",
        "{\"$class\":\"NSURL\",\"NS.base\":\"k\\\"\",\"NS.relative\":\"k\\\"\"}"
      ),
      (
        "NSUUID", "<key>NS.uuidbytes</key><data>AAECAwQFBgcICQoLDA0ODw==</data>",
        "\"00010203-0405-0607-0809-0A0B0C0D0E0F\""
      ),
      (
        "NSUUID", "<key>NS.uuidbytes</key><data>AA==</data>",
        "{\"$class\":\"NSUUID\",\"NS.uuidbytes\":{\"$base64\":\"AA==\"}}"
      ),
      ("NSColor", "<key>NSRGB</key><data>MA==</data>", "{\"$class\":\"NSColor\",\"NSRGB\":{\"$base64\":\"MA==\"}}"),
    ])
  func convertsFoundationObjectsToJSON(name: String, fields: String, expected: String) throws {
    let data = archive(
      "<dict>\(fields)<key>$class</key>#2#</dict>", type(name), "<string>k\"</string>", "<integer>7</integer>")
    #expect(try drafts(source(data)).map(\.text) == [expected])
  }

  @Test func foundationArchiveBecomesPlainJSON() throws {
    let value: NSDictionary = [
      "array": ["a", 1, NSNull()] as NSArray, "data": Data([1, 2]) as NSData, "real": 1.5,
      "date": Date(timeIntervalSinceReferenceDate: 0) as NSDate, "set": NSSet(array: ["x"]),
      "uuid": NSUUID(uuidString: "71DC068E-3420-45FF-919E-3A267D55EC22")!,
    ]
    let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false)
    let text = try #require(try drafts(source(data)).first?.text)
    let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary
    let expected: NSDictionary = [
      "array": ["a", 1, NSNull()] as NSArray, "data": ["$base64": "AQI="], "real": 1.5,
      "date": "2001-01-01T00:00:00.000Z", "set": ["x"], "uuid": "71DC068E-3420-45FF-919E-3A267D55EC22",
    ]
    #expect(parsed == expected, "\(text)")
  }

  @Test func detectsKeyedArchive() throws {
    let data = archive("<string>x</string>")
    let source = try InputSource(MemoryByteSource(data))
    #expect(try drafts(source).map(\.text) == ["\"x\""])
    // The archiver's name is beyond the bytes checked for detection.
    let long = archive("<string>\(String(repeating: "x", count: 100_000))</string>")
    var found = try InputSource(MemoryByteSource(long))
    _ = try drafts(&found)
    #expect(found.format == .keyedArchive)
    let plain = try InputSource(MemoryByteSource(data), format: .plist)
    #expect(try drafts(plain).first?.text.hasPrefix("{\"$version\":100000,") == true)
  }
}

final class FourLines: NSObject, NSCoding {
  let lines: [String]

  init(lines: [String]) {
    self.lines = lines
  }

  required init?(coder: NSCoder) {
    lines = []
  }

  func encode(with coder: NSCoder) {
    for (index, line) in lines.enumerated() { coder.encode(line as NSString, forKey: "line\(index + 1)") }
  }
}
