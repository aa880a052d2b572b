import CofferDocuments
import Testing

@Suite struct JSONWriterTests {
  /// RFC 8785, appendix B.
  @Test(
    arguments: [
      (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"), (0x0000_0000_0000_0001, "5e-324"),
      (0x8000_0000_0000_0001, "-5e-324"), (0x7FEF_FFFF_FFFF_FFFF, "1.7976931348623157e+308"),
      (0xFFEF_FFFF_FFFF_FFFF, "-1.7976931348623157e+308"), (0x4340_0000_0000_0000, "9007199254740992"),
      (0xC340_0000_0000_0000, "-9007199254740992"), (0x4430_0000_0000_0000, "295147905179352830000"),
      (0x44B5_2D02_C7E1_4AF5, "9.999999999999997e+22"), (0x44B5_2D02_C7E1_4AF6, "1e+23"),
      (0x44B5_2D02_C7E1_4AF7, "1.0000000000000001e+23"), (0x444B_1AE4_D6E2_EF4E, "999999999999999700000"),
      (0x444B_1AE4_D6E2_EF4F, "999999999999999900000"), (0x444B_1AE4_D6E2_EF50, "1e+21"),
      (0x3EB0_C6F7_A0B5_ED8C, "9.999999999999997e-7"), (0x3EB0_C6F7_A0B5_ED8D, "0.000001"),
      (0x41B3_DE43_5555_5553, "333333333.3333332"), (0x41B3_DE43_5555_5554, "333333333.33333325"),
      (0x41B3_DE43_5555_5555, "333333333.3333333"), (0x41B3_DE43_5555_5556, "333333333.3333334"),
      (0x41B3_DE43_5555_5557, "333333333.33333343"), (0xBECB_F647_612F_3696, "-0.0000033333333333333333"),
      (0x4314_3FF3_C1CB_0959, "1424953923781206.2"),
    ] as [(UInt64, String)])
  func writesNumbersLikeECMAScript(bits: UInt64, text: String) {
    var output: [UInt8] = []
    JSONWriter.appendNumber(Double(bitPattern: bits), to: &output)
    #expect(String(decoding: output, as: UTF8.self) == text)
  }

  @Test(arguments: [
    (0, "0"), (7, "7"), (-10, "-10"), (Int64.max, "9223372036854775807"), (.min, "-9223372036854775808"),
  ])
  func writesIntegersWithoutFraction(value: Int64, text: String) {
    var output: [UInt8] = []
    JSONWriter.appendInteger(value, to: &output)
    #expect(String(decoding: output, as: UTF8.self) == text)
  }

  @Test func escapesOnlyControlCharacters() throws {
    for scalar in (0...0x2100).compactMap(Unicode.Scalar.init) {
      let text = "1234567é" + String(scalar) + "89"
      var output: [UInt8] = []
      JSONWriter.appendString(text, to: &output)
      let isEscaped = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
      #expect(output.contains(UInt8(ascii: "\\")) == isEscaped)
      #expect(try scan(output) == .string)
      output.withUnsafeBytes { buffer in
        var scanner = JSONScanner(buffer)
        let token = try? scanner.scanString()
        #expect(token.map { scanner.value(of: $0) } == Array(text.utf8))
      }
    }
  }

  /// Tests escapes at every offset in blocks of 8 and of 16 bytes, and in rows that are longer than a block counts.
  @Test func escapesAtEachAlignment() throws {
    let runs = [("\n", "\\n"), ("\u{1}", "\\u0001"), ("\"", "\\\""), ("\\\u{1F}", "\\\\\\u001f"), ("é", "é")]
    for length in [Int](0..<40) + [254, 255, 256, 4079, 4080, 4081, 5000] {
      let start = String(repeating: "x", count: length)
      for (run, escaped) in runs {
        let text = start + run + run + "end" + run + start
        var output: [UInt8] = Array("before".utf8)
        JSONWriter.appendString(text, to: &output)
        let expected = "before\"\(start)\(escaped)\(escaped)end\(escaped)\(start)\""
        #expect(String(decoding: output, as: UTF8.self) == expected)
        try expectString(output.dropFirst(6), text)
      }
      let many = String(repeating: "\u{2}", count: length)
      var output: [UInt8] = []
      JSONWriter.appendString(many, to: &output)
      #expect(output.count == 2 + 6 * length)
      try expectString(output[...], many)
    }
  }

  /// Reads a string in both ways.
  private func expectString(_ json: ArraySlice<UInt8>, _ text: String) throws {
    try Array(json).withUnsafeBytes { buffer in
      var scanner = JSONScanner(buffer)
      let token = try scanner.scanString()
      #expect(scanner.position == buffer.count)
      #expect(scanner.value(of: token) == Array(text.utf8))
      #expect(try JSONTape(buffer).string(at: 0, in: buffer) == text)
    }
  }

  @Test func readsEscapesOfEveryScalar() throws {
    for (escaped, text) in [
      ("\\u0041\\u00e9\\u20AC\\ud83d\\uDE00", "Aé€😀"), ("\\u0000\\\"\\\\\\/\\b\\f\\n\\r\\t", "\0\"\\/\u{8}\u{C}\n\r\t"),
      ("\\uffff\\ue000\\ud7ff", "\u{FFFF}\u{E000}\u{D7FF}"), ("\\udbff\\udfff", "\u{10FFFF}"),
    ] {
      let bytes = Array("\"\(escaped)\"".utf8)
      try bytes.withUnsafeBytes { buffer in
        var scanner = JSONScanner(buffer)
        let token = try scanner.scanString()
        #expect(scanner.value(of: token) == Array(text.utf8))
        #expect(try JSONTape(buffer).string(at: 0, in: buffer) == text)
      }
    }
  }
}
