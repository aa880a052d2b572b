import Testing

@testable import Coffer

/// The store's own check of UTF-8 against the standard library's.
struct TextValidityTests {
  private func isSame(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { TextValidity.isUTF8($0) } == (String(validating: bytes, as: UTF8.self) != nil)
  }

  @Test func everyPairOfBytesIsJudgedAlike() {
    var different: [[UInt8]] = []
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max where !isSame([first, second]) { different.append([first, second]) }
    }
    #expect(different == [])
  }

  @Test func sequencesAtEveryBoundaryAreJudgedAlike() {
    let edges: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    var different: [[UInt8]] = []
    for lead in UInt8(0xC0)...0xFF {
      for second in edges {
        for third in edges {
          for fourth in edges {
            for bytes in [[lead, second, third], [lead, second, third, fourth]] where !isSame(bytes) {
              different.append(bytes)
            }
          }
        }
      }
    }
    #expect(different == [])
  }

  @Test func oneWrongByteIsSeenAtEveryPlace() {
    for count in [1, 7, 8, 9, 31, 32, 33, 40, 64, 71] {
      for place in 0..<count {
        var bytes = [UInt8](repeating: 0x61, count: count)
        #expect(bytes.withUnsafeBytes { TextValidity.isUTF8($0) })
        bytes[place] = 0xFF
        #expect(!bytes.withUnsafeBytes { TextValidity.isUTF8($0) }, "\(place) of \(count)")
      }
    }
  }

  @Test func textsCutShortAreJudgedAlike() {
    let bytes = Array("ascii that is longer than eight bytes — ä 長い \u{1F469}\u{200D}\u{1F467} \u{10FFFF} end".utf8)
    for start in bytes.indices {
      for end in start...bytes.count { #expect(isSame(Array(bytes[start..<end]))) }
    }
  }
}
