import CofferPlatform
import CofferTestSupport
import CofferText
import Testing

private let codePages = TextEncoding.allCases.filter(\.byteOrderMark.isEmpty)

/// Compares the code page tables with the system's iconv(3), and split texts with whole texts.
///
/// iconv decodes every byte equally, but also joins a letter and a following accent in windows-1255 and windows-1258.
/// CofferText keeps two characters, like the consortium's tables. WHATWG's decoders map undefined bytes to C1 controls,
/// while CofferText rejects them.
@Suite struct CodePageReferenceTests {
  @Test(arguments: codePages) func decodesEveryByteLikeIconv(encoding: TextEncoding) throws {
    let reading = try Iconv(from: encoding.rawValue, to: "UTF-8")
    let writing = try Iconv(from: "UTF-8", to: encoding.rawValue)
    for byte in 0...255 as ClosedRange<UInt8> {
      let character = reading.convert([byte])
      #expect(decode([byte], .fixed(encoding), room: 16).bytes == character, "\(byte)")
      if let character {
        #expect(writing.convert(character) == [byte])
        #expect(encode(character, encoding).bytes == [byte])
      }
    }
  }

  /// iconv also rejects the characters missing from the tables.
  @Test(.slow, arguments: codePages) func rejectsSameCharactersAsIconv(encoding: TextEncoding) throws {
    // Unlike the table, iconv decomposes these characters into a letter and an accent.
    if [.windows1255, .windows1258].contains(encoding) { return }
    let writing = try Iconv(from: "UTF-8", to: encoding.rawValue)
    let scalars = (0x80...0xFFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init)
    let all = Array(String(String.UnicodeScalarView(scalars)).utf8)
    let ours = try #require(encode(all, encoding, onError: .replace).bytes)
    try #require(ours.count == scalars.count)
    let differing = zip(scalars, ours).filter { scalar, byte in
      writing.convert(Array(String(scalar).utf8)) != (byte == UInt8(ascii: "?") ? nil : [byte])
    }
    #expect(differing.map { String($0.0.value, radix: 16) } == [])
  }

  @Test(.slow, arguments: codePages, [CodingErrorMode.fail, .replace])
  func decodingIgnoresSplits(encoding: TextEncoding, mode: CodingErrorMode) {
    let characters = (0...255 as ClosedRange<UInt8>).map { decode([$0], .fixed(encoding), room: 16).bytes }
    for start in [0, 0x7F] as [UInt8] {
      let bytes = (0...255 as ClosedRange<UInt8>).map { $0 &+ start }.filter {
        mode == .replace || characters[Int($0)] != nil
      }
      let expected = bytes.flatMap { characters[Int($0)] ?? Array("\u{FFFD}".utf8) }
      let whole = decode(bytes, .fixed(encoding), onError: mode)
      #expect(whole.bytes == expected)
      #expect(whole.replacements?.map { $0[1] } == bytes.indices.filter { characters[Int(bytes[$0])] == nil })
      for cut in 0...bytes.count {
        #expect(
          decode(bytes, .fixed(encoding), onError: mode, chunks: [cut, .max], room: 800) == whole, "cut at \(cut)")
      }
      for room in TextDecoder.minimumOutput...9 {
        #expect(decode(bytes, .fixed(encoding), onError: mode, chunks: [1], room: room) == whole, "into \(room)")
      }
    }
  }

  @Test(.slow, arguments: codePages) func reportsFirstUndefinedByteAtAnySplit(encoding: TextEncoding) {
    guard
      let undefined = (128...255 as ClosedRange<UInt8>).first(where: {
        decode([$0], .fixed(encoding), room: 16).bytes == nil
      })
    else { return }
    for length in [1, 2, 15, 16, 17, 40] {
      for place in 0..<length {
        var bytes = [UInt8](repeating: 0x61, count: length)
        bytes[place] = undefined
        for cut in 0...length {
          #expect(decode(bytes, .fixed(encoding), chunks: [cut, .max], room: 64).errorOffset == place)
        }
      }
    }
  }
}

/// A converter for whole texts that uses the system's iconv.
private final class Iconv {
  struct Unknown: Error {}

  private let descriptor: iconv_t

  init(from source: String, to target: String) throws {
    descriptor = iconv_open(target, source)
    guard descriptor != iconv_t(bitPattern: -1) else { throw Unknown() }
  }

  deinit {
    iconv_close(descriptor)
  }

  /// Returns the converted text, or `nil` if a character is missing from the target encoding.
  func convert(_ bytes: [UInt8]) -> [UInt8]? {
    var input = bytes.map(CChar.init(bitPattern:))
    var output = [CChar](repeating: 0, count: 16)
    let rest: Int? = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        var source = input.baseAddress
        var target = output.baseAddress
        var left = input.count
        var room = output.count
        iconv(descriptor, nil, nil, nil, nil)
        guard iconv(descriptor, &source, &left, &target, &room) == 0 else { return nil }
        // Flush the bytes that iconv holds in case an accent follows.
        guard iconv(descriptor, nil, nil, &target, &room) == 0 else { return nil }
        return room
      }
    }
    return rest.map { output.dropLast($0).map(UInt8.init(bitPattern:)) }
  }
}
