package import CofferSealing

/// The file's header row (FORMAT, "Header" and "Header MAC").
package struct StoreHeader: Sendable, Equatable {
  package var format: UInt32
  package var storeID: [UInt8]
  package var incompatible: UInt64
  package var readOnlyCompatible: UInt64
  package var compatible: UInt64
  package var titles: UInt32
  package var rootGeneration: UInt64
  /// The keyring's version, which starts at 1 under a new root key and increases with every keyring change.
  package var phase: UInt64
  package var commitment: [UInt8]
  package var keyring: [UInt8]
  package var mac: [UInt8]

  package init(
    format: UInt32, storeID: [UInt8], incompatible: UInt64, readOnlyCompatible: UInt64, compatible: UInt64,
    titles: UInt32, rootGeneration: UInt64, phase: UInt64, commitment: [UInt8], keyring: [UInt8], mac: [UInt8]
  ) {
    self.format = format
    self.storeID = storeID
    self.incompatible = incompatible
    self.readOnlyCompatible = readOnlyCompatible
    self.compatible = compatible
    self.titles = titles
    self.rootGeneration = rootGeneration
    self.phase = phase
    self.commitment = commitment
    self.keyring = keyring
    self.mac = mac
  }

  /// Returns whether the keys are the same as in another header of the store. Features may differ, for example after
  /// adding the first index.
  package func hasSameKeys(as other: StoreHeader) -> Bool {
    storeID == other.storeID && titles == other.titles && rootGeneration == other.rootGeneration
      && phase == other.phase && commitment == other.commitment && keyring == other.keyring
  }

  package var isTest: Bool { StoreFormat.Incompatible(rawValue: incompatible).contains(.test) }
  package var hasAttachments: Bool { StoreFormat.Incompatible(rawValue: incompatible).contains(.attachments) }
  package var isPadded: Bool { StoreFormat.Incompatible(rawValue: incompatible).contains(.padded) }

  /// Returns the bytes that the header MAC covers, including the slots sorted by number.
  package func authenticatedBytes(slots: [KeySlotRecord]) -> [UInt8] {
    elements(slots).bytes
  }

  /// Returns the header's and slots' spare copy, which salvage reads (FORMAT, "Spare").
  package func spareCopy(slots: [KeySlotRecord]) -> [UInt8] {
    Array("coffer3/spare".utf8) + elements(slots).adding(mac).bytes
  }

  private func elements(_ slots: [KeySlotRecord]) -> PreAuthenticationEncoding {
    var encoding = PreAuthenticationEncoding("coffer3/header").adding(format).adding(storeID).adding(incompatible)
      .adding(readOnlyCompatible).adding(compatible).adding(titles).adding(rootGeneration).adding(phase)
      .adding(commitment).adding(keyring)
    for slot in slots.sorted(by: { $0.slot < $1.slot }) {
      encoding = encoding.adding(slot.headerPart)
    }
    return encoding
  }
}

extension StoreHeader {
  package func authenticate(_ slots: [KeySlotRecord], under key: Secret) throws(StoreError) -> [UInt8] {
    let bytes = authenticatedBytes(slots: slots)
    return try translatingErrors { () throws(SealingError) in try HMACKey(key).authenticate(bytes) }
  }
}
