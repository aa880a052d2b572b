internal import CofferRecords
internal import CofferSealing

/// Finds the secret of each slot among the known secrets, to rewrap the slot.
struct SlotSecretSearch {
  let slots: [KeySlotRecord]
  let header: StoreHeader

  func targets(_ key: StoreKey) throws(StoreError) -> [UInt32: SlotTarget] {
    var found: [UInt32: SlotTarget] = [:]
    for way in key.ways {
      for slot in slots where found[slot.slot] == nil {
        guard let parameters = slot.usableParameters(isTest: header.isTest, isRaised: true) else { continue }
        for secret in try secrets(way, for: parameters) {
          let opens = try slot.opens(
            with: secret, parameters, storeID: header.storeID, generation: header.rootGeneration)
          if opens { found[slot.slot] = target(secret, parameters) }
        }
      }
    }
    return found
  }

  /// Returns the secrets for a slot with these parameters. Asks for a passphrase once per passphrase slot.
  private func secrets(_ way: SecretSource, for parameters: SlotParameters) throws(StoreError) -> [SlotSecret] {
    func passphrase(_ typed: Secret) throws(StoreError) -> [SlotSecret] {
      guard parameters.kind == 1 else { return [] }
      return [.passphrase(try translatingErrors { () throws(SealingError) in try Passphrase.normalized(typed) })]
    }
    switch way {
    case .keyFile(let path):
      // The file can contain an identity.
      guard parameters.kind == 2 || parameters.kind == 3 else { return [] }
      return [.line(try KeyLine.loading(path, as: .key))]
    case .identity(let path):
      guard parameters.kind == 3 else { return [] }
      return [.line(try KeyLine.loading(path, as: .identity))]
    case .passphrase(let ask):
      guard parameters.kind == 1 else { return [] }
      return try passphrase(try asking(ask))
    case .material(let read):
      guard parameters.kind <= 3 else { return [] }
      let secret = try asking(read)
      guard secret.looksLikeKeyFile else { return try passphrase(Passphrase.droppingLineEnd(secret)) }
      return [.line(try KeyLine.reading(secret))]
    case .provider(let name, _, let answer):
      guard case .external(_, name, let blob) = parameters else { return [] }
      return [.answer(try asking { try answer(blob) }, provider: name)]
    }
  }

  /// Returns the target for rewrapping, with the stronger of the stored and default costs.
  private func target(_ secret: SlotSecret, _ parameters: SlotParameters) -> SlotTarget? {
    switch (secret, parameters) {
    case (.passphrase(let passphrase), .passphrase(let cost, _)):
      .passphrase(passphrase, cost: (header.isTest ? ScryptCost.test : .standard).strengthened(to: cost))
    case (.line(let line), .keyFile): .key(line)
    case (.line, .recipient(_, let recipient)): .recipient(recipient, isTest: header.isTest)
    case (.answer(let answer, let provider), .external(_, _, let blob)):
      .external(provider: provider, blob: blob, answer: answer)
    default: nil
    }
  }
}
