import CofferText
import Testing

/// Texts in encodings that are not read, which errors name.
@Suite struct UnreadEncodingTests {
  private func error(_ bytes: [UInt8]) -> TextCodingError? {
    do throws(TextCodingError) {
      _ = try TextDecoder.utf8(from: bytes, in: .automatic)
      return nil
    } catch {
      return error
    }
  }

  /// Made with Python's codecs.
  @Test(
    arguments: [
      (.shiftJIS, "93fa967b8cea82cc8365834c8358836782c582b781420a93f18d7396da8142"),
      (.eucJP, "c6fccbdcb8eca4cea5c6a5ada5b9a5c8a4c7a4b9a1a30ac6f3b9d4ccdca1a3"),
      (.shiftJIS, "7469746c652c746578740a8ca22c82a282ca0a944c2c82cb82b10a"),
      (.eucJP, "7469746c652c746578740ab8a42ca4a4a4cc0ac7ad2ca4cda4b30a"),
      (.shiftJIS, "834a835e834a8369"),
      (.eucJP, "a5aba5bfa5aba5ca"),
      (.gb18030, "d6d0cec4b2e2cad4cec4b1bea1a30ab5dab6fed0d0"),
      (.gb18030, "b1eacce22cd5fdcec40ac4e3bac32ccac0bde70a"),
      (.big5, "a4a4a4e5b4fab8d5a4e5a672a1430ab2c4a447a6e6"),
      (.big5, "bcd0c3442ca4baa4e50aa741a66e2ca540acc90a"),
      (.eucKR, "c7d1b1b9beee20c5d8bdbac6aec0d4b4cfb4d92e0ab5d1c2b020c1d9"),
      (.eucKR, "c1a6b8f12cbabbb9ae0abec8b3e72cbcbcb0e80a"),
      (.utf32LittleEndian, "6100000062000000"),
      (.utf32BigEndian, "0000006100000062"),
      (
        .utf32LittleEndian,
        "7400000069000000740000006c000000650000002c000000740000006500000078000000740000000a000000780000002c000000790000000a000000"
      ),
      (
        .utf32BigEndian,
        "0000007400000069000000740000006c000000650000002c000000740000006500000078000000740000000a000000780000002c000000790000000a"
      ),
      (.utf32LittleEndian, "e56500002c670000"),
      (.utf32BigEndian, "000065e50000672c"),
      (.utf32LittleEndian, "00f60100e9000000"),
      (.utf32BigEndian, "0001f600000000e9"),
      (.utf32, "fffe00006100000062000000"),
    ] as [(UnreadEncoding, String)])
  func namesEncoding(encoding: UnreadEncoding, hex: String) {
    let error = error(bytes(hex))
    #expect(error?.lookalike == encoding)
    #expect(error?.suggestions == [])
    #expect(encoding.advice.hasSuffix("iconv -f \(encoding.rawValue) -t UTF-8"))
  }

  private func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex.utf8).map { UInt8($0 < 0x3A ? $0 - 0x30 : $0 - 0x57) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  @Test(
    arguments: [
      (
        .windows1251,
        ["Привет", "ПРИВЕТ мир", "Широкая электрификация южных губерний", "«Ёлка» — №5", "имя,текст\nАнна,Привет\n"]
      ),
      (.koi8R, ["Привет мир", "Широкая электрификация"]),
      (
        .windows1252,
        [
          "café", "déjà vu à la carte naïve", "Ärger mit Öl und Übermut", "“quote” – dash…", "señor ñandú", "Åse",
          "façade", "été",
        ]
      ),
      (.windows1250, ["Zażółć gęślą jaźń", "Příliš žluťoučký kůň"]),
      (.windows1253, ["Ελληνικά κείμενα"]),
      (.windows1255, ["שלום עולם"]),
      (.windows1256, ["مرحبا بالعالم"]),
    ] as [(TextEncoding, [String])])
  func codePagesAreNotMistaken(encoding: TextEncoding, texts: [String]) throws {
    for text in texts {
      let error = error(try TextEncoder.bytes(fromUTF8: Array(text.utf8), in: encoding))
      #expect(error?.lookalike == nil, "\(text)")
    }
  }
}
