import CofferTestSupport
import Foundation
import Testing

/// The hint that an error prints names options of that verb, or a command, that cure the fault: each is run.
@Suite struct HintTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let name: String
    /// The content of the input.
    var input: [UInt8] = []
    /// The input's name.
    var file = "in.csv"
    let command: [String]
    /// The beginning of the hint.
    let hint: String
    /// Words that complete an option of the hint, such as a file.
    var completion: [String] = []

    var testDescription: String { name }
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

  /// Bytes in hexadecimal, made with Python's codecs.
  private static func hex(_ digits: String) -> [UInt8] {
    let digits = Array(digits.utf8).map { UInt8($0 < 0x3A ? $0 - 0x30 : $0 - 0x57) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static let shiftJIS = hex("7469746c652c746578740a8ca22c82a282ca0a944c2c82cb82b10a")
  private static let latin = text("title,text\ncaf") + [0xE9] + text(",b\n")
  private static let nul = text("title,text\na,b\0c\nd,e f\n")
  private static let faulty = text("title,text\nà,été\nb,") + [0xFF, 0x0A]
  private static let wide = text("title,text\na,b\n").flatMap { [$0, 0] as [UInt8] }

  private static let imports: [Case] = [
    Case(name: "code page", input: latin, command: [], hint: "try --encoding windows-1252 or --encoding windows-1251"),
    Case(name: "U+0000", input: nul, command: [], hint: "this is UTF-8 with U+0000 in it: --encoding utf-8"),
    Case(
      name: "faulty UTF-8", input: faulty, command: [],
      hint: "this is UTF-8 with invalid bytes in it: --encoding utf-8 --on-error replace",
      completion: ["--encoding", "utf-8", "--on-error", "replace"]),
    Case(name: "UTF-16", input: wide, command: [], hint: "looks like UTF-16, little end first: --encoding utf-16le"),
    Case(name: "Shift-JIS", input: shiftJIS, command: [], hint: "looks like SHIFT_JIS: iconv"),
    Case(
      name: "UTF-32", input: text("title,text\na,b\n").flatMap { [$0, 0, 0, 0] as [UInt8] }, command: [],
      hint: "looks like UTF-32LE: iconv"),
    Case(
      name: "UTF-32 with mark", input: [0xFF, 0xFE, 0, 0] + text("a\n").flatMap { [$0, 0, 0, 0] as [UInt8] },
      command: [],
      hint: "looks like UTF-32: iconv"),
    Case(
      name: "second byte order mark", input: text("\u{FEFF}\u{FEFF}title,text\na,b\n"), command: [],
      hint: "remove the first 3 bytes of the file: tail -c +4"),
    Case(
      name: "unit of dates", input: text("text,when\na,1704651840123\n"), command: ["--map", "created=when"],
      hint: "name the unit of dates that are numbers: --map dates=unix-ms"),
    Case(
      name: "unit of our dates", input: text(#"{"text":"a","created":1704651840123456}"#), file: "in.ndjson",
      command: [],
      hint: "name the unit of dates that are numbers: --map dates=unix-us"),
    Case(
      name: "long row", input: text("text\n\(String(repeating: "x", count: 5000))\n"), command: ["--max-record", "1K"],
      hint: "allow longer records: --max-record 256M"),
    Case(
      name: "long text", input: text(String(repeating: "x", count: 5000)), file: "in.txt",
      command: ["--max-record", "1K"], hint: "allow longer records: --max-record 256M"),
    Case(
      name: "missing column", input: text("Name,Body\na,b\n"), command: ["--map", "text=content"],
      hint: "there are: Name, Body", completion: ["--map", "text=Body"]),
  ].map { example in
    Case(
      name: example.name, input: example.input, file: example.file,
      command: ["import", "s.coffer", example.file] + example.command, hint: example.hint,
      completion: example.completion)
  }

  private static let others: [Case] = [
    Case(name: "convert a code page", input: latin, command: ["convert", "in.csv"], hint: "try --from windows-1252"),
    Case(
      name: "convert U+0000", input: nul, command: ["convert", "in.csv"],
      hint: "this is UTF-8 with U+0000 in it: --from"),
    Case(
      name: "convert faulty UTF-8", input: faulty, command: ["convert", "in.csv"],
      hint: "this is UTF-8 with invalid bytes in it: --from utf-8 --on-error replace",
      completion: ["--from", "utf-8", "--on-error", "replace"]),
    Case(
      name: "convert Shift-JIS", input: shiftJIS, command: ["convert", "in.csv"], hint: "looks like SHIFT_JIS: iconv"),
    Case(name: "put a code page", input: latin, command: ["put", "s.coffer", "in.csv"], hint: "try dbtool convert"),
    Case(
      name: "put U+0000", input: nul, command: ["put", "s.coffer", "in.csv"],
      hint: "this is UTF-8 with U+0000 in it: dbtool"),
    Case(
      name: "put faulty UTF-8", input: faulty, command: ["put", "s.coffer", "in.csv"],
      hint: "this is UTF-8 with invalid bytes in it: dbtool convert --from utf-8"),
    Case(
      name: "put UTF-16", input: wide, command: ["put", "s.coffer", "in.csv"], hint: "looks like UTF-16, little end"),
    Case(name: "put nothing", command: ["put", "s.coffer", "in.csv"], hint: "--allow-empty stores it"),
    Case(name: "existing output", command: ["export", "s.coffer", "-o", "in.csv"], hint: "--force replaces it"),
    Case(
      name: "existing conversion", command: ["convert", "in.csv", "-o", "primary.key"], hint: "--force replaces it"),
    Case(
      name: "texts without folder", command: ["export", "s.coffer", "--to", "text"], hint: "name it with -o",
      completion: ["-o", "out"]),
    Case(
      name: "recipient in a file", command: ["key", "add", "s.coffer", "--recipient", "recipient.txt"],
      hint: "see 'dbtool key add --help'"),
  ]

  @Test(.slow, arguments: imports + others) func hintCuresError(_ example: Case) throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "x")
    try sandbox.write(example.file, bytes: example.input)
    let failed = try sandbox.run(example.command)
    try #require(failed.status != 0)
    let line = try #require(
      failed.diagnostics.split(separator: "\n").first { $0.hasPrefix("hint: ") }, "\(failed.errors)")
    let hint = String(line.dropFirst("hint: ".count))
    #expect(hint.hasPrefix(example.hint), "\(hint)")
    for cure in hint.split(separator: " or ").map(String.init) {
      let cured = try run(cure, for: example, failed.diagnostics, in: sandbox)
      #expect(cured.status == 0, "\(cure): \(cured.errors)")
    }
  }

  private func run(
    _ cure: String, for example: Case, _ diagnostics: String, in sandbox: Sandbox
  ) throws -> Sandbox.Outcome {
    var command = example.command
    if let filter = cure.firstRange(of: /(iconv|tail) .*/) {
      return try shell("\(cure[filter]) '\(example.file)' > 'fixed-\(example.file)'", command, example, in: sandbox)
    }
    if let convert = cure.firstRange(of: /dbtool convert .*/) {
      let words = cure[convert].split(separator: " ").dropFirst().map(String.init)
      let fixed = "fixed-\(UUID().uuidString)"
      try sandbox.succeed(words + ["-o", fixed])
      return try sandbox.run(command.map { $0 == example.file ? fixed : $0 })
    }
    if let option = diagnostics.firstMatch(of: /use (--recipients-file) (\S+)/) {
      return try sandbox.run(command.prefix { $0 != "--recipient" } + [String(option.1), String(option.2)])
    }
    let words = cure.split(separator: " ").map {
      $0.trimmingCharacters(in: .punctuationCharacters.subtracting(["-", "="]))
    }
    let given = example.completion.isEmpty ? Array(words.drop { !$0.hasPrefix("--") }.prefix(2)) : example.completion
    try #require(!given.isEmpty, "no option in \(cure)")
    let isFlag = given.count < 2 || ["stores", "replaces"].contains(given[1])
    if let place = command.firstIndex(of: given[0]), !isFlag {
      command[place + 1] = given[1].hasPrefix("dates=") ? "\(command[place + 1]),\(given[1])" : given[1]
    } else {
      command += isFlag ? [given[0]] : given
    }
    return try sandbox.run(command)
  }

  /// Runs a line of a shell, and then the command on the file that it made.
  private func shell(
    _ line: String, _ command: [String], _ example: Case, in sandbox: Sandbox
  ) throws -> Sandbox.Outcome {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", line]
    process.currentDirectoryURL = sandbox.directory
    process.environment = sandbox.environment.merging(ProcessInfo.processInfo.environment) { own, _ in own }
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0, !command.isEmpty else {
      return Sandbox.Outcome(status: process.terminationStatus, output: [], errors: line)
    }
    return try sandbox.run(command.map { $0 == example.file ? "fixed-\(example.file)" : $0 })
  }

  @Test func listsIDsInAnyOrder() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write("in.csv", "id,text\n63,a\n62,b\n60,c\n61,d\n")
    let told = try sandbox.succeed("import", "s.coffer", "in.csv", "--keep-ids")
    #expect(told.lines.last == "4 documents created, ids 63, 62, 60-61")
  }
}
