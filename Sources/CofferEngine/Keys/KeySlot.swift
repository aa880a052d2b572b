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
    /// A named provider from the app, such as a TPM or a secret service. The name is empty if the slot is damaged.
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
  /// Other public details, such as a passphrase's cost, a recipient's line, or why nobody can open the slot.
  public let detail: String
  /// The reason why nobody can open the slot, or `nil` if no reason is visible without its secret.
  ///
  /// Other slots open the store. A rekey drops the slot with ``RekeyOptions/dropsOtherSlots``.
  public let fault: String?
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
    let parameters = record.usableParameters(isTest: isTest, isRaised: true)
    (fault, fingerprint) = try translatingErrors { () throws(SealingError) in
      (try record.fault(isTest: isTest), try parameters?.fingerprint().map { Hexadecimal.text($0) })
    }
    kind = Kind(record.kind, parameters)
    let words = try Self.detail(parameters, isTest: isTest)
    detail = fault.map { "nobody can open it: \($0)" } ?? words
  }

  private static func detail(_ parameters: SlotParameters?, isTest: Bool) throws(StoreError) -> String {
    switch parameters {
    case .passphrase(let cost, _): "scrypt 2^\(cost.logN), r \(cost.r), p \(cost.p)"
    case .keyFile: ""
    case .recipient(_, let recipient):
      try translatingErrors { () throws(SealingError) in try KeyLine.recipientLine(recipient, isTest: isTest) }
    case .external(_, let provider, _): provider
    case nil: "unknown kind"
    }
  }

  /// The slot's number, with its fingerprint and label.
  ///
  /// The label comes last, because a forged label could be mistaken for a fingerprint.
  var name: String {
    "\(slot)" + (fingerprint.map { ", fingerprint \($0)" } ?? "") + (label.isEmpty ? "" : " (\(label))")
  }
}

extension KeySlot.Kind {
  /// - Parameter parameters: The slot's parameters, or `nil` if they are out of their bounds.
  fileprivate init(_ number: UInt32, _ parameters: SlotParameters?) {
    switch number {
    case 1: self = .passphrase
    case 2: self = .keyFile
    case 3: self = .recipient
    case 4:
      if case .external(_, let provider, _)? = parameters {
        self = .external(provider: provider)
      } else {
        self = .external(provider: "")
      }
    default: self = .unknown(number)
    }
  }

  /// The kind in words.
  var name: String {
    switch self {
    case .passphrase: "passphrase"
    case .keyFile: "key file"
    case .recipient: "recipient"
    case .external: "provider"
    case .unknown: "unknown kind"
    }
  }
}

extension [KeySlotRecord] {
  /// Returns the slots that nobody can open, as far as it's visible without their secrets.
  package func unusable(isTest: Bool) throws(StoreError) -> [KeySlot] {
    var found: [KeySlot] = []
    for record in self {
      let slot = try KeySlot(record, isTest: isTest, opened: false)
      if slot.fault != nil { found.append(slot) }
    }
    return found
  }
}

extension [KeySlot] {
  /// The sentence that names slots that nobody can open, each with its kind, label and fault.
  package var faults: String {
    map { slot in
      let label = slot.label.isEmpty ? "" : ", \(slot.label)"
      return "nobody can open slot \(slot.slot) (\(slot.kind.name)\(label)): \(slot.fault ?? "")"
    }.joined(separator: "; ")
  }
}
