package import CofferDocuments
package import CofferSealing

/// The secrets of an unlocked store: the root key, the header it was verified with, and the epochs' keys. Immutable:
/// when the header changes, a new object replaces this one.
package final class SessionKeys: Sendable {
  package let root: RootKey
  package let header: StoreHeader
  /// The slots that the header was verified with.
  package let slots: [KeySlotRecord]
  package let keyring: Keyring
  package let titles: TitleMode
  package let isPadded: Bool
  package let stateKey: Secret
  package let anchorKey: Secret
  package let headerMACKey: Secret
  /// False only during salvage of a store whose header or slots are not as they were written.
  package let isHeaderProved: Bool

  /// Verifies the header with the root key, then opens the keyring (FORMAT, "Opening").
  ///
  /// - Parameter isSalvaging: continues if the header MAC does not fit; the keyring's seal verifies the keyring, and
  ///   each document is verified with its keys.
  /// - Throws: `damaged` if the header MAC or the keyring does not fit, or titles hold another number.
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

  /// `PAE("coffer2/state", store_id)`
  package var stateBinding: [UInt8] {
    PreAuthenticationEncoding("coffer2/state").adding(storeID).bytes
  }
}
