import CofferText
import Testing

/// The result of decoding a text, which must not depend on chunk sizes.
enum Outcome: Equatable {
  /// A replacement consists of its output and input offsets.
  case text([UInt8], TextEncoding?, markWasFound: Bool, replacements: [[Int]])
  case error(TextCodingError.Code, at: Int, String)

  static func text(_ text: String, _ encoding: TextEncoding, mark: Bool = false) -> Outcome {
    .text([UInt8](text.utf8), encoding, markWasFound: mark, replacements: [])
  }

  var bytes: [UInt8]? {
    guard case .text(let bytes, _, _, _) = self else { return nil }
    return bytes
  }

  var string: String? {
    bytes.map { String(decoding: $0, as: UTF8.self) }
  }

  var replacements: [[Int]]? {
    guard case .text(_, _, _, let replacements) = self else { return nil }
    return replacements
  }

  var failure: TextCodingError.Code? {
    guard case .error(let code, _, _) = self else { return nil }
    return code
  }

  var errorOffset: Int? {
    guard case .error(_, let offset, _) = self else { return nil }
    return offset
  }

  var reason: String? {
    guard case .error(_, _, let reason) = self else { return nil }
    return reason
  }
}

/// Decodes in chunks of the given sizes, repeating the last size, with `room` output bytes for each call. Compares the
/// kernel with the portable decoder.
func decode(
  _ bytes: [UInt8], _ choice: EncodingChoice, onError mode: CodingErrorMode = .fail, chunks: [Int] = [.max],
  room: Int = 1 << 16
) -> Outcome {
  let outcomes = [true, false].map { usingKernels in
    decode(
      bytes, with: TextDecoder(choice, onError: mode, usingKernels: usingKernels), chunks: chunks, room: room)
  }
  #expect(outcomes[0] == outcomes[1], "with and without kernels")
  return outcomes[0]
}

private func decode(_ bytes: [UInt8], with decoder: TextDecoder, chunks: [Int], room: Int) -> Outcome {
  var decoder = decoder
  var output: [UInt8] = []
  var replacements: [[Int]] = []
  do {
    try inChunks(bytes, of: chunks, room: room) { input, buffer, isFinal in
      let step = try decoder.decode(input, into: buffer, isFinal: isFinal)
      replacements += decoder.replacements.map { [output.count + $0.outputOffset, $0.inputOffset] }
      output += buffer[..<step.written]
      return step.consumed
    }
  } catch {
    let error = error as! TextCodingError
    return .error(error.code, at: error.byteOffset, error.reason)
  }
  return .text(output, decoder.encoding, markWasFound: decoder.markWasFound, replacements: replacements)
}

/// Encodes in the same manner.
func encode(
  _ text: [UInt8], _ encoding: TextEncoding, mark: Bool = false, onError mode: CodingErrorMode = .fail,
  chunks: [Int] = [.max], room: Int = 1 << 16
) -> Outcome {
  var encoder = TextEncoder(encoding, mark: mark, onError: mode)
  var output: [UInt8] = []
  do {
    try inChunks(text, of: chunks, room: room) { input, buffer, isFinal in
      let step = try encoder.encode(input, into: buffer, isFinal: isFinal)
      output += buffer[..<step.written]
      return step.consumed
    }
  } catch {
    let error = error as! TextCodingError
    return .error(error.code, at: error.byteOffset, error.reason)
  }
  return .text(output, encoding, markWasFound: mark, replacements: [])
}

/// Passes a text in chunks, repeating a chunk until it's consumed.
///
/// Calls must not change the bytes after the output. The input buffer has the exact length, so a sanitizer detects
/// reading past its end.
private func inChunks(
  _ bytes: [UInt8], of sizes: [Int], room: Int,
  _ body: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer, Bool) throws -> Int
) throws {
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: room + 64, alignment: 1)
  defer { memory.deallocate() }
  let buffer = UnsafeMutableRawBufferPointer(rebasing: memory[..<room])
  let behind = UnsafeMutableRawBufferPointer(rebasing: memory[room...])
  var rest = bytes[...]
  var chunk = 0
  repeat {
    let part = rest.prefix(sizes[min(chunk, sizes.count - 1)])
    rest = rest.dropFirst(part.count)
    chunk += 1
    let input = UnsafeMutableRawBufferPointer.allocate(byteCount: part.count, alignment: 1)
    defer { input.deallocate() }
    input.copyBytes(from: part)
    var done = 0
    repeat {
      behind.initializeMemory(as: UInt8.self, repeating: 0xA5)
      done += try body(UnsafeRawBufferPointer(rebasing: input[done...]), buffer, rest.isEmpty)
      precondition(behind.allSatisfy { $0 == 0xA5 }, "something was written behind the output")
    } while done < part.count
  } while !rest.isEmpty
}

/// Returns the little-endian bytes of UTF-16 units.
func littleEnd(_ units: some Sequence<UInt16>) -> [UInt8] {
  var bytes: [UInt8] = []
  for unit in units {
    bytes.append(UInt8(unit & 0xFF))
    bytes.append(UInt8(unit >> 8))
  }
  return bytes
}

/// Swaps each pair of bytes, and keeps a remaining byte at the end.
func swapped(_ bytes: [UInt8]) -> [UInt8] {
  var result = bytes
  for index in stride(from: 0, to: bytes.count - 1, by: 2) { result.swapAt(index, index + 1) }
  return result
}

/// All Unicode scalars in order.
let everyScalar: String = {
  var scalars = String.UnicodeScalarView()
  for value in 0...0x10FFFF as ClosedRange<UInt32> {
    if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
  }
  return String(scalars)
}()
