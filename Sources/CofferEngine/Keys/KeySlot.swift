internal import CofferRecords
internal import CofferSealing

/// A key that opens a store, with the details that are visible without a key.
public struct KeySlot: Sendable, Hashable, Identifiable {
  /// The kind of secret that opens a slot.
  public enum Kind: Sendable, Hashable {
    /// A passphrase, derived with scrypt.
    case passphrase
    /// The 32 random bytes of a key file.
    case keyFile
    /// An X25519 public key, whose identity opens the slot.
    case recipient
    /// A named provider from the app, such as a TPM or a secret service.
    case external(provider: String)
    /// A kind from a later version. This version keeps the slot unchanged but can't use it.
    case unknown(UInt32)
  }

  /// The slot's number in the file, starting at 1.
  public let slot: Int
  /// The kind of secret that opens the slot.
  public let kind: Kind
  /// The label given with the key. Don't trust it, because anyone who can write the file can choose it.
  public let label: String
  /// Other public details, such as a passphrase's cost or a recipient's line.
  public let detail: String
  /// The 16 hex digits that identify a key file or recipient, or `nil` for other kinds. A key file's fingerprint
  /// differs between stores, but a recipient's fingerprint doesn't.
  public let fingerprint: String?
  /// A Boolean value that indicates whether this session was opened with the slot.
  public let opened: Bool

  public var id: Int { slot }
}

extension KeySlot {
  package init(_ record: KeySlotRecord, isTest: Bool, opened: Bool) throws(StoreError) {
    slot = Int(record.slot)
    label = record.label
    self.opened = opened
    let parameters = try? record.checkedParameters(isTest: isTest, isRaised: true)
    fingerprint = try translatingErrors { () throws(SealingError) in
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
      detail = try translatingErrors { () throws(SealingError) in try KeyLine.recipientLine(recipient, isTest: isTest) }
    case .external(_, let provider, _):
      kind = .external(provider: provider)
      detail = provider
    case nil:
      kind = .unknown(record.kind)
      detail = "unknown kind or parameters out of bounds"
    }
  }
}
