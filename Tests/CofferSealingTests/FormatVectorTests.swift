import CofferSealing
import Testing

/// Keys, seals and sums of FORMAT.md. Slots, frames and key lines have suites of their own.
@Suite(.enabled(if: FormatVectors.areThere, Corpora.areAbsent)) struct FormatVectorTests {
  private let vectors: FormatVectors

  init() throws {
    vectors = try FormatVectors.load()
  }

  @Test func everyLabelGivesItsKeyUnderTheRootKey() throws {
    #expect(vectors.rkKeys.count == 5)
    #expect(try vectors.root.commitment() == vectors.rkKeys["commit"]?.bytes)
    for label in [RootKey.Label.commit, .keyring, .headerMAC, .state, .anchor] {
      let name = label.rawValue.dropFirst("coffer1/".count)
      #expect(try vectors.root.derive(label).bytes == vectors.rkKeys[String(name)]?.bytes)
    }
  }

  @Test func everyLabelGivesItsKeyUnderTheEpochKey() throws {
    let keys = try vectors.epochKeys
    #expect(keys.body.bytes == vectors.ekKeys["body"]?.bytes)
    #expect(keys.head.bytes == vectors.ekKeys["head"]?.bytes)
    #expect(keys.name.bytes == vectors.ekKeys["name"]?.bytes)
    #expect(keys.lookup.bytes == vectors.ekKeys["lookup"]?.bytes)
    #expect(keys.set.bytes == vectors.ekKeys["set"]?.bytes)
    #expect(vectors.ekKeys.count == 5)
  }

  @Test func partsAreEncodedSoThatNoTwoListsLookAlike() {
    for vector in vectors.pae {
      let encoding = vector.parts.reduce(PreAuthenticationEncoding()) { $0.adding($1.bytes) }
      #expect(encoding.bytes == vector.out.bytes)
    }
    let typed = PreAuthenticationEncoding("coffer1/slot").adding(vectors.storeID.bytes).adding(UInt32(1))
    #expect(typed.bytes == vectors.pae.last?.out.bytes)
  }

  @Test func bodiesOpenToTheirFrames() throws {
    let key = try XAESKey(vectors.epochKeys.body)
    for record in vectors.records {
      let frame = try key.open(record.body.blob, authenticating: record.body.aad.bytes)
      #expect(frame == record.body.frame.bytes)
      let range = try frame.withUnsafeBytes {
        try Frame.dataRange(of: $0, minimum: Frame.standardMinimum, isPadded: true)
      }
      #expect(Array(frame[range]) == Array(record.text.utf8))
    }
  }

  @Test func bodiesAreSealedToTheirBytes() throws {
    let key = try XAESKey(vectors.epochKeys.body)
    for record in vectors.records {
      let blob = try key.seal(
        record.body.frame.bytes, authenticating: record.body.aad.bytes, nonce: record.body.nonce.bytes)
      #expect(blob == record.body.blob)
    }
  }

  @Test func headsOpenToTheirFrames() throws {
    let key = try XAESKey(vectors.epochKeys.head)
    for record in vectors.records {
      #expect(try key.open(record.head.blob, authenticating: record.head.aad.bytes) == record.head.frame.bytes)
    }
  }

  @Test func aHeadDoesNotOpenAsThatOfAnotherRow() throws {
    let key = try XAESKey(vectors.epochKeys.head)
    let (one, other) = (vectors.records[0].head, vectors.records[1].head)
    #expect(
      code { () throws(SealingError) in try key.open(one.blob, authenticating: other.aad.bytes) } == .notAuthentic)
  }

  @Test func aBodyDoesNotOpenUnderTheKeyOfHeads() throws {
    let key = try XAESKey(vectors.epochKeys.head)
    let body = vectors.records[0].body
    #expect(
      code { () throws(SealingError) in try key.open(body.blob, authenticating: body.aad.bytes) } == .notAuthentic)
  }

  @Test func collectionsAndStateOpen() throws {
    let collection = vectors.collection
    let name = try XAESKey(vectors.epochKeys.name)
    #expect(
      try name.open(collection.sealed.bytes, authenticating: collection.aad.bytes) == collection.frame.bytes)
    let state = try XAESKey(vectors.root.derive(.state))
    let binding = PreAuthenticationEncoding("coffer1/state").adding(vectors.storeID.bytes).bytes
    #expect(binding == vectors.state.aad.bytes)
    #expect(try state.open(vectors.state.sealed.bytes, authenticating: binding) == vectors.state.plain.bytes)
  }

  @Test func elementsSumToTheSetHash() throws {
    let key = try HMACKey(vectors.epochKeys.set)
    var sum = SetHash()
    for record in vectors.records {
      let code = try key.authenticate(record.element.bytes)
      #expect(code == record.h.bytes)
      sum.add(SetHash(code))
    }
    #expect(sum.bytes == vectors.accOfThreeRecords.bytes)
    let code = try key.authenticate(vectors.collection.element.bytes)
    #expect(code == vectors.collection.h.bytes)
    sum.add(SetHash(code))
    #expect(sum.bytes == vectors.state.accWithCollection.bytes)
    sum.subtract(SetHash(code))
    #expect(sum.bytes == vectors.accOfThreeRecords.bytes)
  }

  @Test func externalKeysAreFoundByTheirCode() throws {
    let key = try HMACKey(vectors.epochKeys.lookup)
    var found = 0
    for record in vectors.records {
      guard let external = record.externalKey, let lookup = record.lookup else { continue }
      let message = PreAuthenticationEncoding("coffer1/lookup").adding(record.coll).adding(external.bytes)
      #expect(try Array(key.authenticate(message.bytes)[..<16]) == lookup.bytes)
      found += 1
    }
    #expect(found == 2)
  }

  @Test func headerCodeCoversEverySlot() throws {
    let key = try HMACKey(vectors.root.derive(.headerMAC))
    var input = PreAuthenticationEncoding("coffer1/header").adding(UInt32(1)).adding(vectors.storeID.bytes)
      .adding(UInt64(3)).adding(UInt64(0)).adding(UInt64(0)).adding(UInt32(0)).adding(UInt64(2))
      .adding(try vectors.root.commitment()).adding(vectors.keyring.sealed.bytes)
    for slot in vectors.slots where !slot.label.isEmpty { input = input.adding(slot.record.headerPart) }
    #expect(input.bytes == vectors.header.macInput.bytes)
    #expect(try key.authenticate(input.bytes) == vectors.header.mac.bytes)
  }

  @Test func anchorNamesTheState() throws {
    let code = try HMACKey(vectors.root.derive(.anchor)).authenticate(vectors.state.plain.bytes)
    let expected = try #require(vectors.anchor.split(separator: ":").last)
    #expect(Array(code[..<16]) == Hex(expected).bytes)
  }

  @Test func pinNamesTheStoreAndItsRootKey() throws {
    let expected = try #require(vectors.pin.split(separator: "-").last)
    #expect(try vectors.storeID.bytes + vectors.root.commitment() == Hex(expected).bytes)
  }
}

extension SetHash {
  init(_ bytes: [UInt8]) {
    self = bytes.withUnsafeBytes { SetHash(bytes: $0) }
  }
}
