// CofferSealingTests: tests CofferSealing with public vectors and FORMAT.md's vectors.
//
// Does: checks published vectors of every primitive, the keys and seals in Fixtures/format-3/primitives.json, error
//       codes of invalid input, and the protection of secrets.
// Knows: the package interface of CofferSealing, and the corpora's folder (COFFER_CORPORA or ../shared/corpora).
// Does not know: rows, stores, SQL. Tests with a missing corpus are reported as skipped.
//
// First file to read: FormatVectors.swift. COFFER_LONG=1 adds tests that take minutes.

import CofferSealing
import CofferTestSupport
import Foundation
import Testing

let isLongRun = ProcessInfo.processInfo.environment["COFFER_LONG"] == "1"

extension Corpora {
  static func json<T: Decodable>(_ path: String, as type: T.Type = T.self) throws -> T {
    try JSONDecoder().decode(type, from: Data(bytes(path)))
  }

  static func lines(_ path: String) throws -> [Substring] {
    String(decoding: try bytes(path), as: UTF8.self).split(whereSeparator: \.isNewline)
  }
}

/// Bytes in hexadecimal form in a vector file.
struct Hex: Decodable, ExpressibleByStringLiteral {
  let bytes: [UInt8]

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  init(_ text: some StringProtocol) {
    let digits = text.utf8.map { UInt8($0 > 0x39 ? ($0 | 0x20) - 0x61 + 10 : $0 - 0x30) }
    bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  init(stringLiteral text: String) {
    self.init(text)
  }

  init(from decoder: any Decoder) throws {
    self.init(try decoder.singleValueContainer().decode(String.self))
  }
}

extension Secret {
  convenience init(_ bytes: [UInt8]) {
    self.init(byteCount: bytes.count) { memory in
      memory.copyBytes(from: bytes)
      return bytes.count
    }
  }

  convenience init(_ text: String) {
    self.init(Array(text.utf8))
  }

  var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}

/// Returns the error code that `body` throws, or `nil` if it doesn't throw.
func code<T>(_ body: () throws(SealingError) -> T) -> SealingError.Code? {
  do throws(SealingError) {
    _ = try body()
    return nil
  } catch {
    return error.code
  }
}
