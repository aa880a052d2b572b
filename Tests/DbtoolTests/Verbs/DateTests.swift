import Foundation
import Testing

/// Dates of inputs, as the command reads and reports them.
@Suite struct DateTests {
  private func dates(_ sandbox: Sandbox) throws -> [String] {
    try sandbox.succeed("export", "s.coffer", "--columns", "created").lines.dropFirst().map(\.self)
  }

  @Test func readsEveryFormOfPeers() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(
      "in.csv",
      """
      text,created
      a,2015-03-25T07:59:42+0000
      b,2015-03-25T11:59:42+04
      c,2015-03-25T07:59Z
      d,"2015-03-25 07:59:42,5"
      e,20150325T075942Z
      f,20150325
      g,1427270382
      h,

      """)
    try sandbox.succeed("import", "s.coffer", "in.csv", "--map", "created=created")
    #expect(
      try dates(sandbox).dropLast() == [
        "2015-03-25T07:59:42.000Z", "2015-03-25T07:59:42.000Z", "2015-03-25T07:59:00.000Z", "2015-03-25T07:59:42.500Z",
        "2015-03-25T07:59:42.000Z", "2015-03-25T00:00:00.000Z", "2015-03-25T07:59:42.000Z",
      ])
  }

  /// A number of milliseconds isn't taken for seconds.
  @Test func numberWithoutUnitNamesUnit() throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    try sandbox.write("in.csv", "title,text,created\na,x,2015-03-25T07:59:42+0000\nb,x,1704651840123\n")
    let result = try sandbox.run("import", "s.coffer", "in.csv", "--map", "created=created")
    #expect(result.status == 22)
    #expect(
      result.diagnostics == """
        dbtool: error: in.csv: column created: a number that is no date from 1990 to 2100 in seconds since 1970 \
        (record 2, line 3, column 5, byte 52)
        hint: name the unit of dates that are numbers: --map dates=unix-ms

        """)
    #expect(try sandbox.read("s.coffer") == before)
    try sandbox.succeed("import", "s.coffer", "in.csv", "--map", "created=created,dates=unix-ms")
    #expect(try dates(sandbox) == ["2015-03-25T07:59:42.000Z", "2024-01-07T18:24:00.123Z"])
  }

  @Test(arguments: [
    ("in.ndjson", #"{"text":"y","created":"-292275055-05-16T16:47:04.192Z"}"#),
    ("in.ndjson", #"{"text":"x","modified":"+053872-06-17T22:13:20.000Z","title":"t"}"#),
    ("in.json", #"[{"text":"x","created":"9999-12-31T23:59:59-00:01"}]"#),
    ("in.csv", "id,title,text,key,created\n1,t,x,,+010000-01-01T00:00:00Z\n"),
  ])
  func rejectsDatesBeyondRange(name: String, content: String) throws {
    let sandbox = try Sandbox.withStore()
    let before = try sandbox.read("s.coffer")
    try sandbox.write(name, content)
    let result = try sandbox.run("import", "s.coffer", name)
    #expect(result.status == 22)
    #expect(result.diagnostics.contains("a date outside the years 0000 to 9999 (record 1, line "))
    #expect(try sandbox.read("s.coffer") == before)
  }

  @Test func exportsDatesAtRangeEnds() throws {
    let sandbox = try Sandbox.withStore()
    let objects = ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"].map {
      #"{"text":"x","created":"\#($0)","modified":"\#($0)"}"# + "\n"
    }
    try sandbox.write("in.ndjson", objects.joined())
    try sandbox.succeed("import", "s.coffer", "in.ndjson")
    let all = try sandbox.succeed("export", "s.coffer").text
    for format in ["csv", "json", "db", "ndjson"] {
      try sandbox.succeed("export", "s.coffer", "-o", "out.\(format)")
      try sandbox.succeed("import", "t.coffer", "out.\(format)", "--create", "--keep-ids")
      #expect(try sandbox.succeed("export", "t.coffer").text.contains("0000-01-01T00:00:00.000Z"))
      try sandbox.remove("t.coffer")
    }
    try sandbox.succeed("export", "s.coffer", "--to", "text", "-o", "out")
    try sandbox.succeed("import", "t.coffer", "out", "--create", "--keep-ids")
    #expect(try sandbox.succeed("export", "t.coffer").text == all)
    for verb in [["ls", "-l"], ["replica", "tail", "--since", "0"], ["diff", "t.coffer"]] {
      #expect(try sandbox.run(verb + ["--store", "s.coffer"]).status < 128)
    }
  }
}
