import CofferSealing
import Testing

/// Tests the keys, seals and sums in FORMAT.md. Other suites test slots, frames and key lines.
@Suite struct FormatVectorTests {
  private let vectors: FormatVectors

  init() throws {
    vectors = try FormatVectors.load()
  }

  @Test func derivesKeysFromRootKey() throws {
    #expect(vectors.rkKeys.count == 5)
    for label in [RootKey.Label.keyring, .headerMAC, .state, .anchor, .replicas] {
      let name = label.rawValue.dropFirst("coffer3/".count)
      #expect(try vectors.root.derive(label).bytes == vectors.rkKeys[String(name)]?.bytes)
    }
  }

  @Test func commitmentsCoverGenerationAndPhase() throws {
    #expect(vectors.commitments.count == 5)
    for vector in vectors.commitments {
      let root = RootKey(secret: vectors.root.secret, storeID: vectors.storeID.bytes, generation: vector.generation)
      #expect(try root.commitment(phase: vector.phase) == vector.commitment.bytes)
    }
  }

  @Test func derivesKeysFromEpochKey() throws {
    let keys = try vectors.epochKeys
    #expect(keys.body.bytes == vectors.ekKeys["body"]?.bytes)
    #expect(keys.head.bytes == vectors.ekKeys["head"]?.bytes)
    #expect(keys.name.bytes == vectors.ekKeys["name"]?.bytes)
    #expect(keys.lookup.bytes == vectors.ekKeys["lookup"]?.bytes)
    #expect(keys.set.bytes == vectors.ekKeys["set"]?.bytes)
    #expect(vectors.ekKeys.count == 5)
  }

  @Test func encodesPartsUnambiguously() {
    for vector in vectors.pae {
      let encoding = vector.parts.reduce(PreAuthenticationEncoding()) { $0.adding($1.bytes) }
      #expect(encoding.bytes == vector.out.bytes)
    }
    let typed = PreAuthenticationEncoding("coffer3/slot").adding(vectors.storeID.bytes).adding(UInt32(1))
    #expect(typed.bytes == vectors.pae.last?.out.bytes)
  }

  @Test func opensBodies() throws {
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

  @Test func sealsBodies() throws {
    let key = try XAESKey(vectors.epochKeys.body)
    for record in vectors.records {
      let blob = try key.seal(
        record.body.frame.bytes, authenticating: record.body.aad.bytes, nonce: record.body.nonce.bytes)
      #expect(blob == record.body.blob)
    }
  }

  @Test func opensHeads() throws {
    let key = try XAESKey(vectors.epochKeys.head)
    for record in vectors.records {
      #expect(try key.open(record.head.blob, authenticating: record.head.aad.bytes) == record.head.frame.bytes)
    }
  }

  @Test func rejectsHeadOfOtherRow() throws {
    let key = try XAESKey(vectors.epochKeys.head)
    let (one, other) = (vectors.records[0].head, vectors.records[1].head)
    #expect(
      code { () throws(SealingError) in try key.open(one.blob, authenticating: other.aad.bytes) } == .notAuthentic)
  }

