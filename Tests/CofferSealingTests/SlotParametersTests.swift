import CofferSealing
import Testing

@Suite struct SlotParametersTests {
  private func refusal(kind: UInt32, _ bytes: [UInt8], isTest: Bool = false) -> SealingError.Code? {
    code { () throws(SealingError) in try SlotParameters(kind: kind, bytes: bytes, isTest: isTest) }
  }

  @Test func rejectsOtherLengths() {
    for (kind, count) in [(1, 19), (2, 24), (3, 64)] as [(UInt32, Int)] {
      for other in [0, 16, count - 1, count + 1, 4096] {
        #expect(refusal(kind: kind, [UInt8](repeating: 8, count: other)) == .parametersRefused)
      }
    }
  }

  @Test func rejectsCostOutOfBounds() {
    let salt = [UInt8](repeating: 0, count: 16)
    #expect(refusal(kind: 1, [31, 8, 1] + salt) == .parametersRefused)
    #expect(refusal(kind: 1, [10, 8, 1] + salt) == .parametersRefused)
    #expect(refusal(kind: 1, [17, 8, 1] + salt, isTest: true) == .parametersRefused)
    #expect(refusal(kind: 1, [17, 8, 1] + salt) == nil)
    #expect(refusal(kind: 1, [10, 8, 1] + salt, isTest: true) == nil)
  }

  @Test func rejectsProviderNameOutOfBounds() {
    let salt = [UInt8](repeating: 0, count: 16)
    func external(_ name: [UInt8], claimed: Int? = nil) -> [UInt8] {
      salt + [UInt8(claimed ?? name.count)] + name
    }
    for name in ["", "Provider", "a b", "a_b", "ä", String(repeating: "a", count: 33)] {
      #expect(refusal(kind: 4, external(Array(name.utf8))) == .parametersRefused, "\(name)")
    }
    #expect(refusal(kind: 4, external([0xFF])) == .parametersRefused)
    #expect(refusal(kind: 4, external(Array("name".utf8), claimed: 5)) == .parametersRefused)
    #expect(refusal(kind: 4, salt) == .parametersRefused)
    #expect(refusal(kind: 4, external(Array("a".utf8)) + [UInt8](repeating: 0, count: 4079)) == .parametersRefused)
    #expect(refusal(kind: 4, external(Array("a".utf8)) + [UInt8](repeating: 0, count: 4078)) == nil)
    #expect(refusal(kind: 4, external(Array("my-provider-2".utf8))) == nil)
  }

  @Test func ignoresUnknownKind() throws {
    for kind in [0, 5, 6, UInt32(Int32.max)] as [UInt32] {
      #expect(try SlotParameters(kind: kind, bytes: [1, 2, 3], isTest: false) == nil)
    }
  }

  @Test func roundTripsParameters() throws {
    let salt = Array(0..<16) as [UInt8]
    for parameters in [
      .passphrase(cost: .standard, salt: salt), .keyFile(salt: salt, fingerprint: Array(16..<24)),
      .recipient(ephemeral: salt + salt, recipient: Array((salt + salt).reversed())),
      .external(salt: salt, provider: "my-provider", blob: []), .external(salt: salt, provider: "p", blob: [0, 1]),
    ] as [SlotParameters] {
      #expect(try SlotParameters(kind: parameters.kind, bytes: parameters.bytes, isTest: false) == parameters)
    }
  }
}
