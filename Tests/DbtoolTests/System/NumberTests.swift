import CofferTestSupport
import Foundation
import Testing

/// Every option and word that takes a number, with numbers at and beyond the ends of each type.
@Suite struct NumberTests {
  private static let numbers = [
    "-9223372036854775809", "-9223372036854775808", "-2147483649", "-1", "-0", "0", "1", "4294967296",
    "9223372036854775806", "9223372036854775807", "18446744073709551616", "1e308", "-1e999", "nan", "inf", "",
    "1-9223372036854775807",
  ]

  /// Commands with `{}` in place of the number.
  private static let commands: [[String]] = [
    ["ls", "s", "-n", "{}"],
    ["ls", "s", "--wait", "{}"],
    ["ls", "s", "--sort", "size", "--reverse", "-n", "{}"],
    ["ls", "clear", "--keyless", "-n", "{}"], ["ls", "clear", "--keyless", "-c", "#{}"],
    ["search", "s", "x", "-m", "{}"], ["search", "s", "x", "-C", "{}"],
    ["search", "s", "--ranked", "x", "-m", "{}"], ["search", "s", "--regex", "x{{}}"],
    ["search", "s", "--ranked", "NEAR(x y, {})"], ["import", "s", "in.csv", "--batch", "{}"],
    ["import", "s", "in.csv", "--max-record", "{}"], ["import", "s", "in.csv", "--max-record", "{}G"],
    ["import", "s", "in.csv", "--sync", "--map", "key=id", "--delete", "--max-delete", "{}"],
    ["import", "s", "in.csv", "--map", "text={}"], ["import", "s", "./{}.csv", "--map", "created=id"],
    ["import", "s", "./{}.csv", "--keep-ids"], ["import", "s", "./{}.csv", "--map", "created=id,dates=unix"],
    ["import", "s", "./{}.csv", "--map", "created=id,dates=unix-us"],
    ["import", "s", "./{}.csv", "--map", "created=id,dates=chrome"],
    ["import", "s", "./{}.csv", "--map", "created=id,dates=apple"],
    ["backup", "s", "copies/", "--keep", "{}"], ["replica", "confirm", "s", "no.sock", "--timeout", "{}"],
    ["verify", "s", "--anchor-only", "--anchor", "coffer3:{}:{}:{}:{}"], ["export", "s", "{}"],
    ["show", "s", "--", "{}"],
    ["rm", "s", "--dry-run", "--", "{}"], ["mv", "s", "1", "--to", "{}"], ["mv", "s", "1", "--to", "after:{}"],
    ["put", "s", "--text", "x", "--id", "{}"],
    ["put", "s", "--text", "x", "--attr", "n:={}"],
    ["key", "remove", "s", "{}"], ["key", "passwd", "s", "{}", "--new-key-file", "next.key"],
    ["rekey", "s", "--batch", "{}"], ["replica", "tail", "s", "--since", "{}"], ["query", "s", "SELECT ?", "--", "{}"],
    ["query", "s", "SELECT id FROM documents WHERE id >= ? AND created > ?", "--", "{}", "{}"],
    ["query", "s", "SELECT id FROM documents WHERE id < {} LIMIT {}"],
    ["collection", "sort", "s", "--by", "json:a[{}]"],
    ["index", "add", "s", "-c", "documents", "n=$.a[{}]:number"], ["restore", "s", "other", "{}"],
    ["replica", "adopt", "s", "copies", "--keep", "{}"], ["browse", "s", "--lock-after", "{}"],
  ]

  @Test(.slow, arguments: commands) func extremeNumbersEndCommandsOrderly(command: [String]) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x\ny", "--title", "t")
    try sandbox.succeed("put", "s.coffer", "--text", "{\"a\":[1,2]}")
    try sandbox.succeed("index", "add", "s.coffer", "-c", "documents", "words")
    let store = try sandbox.read("s.coffer")
    try sandbox.write("other", bytes: store)
    if command.contains("clear") { try sandbox.succeed("create", "clear", "--titles", "clear") }
    try sandbox.write("in.csv", "id,text\n1,a\n2,b\n")
    for number in Self.numbers {
      try sandbox.write("s", bytes: store)
      try sandbox.write("\(number).csv", "id,text\n\(number),a\n")
      let arguments = command.map { $0.replacing("{}", with: number) }
      let status = try sandbox.run(arguments).status
      #expect((0..<128).contains(status), "\(arguments)")
    }
  }
}
