internal import CofferRecords
package import CofferSealing

/// A slot to create, for a secret or a recipient.
package struct NewSlot: Sendable {
  enum Owner: Sendable {
    case secret(SecretSource)
    case recipient(Recipient)
    case asked(Given)
  }

  let owner: Owner

  /// Returns a slot for each secret of the keys, then a slot for each recipient.
  package static func slots(for keys: [StoreKey], _ recipients: [Recipient]) -> [NewSlot] {
    keys.flatMap(\.ways).map { NewSlot(owner: .secret($0)) } + recipients.map { NewSlot($0) }
  }
}

extension NewSlot {
  /// Creates the slot of a single key.
  ///
  /// - Throws: `invalidArgument` if `key` tries several keys.
  package init(_ key: StoreKey) throws(StoreError) {
    guard key.ways.count == 1 else {
      throw StoreError(
        .invalidArgument, "a slot has 1 key, and \(key.ways.count) were given", hint: "add a slot for each key")
    }
    owner = .secret(key.ways[0])
  }

  package init(_ recipient: Recipient) {
    owner = .recipient(recipient)
  }
}

// MARK: - Asking

extension NewSlot {
  /// The input for a new slot, before checking whether it's allowed.
  enum Given: Sendable {
    case line(KeyLine)
    case passphrase(Secret)
    case answer(Secret, provider: String, blob: [UInt8])

    var isTest: Bool {
      if case .line(let line) = self { line.isTest } else { false }
    }
  }

  /// Asks for the secret and returns the target to wrap the slot for.
  ///
  /// - Throws: `testKeyRefused` if test and real keys would be mixed, `keyFileInvalid`, or an error of the closure.
  package func target(isTest: Bool) throws(StoreError) -> SlotTarget {
    try asked().target(isTest: isTest)
  }

  /// Asks for the secret.
  func asked() throws(StoreError) -> Given {
    switch owner {
    case .secret(.keyFile(let path)): return .line(try KeyLine.loading(path, as: .key))
    case .secret(.identity(let path)): return .line(try KeyLine.loading(path, as: .identity))
    case .secret(.passphrase(let ask)): return .passphrase(try asking(ask))
    case .secret(.material(let read)):
      let secret = try asking(read)
      guard secret.looksLikeKeyFile else { return .passphrase(Passphrase.droppingLineEnd(secret)) }
      return .line(try KeyLine.reading(secret))
    case .recipient(let recipient):
      return .line(try translatingErrors { () throws(SealingError) in try KeyLine(recipient: recipient.line) })
    case .secret(.provider(let name, let blob, let answer)):
      return .answer(try asking { try answer(blob) }, provider: name, blob: blob)
    case .asked(let given): return given
    }
  }

  /// Whether the key is known to be a published test key without asking for it.
  var isKnownTestKey: Bool {
    switch owner {
    case .secret(.keyFile(let path)), .secret(.identity(let path)):
      (try? KeyLine.load(path: path))?.isTest ?? false
    case .recipient(let recipient): (try? KeyLine(recipient: recipient.line))?.isTest ?? false
    case .asked(let given): given.isTest
    case .secret: false
    }
  }
}

extension NewSlot.Given {
  func target(isTest: Bool) throws(StoreError) -> SlotTarget {
    switch self {
    case .line(let line): try Self.target(of: line, isTest: isTest)
    case .passphrase(let typed): try Self.target(ofPassphrase: typed, isTest: isTest)
    case .answer(let answer, let provider, let blob): .external(provider: provider, blob: blob, answer: answer)
    }
  }

  private static func target(of line: KeyLine, isTest: Bool) throws(StoreError) -> SlotTarget {
    guard line.isTest == isTest else {
      throw StoreError(
        .testKeyRefused,
        isTest
          ? "a TEST store takes test keys only: this \(line.kind.rawValue) is a real one"
          : "this \(line.kind.rawValue) is a published test key: anyone can open what it seals",
        hint: isTest ? "a store made by \(.create) without \(.testStore) takes it" : "make another key with \(.makeKey)"
      )
    }
    guard line.kind != .key else { return .key(line) }
    let recipient = try translatingErrors(line.recipientBytes)
    return .recipient(recipient, isTest: isTest)
  }

  private static func target(ofPassphrase typed: Secret, isTest: Bool) throws(StoreError) -> SlotTarget {
    let passphrase = try translatingErrors { () throws(SealingError) in try Passphrase.normalized(typed) }
    return .passphrase(passphrase, cost: isTest ? .test : .standard)
  }
}
