package import CofferDocuments
package import CofferSealing

/// An unlocked store's secrets, which are the root key, the header verified with it, and the epochs' keys. Immutable,
/// so a new object replaces this object when the header changes.
package final class SessionKeys: Sendable {
  package let root: RootKey
  package let header: StoreHeader
  /// The slots verified with the header.
  package let slots: [KeySlotRecord]
  package let keyring: Keyring
  package let titles: TitleMode
  package let isPadded: Bool
  package let stateKey: Secret
  package let anchorKey: Secret
  package let headerMACKey: Secret
  /// Whether the header and slots are authentic, which is `false` only during a salvage.
  package let isHeaderProved: Bool

  /// Verifies the header with the root key, then opens the keyring (FORMAT, "Opening").
  ///
  /// - Parameter isSalvaging: Whether to continue if the header MAC doesn't match. The keyring's seal authenticates the
  ///   keyring, and its keys authenticate each document.
  /// - Throws: `damaged` if the header MAC or the keyring doesn't match, or the title mode is unknown.
  package init(root: RootKey, header: StoreHeader, slots: [KeySlotRecord], isSalvaging: Bool = false) throws(StoreError)
  {
    self.root = root
    self.header = header
    self.slots = slots
    do throws(SealingError) {
      headerMACKey = try root.derive(.headerMAC)
      stateKey = try root.derive(.state)
      anchorKey = try root.derive(.anchor)
      let mac = try HMACKey(headerMACKey).authenticate(header.authenticatedBytes(slots: slots))
      isHeaderProved = ConstantTime.equal(mac, header.mac)
      guard isHeaderProved || isSalvaging else {
        throw SealingError(.notAuthentic, "the header or the slots were changed after they were written")
      }
      keyring = try Keyring.open(header.keyring, under: root, phase: header.phase)
    } catch {
      throw StoreError(error)
    }
    guard let titles = TitleMode(rawValue: header.titles) ?? (isSalvaging ? .sealed : nil) else {
      throw .damagedStore("unknown title mode")
    }
    self.titles = titles
    isPadded = header.isPadded
  }

  package var storeID: [UInt8] { root.storeID }

  /// `PAE("coffer3/state", store_id)`
  package var stateBinding: [UInt8] {
    PreAuthenticationEncoding("coffer3/state").adding(storeID).bytes
  }
}
