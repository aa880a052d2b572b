import CofferSealing
import Testing

/// Tests an attacker who knows K_set and replaces every document by a forged head without changing the set's sum.
///
/// Uses the same tree, documents and forged heads for a plain sum and for the set hash.
@Suite struct KTreeTests {
  /// The number of forged heads, 50 percent more than the 16 for a replacement, as on the format page.
  private static let headCount = 24

  private let key: HMACKey
  private let summer: SetSummer

  init() throws {
    key = try HMACKey(Secret([UInt8](repeating: 7, count: 32)))
    summer = try SetSummer()
  }

  /// Returns a document's element. Head 0 is genuine, and the other heads are forged.
  private func element(_ document: Int, head: Int) throws -> SetElement {
    try key.element(of: Array("document \(document), head \(head)".utf8))
  }

  private func code(_ document: Int, head: Int) throws -> [UInt8] {
    try key.authenticate(Array("document \(document), head \(head)".utf8))
  }

  private func word(_ bytes: [UInt8]) -> UInt64 {
    (0..<8).reduce(0) { $0 | UInt64(bytes[$1]) << (8 * UInt64($1)) }
  }

  /// Returns the differences between each document's forged heads and its genuine head.
  private func differences(
    _ tree: KTree, of value: (Int, Int) throws -> UInt64, subtracting: (UInt64, UInt64) -> UInt64
  ) throws -> [[UInt64]] {
    try (0..<tree.listCount).map { document in
      let truth = try value(document, 0)
      return try (1...Self.headCount).map { subtracting(try value(document, $0), truth) }
    }
  }

  @Test(arguments: [32, 48, 64])
  func treeBreaksPlainSum(_ width: Int) throws {
    let mask = UInt64.max >> (64 - width)
    let tree = KTree(width: width) { ($0 &+ $1) & mask }
    func value(_ document: Int, _ head: Int) throws -> UInt64 { word(try code(document, head: head)) & mask }
    let found = try tree.zeroSums(of: differences(tree, of: value) { ($0 &- $1) & mask })
    #expect(!found.isEmpty)
    let sum = try (0..<tree.listCount).reduce(0) { ($0 &+ (try value($1, 0))) & mask }
    for numbers in found {
      let forged = try numbers.enumerated().reduce(0) { ($0 &+ (try value($1.offset, $1.element + 1))) & mask }
      #expect(forged == sum)
    }
  }

  @Test(arguments: [32, 48])
  func setHashWithstandsTree(_ width: Int) throws {
    // The set hash is 64 times as wide as a plain sum of 256 bits. The unit is bytes.
    let cut = 64 * width / 8
    let tree = KTree(width: width, add: Self.adding)
    func value(_ document: Int, _ head: Int) throws -> UInt64 {
      word(try summer.lanes(of: element(document, head: head))) & UInt64.max >> (64 - width)
    }
    let found = try tree.zeroSums(of: differences(tree, of: value) { Self.adding($0, Self.negated($1)) })
    #expect(!found.isEmpty)
    var whole = SetHash()
    for document in 0..<tree.listCount { try summer.add(element(document, head: 0), to: &whole) }
    for numbers in found {
      var forged = SetHash()
      for (document, number) in numbers.enumerated() {
        try summer.add(element(document, head: number + 1), to: &forged)
      }
      let (left, right) = (forged.bytes, whole.bytes)
      // The lanes in the tree's width are equal.
      #expect(left[..<(width / 8)] == right[..<(width / 8)])
      // The other lanes differ, including the first few.
      #expect(left[..<cut] != right[..<cut])
      #expect(left[(width / 8)..<16] != right[(width / 8)..<16])
    }
  }

  /// Adds four lanes. Adds the highest bits separately to prevent carries between lanes.
  private static func adding(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let highest: UInt64 = 0x8000_8000_8000_8000
    return ((left & ~highest) &+ (right & ~highest)) ^ ((left ^ right) & highest)
  }

  private static func negated(_ value: UInt64) -> UInt64 {
    adding(~value, 0x0001_0001_0001_0001)
  }
}
