internal import CofferRecords
internal import CofferSealing

/// One of the keys that open a store, as anyone can see it in the file.
public struct KeySlot: Sendable, Hashable, Identifiable {
  public enum Kind: Sendable, Hashable {
    case passphrase
    case keyFile
    case recipient
    case external(provider: String)
    /// Made by a later version: unusable here, kept as it is.
    case unknown(UInt32)
  }

  public let slot: Int
  public let kind: Kind
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