  @Test func rejectsBodyUnderHeadKey() throws {
    let key = try XAESKey(vectors.epochKeys.head)
    let body = vectors.records[0].body
    #expect(
      code { () throws(SealingError) in try key.open(body.blob, authenticating: body.aad.bytes) } == .notAuthentic)
  }

  @Test func opensCollectionsAndState() throws {
    let collection = vectors.collection
    let name = try XAESKey(vectors.epochKeys.name)
    #expect(
      try name.open(collection.sealed.bytes, authenticating: collection.aad.bytes) == collection.frame.bytes)
    let deletion = vectors.deletion
    #expect(try name.open(deletion.sealed.bytes, authenticating: deletion.aad.bytes) == deletion.frame.bytes)
    let state = try XAESKey(vectors.root.derive(.state))
    let binding = PreAuthenticationEncoding("coffer3/state").adding(vectors.storeID.bytes).bytes
    #expect(binding == vectors.state.aad.bytes)
    #expect(try state.open(vectors.state.sealed.bytes, authenticating: binding) == vectors.state.plain.bytes)
    #expect(Array(vectors.state.plain.bytes[40..<40 + SetHash.byteCount]) == vectors.state.accWithDeletion.bytes)
  }

  @Test func opensRowsOfAttachments() throws {
    let name = try XAESKey(vectors.epochKeys.name)
    let (set, summer) = (try HMACKey(vectors.epochKeys.set), try SetSummer())
    for attachment in vectors.attachments {
      #expect(
        try name.open(attachment.sealed.bytes, authenticating: attachment.aad.bytes) == attachment.frame.bytes)
      let range = try attachment.frame.bytes.withUnsafeBytes { frame in
        try Frame.dataRange(of: frame, minimum: Frame.standardMinimum, isPadded: attachment.padded)
      }
      #expect(Array(attachment.frame.bytes[range]) == attachment.data.bytes)
      let element = try set.element(of: attachment.element.bytes)
      #expect(element == SetElement(attachment.h.bytes))
      #expect(try sha256(summer.lanes(of: element)) == attachment.lanesSHA256.bytes)
    }
  }

  /// An empty content has one chunk, and padding ends in the last one.
  @Test func opensChunksOfAttachments() throws {
    for attachment in vectors.attachments {
      #expect(attachment.size == (attachment.padded ? Frame.padme(attachment.length) : attachment.length))
      var content: [UInt8] = []
      for (index, chunk) in attachment.chunks.enumerated() {
        let key = try #require(attachment.keys.last { $0.first <= index })
        let plain = try XAESKey(Secret(key.key.bytes)).open(chunk.ct.bytes, authenticating: chunk.aad.bytes)
        #expect(try sha256(plain) == chunk.plainSHA256.bytes)
        #expect(index == attachment.chunks.count - 1 || plain.count == attachment.chunkSize)
        content += plain
      }
      #expect(content.count == attachment.size && content[attachment.length...].allSatisfy { $0 == 0 })
      #expect(try sha256(Array(content[..<attachment.length])) == attachment.sha256.bytes)
    }
    #expect(vectors.attachments.map(\.length) == [0, 1, 4097, 10_000])
  }

  @Test func sumsElementsToSetHash() throws {
    let key = try HMACKey(vectors.epochKeys.set)
    let summer = try SetSummer()
    var sum = SetHash()
    for record in vectors.records {
      let element = try key.element(of: record.element.bytes)
      #expect(element == SetElement(record.h.bytes))
      #expect(try sha256(summer.lanes(of: element)) == record.lanesSHA256.bytes)
      try summer.add(element, to: &sum)
    }
    #expect(sum.bytes == vectors.accOfThreeRecords.bytes)
    let collection = try key.element(of: vectors.collection.element.bytes)
    #expect(collection == SetElement(vectors.collection.h.bytes))
    #expect(try sha256(summer.lanes(of: collection)) == vectors.collection.lanesSHA256.bytes)
    try summer.add(collection, to: &sum)
    #expect(sum.bytes == vectors.accWithCollection.bytes)
    let deletion = try key.element(of: vectors.deletion.element.bytes)
    try summer.add(deletion, to: &sum)
    #expect(sum.bytes == vectors.state.accWithDeletion.bytes)
    try summer.subtract(deletion, from: &sum)
    try summer.subtract(collection, from: &sum)
    #expect(sum.bytes == vectors.accOfThreeRecords.bytes)
  }

  @Test func findsExternalKeysByCode() throws {
    let key = try HMACKey(vectors.epochKeys.lookup)
    var found = 0
    for record in vectors.records {
      guard let external = record.externalKey, let lookup = record.lookup else { continue }
      let message = PreAuthenticationEncoding("coffer3/lookup").adding(record.coll).adding(external.bytes)
      #expect(try Array(key.authenticate(message.bytes)[..<16]) == lookup.bytes)
      found += 1
    }
    #expect(found == 2)
  }

  @Test func headerCodeCoversSlots() throws {
    let key = try HMACKey(vectors.root.derive(.headerMAC))
    let header = vectors.header
    var input = PreAuthenticationEncoding("coffer3/header").adding(UInt32(3)).adding(vectors.storeID.bytes)
      .adding(UInt64(3)).adding(UInt64(0)).adding(UInt64(0)).adding(UInt32(0)).adding(header.generation)
      .adding(header.phase).adding(try vectors.root.commitment(phase: header.phase))
      .adding(vectors.keyring.sealed.bytes)
    for slot in vectors.slots where !slot.label.isEmpty { input = input.adding(slot.record.headerPart) }
    #expect(input.bytes == header.macInput.bytes)
    #expect(try key.authenticate(input.bytes) == header.mac.bytes)
  }

  @Test func anchorContainsState() throws {
    let mark = try HMACKey(vectors.root.derive(.anchor)).authenticate(vectors.state.plain.bytes)
    #expect(mark == vectors.mark.bytes)
    let fields = vectors.anchor.split(separator: ":")
    try #require(fields.count == 7 && fields[0] == "coffer3")
    let header = vectors.header
    #expect(Hex(fields[1]).bytes == vectors.storeID.bytes)
    #expect(fields[2] == "\(header.generation)" && fields[3] == "\(header.phase)" && fields[4] == "9")
    #expect(try Hex(fields[5]).bytes == vectors.root.commitment(phase: header.phase))
    #expect(Hex(fields[6]).bytes == mark)
  }

  @Test func pinCoversStoreRootKeyAndPhase() throws {
    let header = vectors.header
    var expected = ByteBuilder()
    expected.append(bytes: vectors.storeID.bytes)
    expected.append(header.generation)
    expected.append(header.phase)
    expected.append(bytes: try vectors.root.commitment(phase: header.phase))
    #expect(vectors.pin.hasPrefix("coffer-pin-3-"))
    #expect(Hex(vectors.pin.dropFirst("coffer-pin-3-".count)).bytes == expected.bytes)
  }
}
