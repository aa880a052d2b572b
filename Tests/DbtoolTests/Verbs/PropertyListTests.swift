import Foundation
import Testing

/// Tests the property lists of wgFileDb and FourLines.
@Suite struct PropertyListTests {
  private let table: [String: Any] = [
    "autoincrement": "12",
    "data": [
      ["wgFileDbSecretId": "7", "name": "Ada", "age": 36, "since": Date(timeIntervalSince1970: 0)],
      ["wgFileDbSecretId": "2", "name": "Ümit", "image": Data([0, 1, 2]), "weight": 1.5],
      ["wgFileDbSecretId": "10", "title": "T", "text": "x\ny"],
    ],
    "index": ["7": "0", "2": "1", "10": "2"],
  ]

  private func write(_ value: Any, _ format: PropertyListSerialization.PropertyListFormat, to sandbox: Sandbox) throws {
    let data = try PropertyListSerialization.data(fromPropertyList: value, format: format, options: 0)
    try sandbox.write("db.plist", bytes: [UInt8](data))
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func roundTripsOrderedTable(
    format: PropertyListSerialization.PropertyListFormat
  ) throws {
    let sandbox = try Sandbox.withStore()
    try write(table, format, to: sandbox)
    try sandbox.succeed("import", "s.coffer", "db.plist", "--keep-ids")
    let lines = try sandbox.succeed("ls", "s.coffer").lines.map { $0.split(separator: "\t").prefix(2) }
    #expect(lines == [["7", "Ada"], ["2", "Ümit"], ["10", "T"]])
    #expect(try sandbox.succeed("show", "s.coffer", "10").text == "x\ny")
    try sandbox.succeed("export", "s.coffer", "-o", "out.plist")
    let back = try PropertyListSerialization.propertyList(from: Data(try sandbox.read("out.plist")), format: nil)
    #expect(back as? NSDictionary == table as NSDictionary)
    // The counter prevents reusing the IDs of deleted documents.
    #expect(try sandbox.succeed("put", "s.coffer", "--text", "new").text == "13\n")
  }

  @Test func importsTableIDsAsKeys() throws {
    let sandbox = try Sandbox.withStore()
    try write(table, .binary, to: sandbox)
    try sandbox.succeed("import", "s.coffer", "db.plist")
    #expect(try sandbox.succeed("ls", "s.coffer").lines.map { $0.prefix(1) } == ["1", "2", "3"])
    #expect(try sandbox.succeed("show", "s.coffer", "-c", "documents", "--key-name", "10").text == "x\ny")
  }

  @Test func readsArchiveWithoutClass() throws {
    let sandbox = try Sandbox.withStore()
    let uid = { (number: Int) in ["CF$UID": number] }
    let archive: [String: Any] = [
      "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": ["Data": uid(1)],
      "$objects": [
        "$null", ["$class": uid(3), "field1": uid(2), "field2": uid(2)], "line",
        ["$classname": "FourLines", "$classes": ["FourLines", "NSObject"]],
      ],
    ]
    try sandbox.write(
      "archive",
      bytes: [UInt8](try PropertyListSerialization.data(fromPropertyList: archive, format: .xml, options: 0)))
    let result = try sandbox.succeed("import", "s.coffer", "archive", "--json")
    #expect(result.text.contains("\"format\":\"keyed-archive\""))
    let text = try sandbox.succeed("show", "s.coffer", "1").output
    let fields = try JSONDecoder().decode([String: String].self, from: Data(text))
    #expect(fields == ["$class": "FourLines", "field1": "line", "field2": "line"])
  }

  @Test(arguments: ["<plist><array><string>&x;</string></array></plist>", "<plist><array>", "bplist00"])
  func damagedFileLeavesStoreUnchanged(text: String) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("bad.plist", text)
    let result = try sandbox.run("import", "s.coffer", "bad.plist")
    #expect(result.status == 22)
    #expect(result.diagnostics.hasPrefix("dbtool: error: bad.plist: "))
    #expect(try sandbox.succeed("info", "s.coffer", "--json").text.contains("\"documents\":0"))
  }

  @Test func readsJSONArrayFromPipe() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("import", "s.coffer", "-", input: "[\n{\"text\":\"a\",\"title\":\"A\"},\n[1, 2]\n]")
    #expect(try sandbox.succeed("show", "s.coffer", "1", "2").text == "a[1, 2]")
    let bad = try sandbox.run(
      ["import", "s.coffer", "-", "--from", "json", "--on-error", "skip"], input: Array("[1,x,2".utf8))
    #expect(bad.status == 3)
    #expect(bad.errors.contains("rejected: "))
  }
}
