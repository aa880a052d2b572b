import CofferPlatform
import Testing

@Suite struct ConvertTests {
  private let hello: [UInt8] = [0xFF, 0xFE, 0x68, 0x00, 0xE9, 0x00, 0x0A, 0x00]

  @Test func detectsAndDropsMark() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", bytes: hello)
    let result = try sandbox.run("convert", "in.txt")
    #expect(result.status == 0)
    #expect(result.text == "hé\n")
    #expect(result.errors.isEmpty)
  }

  @Test func suggestsEncodingForUnmarkedUTF16() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", bytes: Array(hello.dropFirst(2)))
    let result = try sandbox.run("convert", "in.txt", "-o", "out.txt")
    #expect(result.status == 22)
    #expect(
      result.errors == """
        dbtool: error: in.txt: U+0000 in text without a byte order mark at byte 1
        hint: looks like UTF-16, little end first: --from utf-16le

        """)
    #expect(!sandbox.exists("out.txt"))
  }

  @Test func invalidBytesLeaveNoOutput() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", bytes: Array("abc".utf8) + [0xC0, 0xAF])
    let result = try sandbox.run("convert", "in.txt", "--from", "utf-8", "-o", "out.txt")
    #expect(result.status == 22)
    #expect(result.errors.contains("byte 3"))
    #expect(try sandbox.names().contains { $0.hasPrefix("out") || $0.hasPrefix(".dbtool") } == false)
  }

  @Test func utf16OfFirstNULIsReadable() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", "\0a")
    try sandbox.succeed("convert", "in.txt", "--from", "utf-8", "--to", "utf-16", "-o", "out.txt")
    #expect(try sandbox.succeed("convert", "out.txt").text == "\0a")
  }

  @Test func replacesInvalidBytes() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", bytes: Array("a".utf8) + [0xFF] + Array("b".utf8))
    let result = try sandbox.run("convert", "in.txt", "--from", "utf-8", "--on-error", "replace")
    #expect(result.status == 0)
    #expect(result.text == "a\u{FFFD}b")
  }

  @Test func replacingOutputRequiresForce() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", "new")
    try sandbox.write("out.txt", "old")
    let refused = try sandbox.run("convert", "in.txt", "-o", "out.txt")
    #expect(refused.status == 1)
    #expect(refused.errors == "dbtool: error: out.txt exists already\nhint: --force replaces it\n")
    #expect(try sandbox.text(of: "out.txt") == "old")
    try sandbox.succeed("convert", "in.txt", "-o", "out.txt", "--force")
    #expect(try sandbox.text(of: "out.txt") == "new")
  }

  @Test func rejectsInputAsOutput() throws {
    let sandbox = try Sandbox()
    try sandbox.write("in.txt", "text")
    #expect(symlink(sandbox.path("in.txt"), sandbox.path("same.txt")) == 0)
    for output in ["in.txt", "same.txt"] {
      let result = try sandbox.run("convert", "in.txt", "-o", output, "--force")
      #expect(result.status == 1)
    }
    #expect(try sandbox.text(of: "in.txt") == "text")
  }

  @Test func roundTripsThroughUTF16() throws {
    let sandbox = try Sandbox()
    let text = String(repeating: "Grüße, 世界, 😀\n", count: 40_000)
    try sandbox.write("in.txt", text)
    try sandbox.succeed("convert", "in.txt", "--to", "utf-16", "-o", "big.txt")
    #expect(try sandbox.read("big.txt").prefix(2) == [0xFF, 0xFE])
    let back = try sandbox.succeed("convert", "big.txt")
    #expect(back.text == text)
    let marked = try sandbox.succeed("convert", "big.txt", "--to", "utf-8-bom")
    #expect(marked.output.prefix(3) == [0xEF, 0xBB, 0xBF])
  }

  @Test func readsAndWritesCodePage() throws {
    let sandbox = try Sandbox()
    let result = try sandbox.run(["convert", "-", "--from", "windows-1251"], input: [0xCF, 0xF0, 0xE8])
    #expect(result.text == "При")
    let back = try sandbox.run(["convert", "-", "--to", "windows-1251"], input: Array("При".utf8))
    #expect(back.output == [0xCF, 0xF0, 0xE8])
    let impossible = try sandbox.run(["convert", "-", "--to", "windows-1251"], input: Array("世".utf8))
    #expect(impossible.status == 1)
  }

  @Test func convertsEmptyInput() throws {
    let result = try Sandbox().run("convert", "-")
    #expect(result.status == 0)
    #expect(result.output.isEmpty)
  }

  @Test func replacesInvalidBytesOfUTF8() throws {
    let result = try Sandbox().run(["convert", "-", "--on-error", "replace"], input: Array("été à ".utf8) + [0xFF])
    #expect(result.status == 22, "three characters don't tell the encoding")
    let told = try Sandbox().run(["convert", "-", "--on-error", "replace"], input: Array("été à é".utf8) + [0xFF])
    #expect(told.text == "été à é\u{FFFD}", "\(told.errors)")
  }

  @Test func writesMarkForUTF16WithoutByteOrder() throws {
    let result = try Sandbox().run(["convert", "-", "--to", "utf-16"], input: Array("a".utf8))
    #expect(result.output == [0xFF, 0xFE, 0x61, 0])
  }

  @Test func rejectsImage() throws {
    let sandbox = try Sandbox.withStore()
    try sandbox.write(
      "x.png", bytes: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Array(repeating: 0xFF, count: 99))
    for words in [["convert", "x.png"], ["put", "s.coffer", "x.png"]] {
      let result = try sandbox.run(words)
      #expect(result.status == 22 && result.output.isEmpty)
      #expect(result.errors.contains("x.png: this is a PNG image, not text\nhint: "), "\(result.errors)")
    }
  }

  @Test func missingInputExitsWith1() throws {
    let result = try Sandbox().run("convert", "none.txt")
    #expect(result.status == 1)
    #expect(result.errors == "dbtool: error: none.txt: no such file or directory\n")
  }
}
