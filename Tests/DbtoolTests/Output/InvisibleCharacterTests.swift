import CofferTerminal
import CofferTestSupport
import Testing

/// Tests which characters the terminal shows escaped, in several scripts.
@Suite struct InvisibleCharacterTests {
  /// The expectation for every scalar alone, from Unicode's properties.
  @Test func escapesEveryScalarWithoutGlyph() {
    var different: [String] = []
    for value in (0 as UInt32)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let properties = scalar.properties
      let isEscaped =
        properties.generalCategory == .control || properties.isDefaultIgnorableCodePoint || properties.isBidiControl
        || [.lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
        || (0xFFF9...0xFFFB).contains(value)
      if (escapingControls("a\(scalar)b") != "a\(scalar)b") != isEscaped { different.append(String(value, radix: 16)) }
    }
    #expect(different.isEmpty)
  }

  @Test(arguments: [
    ("pay\u{200B}pal", #"pay\u{200B}pal"#), ("pay\u{AD}pal", #"pay\u{AD}pal"#),
    ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#),
    ("txt.\u{202E}exe", #"txt.\u{202E}exe"#), ("a\u{E0041}\u{E007F}b", #"a\u{E0041}\u{E007F}b"#),
    ("\u{FEFF}a\u{2060}b\u{34F}c", #"\u{FEFF}a\u{2060}b\u{34F}c"#), ("\u{3164}", #"\u{3164}"#),
    ("a\u{FE0F}b\u{200D}c\u{200C}d", #"a\u{FE0F}b\u{200D}c\u{200C}d"#),
    // A joiner without an effect: behind a letter that doesn't join, at an end, and doubled.
    ("کار\u{200C}ها", #"کار\u{200C}ها"#), ("می\u{200C}", #"می\u{200C}"#),
    ("می\u{200C}\u{200C}خ", #"می\u{200C}\u{200C}خ"#),
    ("क\u{200D}ष", #"क\u{200D}ष"#), ("क्\u{200D}\u{200D}ष", "क्\u{200D}\\u{200D}ष"),
    // A part of an emoji in another place.
    ("1\u{FE0F}", #"1\u{FE0F}"#), ("👩\u{200D}a", #"👩\u{200D}a"#), ("葛\u{E0100}", #"葛\u{E0100}"#),
    (
      "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0068}\u{E007F}",
      #"🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0068}\u{E007F}"#
    ),
  ])
  func escapesInvisibleCharacters(_ text: String, _ shown: String) {
    #expect(escapingControls(text) == shown)
    #expect(TerminalCells(text).cells.map(\.text).joined() == shown)
  }

  @Test(arguments: [
    "می\u{200C}خواهم", "خانه\u{200C}ها", "مِی\u{200C}خواهم", "کتاب‌های".replacing("\u{200C}", with: ""), "क्\u{200D}ष",
    "क्\u{200C}ष",
    "ශ්\u{200D}රී", "ന്\u{200D}", "র\u{200D}্যাব", "Zu\u{308}rich", "Tiê\u{301}ng", "שָׁלוֹם", "한글", "ไทย", "東京の港", "が",
    "👩\u{200D}🚀", "👩🏽\u{200D}🚀", "❤\u{FE0F}\u{200D}🔥", "🏳\u{FE0F}\u{200D}🌈", "👨\u{200D}👩\u{200D}👧", "☕\u{FE0F}",
    "❤\u{FE0E}",
    "1\u{FE0F}\u{20E3}", "🇩🇪", "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}", "a\u{A0}b\u{202F}!",
  ])
  func keepsReadableText(_ text: String) {
    for text in [text, "a \(text) b", text + text] {
      #expect(escapingControls(text) == text)
      #expect(TerminalCells(text).cells.map(\.text).joined() == text)
    }
  }

  @Test func partSeesTextAroundIt() {
    let text = "می\u{200C}خواهم"
    let index = text.unicodeScalars.firstIndex(of: "\u{200C}")!
    #expect(escapingControls(text[index...]) == String(text[index...]))
    let front = text[..<text.unicodeScalars.index(after: index)]
    #expect(escapingControls(front).unicodeScalars.last == "\u{200C}")
  }

  @Test func escapesAsJSON() {
    #expect(escapingControls("a\u{200B}\u{2028}", isJSON: true) == #"a\u200b\u2028"#)
    // A scalar beyond U+FFFF is a pair of units in JSON.
    #expect(escapingControls("\u{E0041}", isJSON: true) == #"\udb40\udc41"#)
  }

  /// Random texts of scalars that interact. Escaped text has nothing to escape, and loses nothing.
  @Test func randomTextKeepsItsScalars() {
    var generator = Pseudorandom(seed: 35)
    let scalars: [Unicode.Scalar] = [
      "a", "1", " ", "\u{200B}", "\u{200C}", "\u{200D}", "\u{FE0F}", "👩", "🚀", "🏴", "ی", "ر", "ِ", "क", "्", "র", "্",
      "\u{E0067}", "\u{E0062}", "\u{E007F}", "\u{20E3}", "\u{202E}", "\u{7}", "é", "\u{301}",
    ]
    for _ in 0..<5000 {
      var text = ""
      for _ in 0..<Int.random(in: 0..<12, using: &generator) {
        text.unicodeScalars.append(scalars.randomElement(using: &generator)!)
      }
      let shown = escapingControls(text)
      // An escape ends what a joiner needs on either side, so what stays doesn't depend on what is escaped.
      #expect(Self.unescaped(shown) == text)
      #expect(TerminalCells(text).cells.map(\.text).joined() == shown)
      var parts = ""
      var start = text.startIndex
      while start < text.endIndex {
        let end = text.unicodeScalars.index(after: start)
        parts += escapingControls(text[start..<end])
        start = end
      }
      #expect(parts == shown)
    }
  }

  private static func unescaped(_ text: String) -> String {
    text.replacing(/\\u\{([0-9A-F]+)\}/.matchingSemantics(.unicodeScalar)) { match in
      String(Character(Unicode.Scalar(UInt32(match.output.1, radix: 16)!)!))
    }
  }

  // MARK: Output of the command

  private static let disguised = "pay\u{200B}pal \u{202E}\u{E0041} می\u{200C}خواهم 👩\u{200D}🚀"
  private static let shown = #"pay\u{200B}pal \u{202E}\u{E0041}"# + " می\u{200C}خواهم 👩\u{200D}🚀"

  @Test func escapesNamesOnTerminalOnly() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "sail", "--title", Self.disguised)
    try sandbox.succeed("collection", "create", "s.coffer", Self.disguised)
    try sandbox.succeed("key", "add", "s.coffer", "--new-key-file", "next.key", "--label", Self.disguised)
    for arguments in [
      ["ls", "s.coffer"], ["search", "s.coffer", "pay"], ["collection", "list", "s.coffer"],
      ["key", "list", "s.coffer"],
      ["info", "s.coffer"], ["query", "s.coffer", "SELECT title FROM documents", "--format", "csv"],
      ["ls", "s.coffer", "--format", "tsv"],
    ] {
      let terminal = try PseudoTerminal()
      sandbox.environment["NO_COLOR"] = "1"
      let child = try Child(arguments, in: sandbox, streams: .terminal(terminal.path))
      terminal.readToEnd()
      #expect(child.wait() == 0)
      #expect(terminal.shown.contains(Self.shown.prefix(13)), "\(arguments): \(terminal.shown)")
      #expect(!terminal.shown.unicodeScalars.contains { ["\u{200B}", "\u{202E}", "\u{E0041}"].contains($0) })
    }
    #expect(try sandbox.succeed("ls", "s.coffer").text.contains(Self.disguised))
    #expect(try sandbox.succeed("ls", "s.coffer", "--format", "csv").text.contains(Self.disguised))
    let failed = try sandbox.run("ls", "s.coffer", "-c", "pay\u{200B}pal")
    #expect(failed.errors.contains(#"pay\u{200B}pal"#) && !failed.errors.contains("\u{200B}"))
  }

  /// A highlighted hit that ends before a joiner doesn't change how the joiner is shown.
  @Test func hitBesideJoinerKeepsIt() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.succeed("put", "s.coffer", "--text", "آن می\u{200C}خواهم", "--title", "x")
    let terminal = try PseudoTerminal()
    sandbox.environment["TERM"] = "xterm"
    let child = try Child(["search", "s.coffer", "می"], in: sandbox, streams: .terminal(terminal.path))
    terminal.readToEnd()
    #expect(child.wait() == 0)
    #expect(terminal.shown.contains("\u{1B}[1;31mمی\u{1B}[m\u{200C}خواهم"), "\(terminal.shown)")
  }
}
