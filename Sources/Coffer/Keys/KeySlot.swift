internal import CofferRecords
internal import CofferSealing

/// One of the keys that open a store, as anyone can see it in the file.
public struct KeySlot: Sendable, Hashable, Identifiable {
  /// The kind of secret that opens a slot.
  public enum Kind: Sendable, Hashable {
    /// A passphrase, through scrypt.
    case passphrase
    /// The 32 random bytes of a key file.
    case keyFile
    /// An X25519 public key; the identity opens the slot.
    case recipient
    /// A provider of the app's, such as a TPM or a secret service, by its name.
    case external(provider: String)
    /// Made by a later version: unusable here, kept as it is.
    case unknown(UInt32)
  }

  /// The slot's number in the file, 1 or more.
  public let slot: Int
  /// The kind of secret that opens it.
  public let kind: Kind
  /// The label that was given with the key; proves nothing, since a writer of the file chooses it.
  public let label: String
  /// Other public details: the cost of a passphrase, the line of a recipient.
  public let detail: String
  /// 16 hex digits that tell key files and recipients apart; nil for other kinds. A key file has another fingerprint in
  /// each store, a recipient the same one in all.
  public let fingerprint: String?
  /// Whether this session was opened with it.
  public let opened: Bool

  public var id: Int { slot }
}

extension KeySlot {
  init(_ record: KeySlotRecord, isTest: Bool, opened: Bool) throws(StoreError) {
    slot = Int(record.slot)
    label = record.label
    self.opened = opened
    let parameters = try? record.checkedParameters(isTest: isTest, isRaised: true)
    fingerprint = try sealing { () throws(SealingError) in
      try parameters?.fingerprint().map { Hexadecimal.text($0) }
    }
    switch parameters {
    case .passphrase(let cost, _):
      kind = .passphrase
      detail = "scrypt 2^\(cost.logN), r \(cost.r), p \(cost.p)"
    case .keyFile:
      kind = .keyFile
      detail = ""
    case .recipient(_, let recipient):
      kind = .recipient
      detail = try sealing { () throws(SealingError) in try KeyLine.recipientLine(recipient, isTest: isTest) }
    case .external(_, let provider, _):
      kind = .external(provider: provider)
      detail = provider
    case nil:
      kind = .unknown(record.kind)
      detail = "unknown kind or parameters out of bounds"
    }
  }
}
