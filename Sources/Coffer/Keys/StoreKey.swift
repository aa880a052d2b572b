internal import CofferRecords
public import CofferSealing
public import FoundationEssentials
internal import Synchronization

/// How to get a secret when it is needed: from a file, or from a closure.
enum SecretWay: Sendable {
  case keyFile(String)
  case identity(String)
  case passphrase(@Sendable () throws -> Secret)
  case material(@Sendable () throws -> Secret)
  case provider(String, @Sendable ([UInt8]) throws -> Secret)

  static func passphraseFile(_ path: String) -> SecretWay {
    .passphrase { Passphrase.droppingLineEnd(try Secret.readAll(path: path)) }
  }
}

/// A way to open a store: asks for the key when it is needed and never keeps it.
///
/// Secrets are passed as ``Secret``, from files, descriptors or a closure; never as a String.
public struct StoreKey: Sendable {
  /// Each tried in turn.
  let ways: [SecretWay]

  /// A file with a `coffer-key-1-` line.
  public static func keyFile(_ url: URL) -> StoreKey {
    StoreKey(ways: [.keyFile(url.path)])
  }

  /// A file with a `coffer-identity-1-` line: opens what was sealed for its recipient.
  public static func identity(_ url: URL) -> StoreKey {
    StoreKey(ways: [.identity(url.path)])
  }

  /// A passphrase as it was typed. Each slot of that kind costs one scrypt, about 0.4 s.
  public static func passphrase(_ ask: @escaping @Sendable () throws -> Secret) -> StoreKey {
    StoreKey(ways: [.passphrase(ask)])
  }

  /// A file that holds a passphrase; one line end at its end is not part of it.
  public static func passphraseFile(_ url: URL) -> StoreKey {
    StoreKey(ways: [.passphraseFile(url.path)])
  }

  /// The output of a descriptor or a command: a key or identity file if it begins with `coffer-` or `#`, otherwise a
  /// passphrase, without its line end, if any.
  public static func keyMaterial(_ read: @escaping @Sendable () throws -> Secret) -> StoreKey {
    StoreKey(ways: [.material(read)])
  }

  /// A program or service that opens external slots of that name.
  ///
  /// `answer` gets the slot's blob, and returns the same 32 to 1024 bytes for it each time.
  public static func provider(name: String, _ answer: @escaping @Sendable (_ blob: [UInt8]) throws -> Secret)
    -> StoreKey
  {
    StoreKey(ways: [.provider(name, answer)])
  }

  /// The same key, whose passphrase or material is asked for once, by the first call that needs it: for work that opens
  /// several files.
  ///
  /// The secret stays in memory, locked and wiped with the last copy of the result.
  public func remembering() -> StoreKey {
    func once(_ ask: @escaping @Sendable () throws -> Secret) -> @Sendable () throws -> Secret {
      let remembered = RememberedSecret()
      return { try remembered.secret(ask) }
    }
    return StoreKey(
      ways: ways.map { way in
        switch way {
        case .passphrase(let ask): .passphrase(once(ask))
        case .material(let read): .material(once(read))
        case .keyFile, .identity, .provider: way
        }
      })
  }

  /// Each tried in turn.
  public static func anyOf(_ keys: [StoreKey]) -> StoreKey {
    StoreKey(ways: keys.flatMap(\.ways))
  }

  /// Slots for the same secrets, for `open(creatingIfMissing: true)`.
  var newKeys: [NewKey] { ways.map { NewKey(owner: .holder($0, blob: [])) } }
}

/// A slot to be made: its key, or its recipient.
public struct NewKey: Sendable {
  enum Owner: Sendable {
    /// The owner of the secret; `blob` is what a provider's slot stores for the provider.
    case holder(SecretWay, blob: [UInt8])
    /// The owner of the identity for this recipient line.
    case recipient(String)
  }

  let owner: Owner

  /// A key file, which exists already: `KeyLine.generate` and `write(toNewFile:)` make one.
  public static func keyFile(_ url: URL) -> NewKey {
    NewKey(owner: .holder(.keyFile(url.path), blob: []))
  }

  /// The public half of an identity file.
  public static func identity(_ url: URL) -> NewKey {
    NewKey(owner: .holder(.identity(url.path), blob: []))
  }

  /// A passphrase, which `ask` returns in UTF-8. Making and opening the slot costs about 0.4 s and 128 MiB (scrypt
  /// 2^17).
  public static func passphrase(_ ask: @escaping @Sendable () throws -> Secret) -> NewKey {
    NewKey(owner: .holder(.passphrase(ask), blob: []))
  }

  /// A file that holds a passphrase; one line end at its end is not part of it.
  public static func passphraseFile(_ url: URL) -> NewKey {
    NewKey(owner: .holder(.passphraseFile(url.path), blob: []))
  }

  /// As ``StoreKey/keyMaterial(_:)``; for an identity, the slot is for its recipient.
  public static func keyMaterial(_ read: @escaping @Sendable () throws -> Secret) -> NewKey {
    NewKey(owner: .holder(.material(read), blob: []))
  }

  /// A `coffer-recipient-1-` line: the owner of its identity can open the store.
  public static func recipient(_ line: String) -> NewKey {
    NewKey(owner: .recipient(line))
  }

  /// A provider's slot: `blob` is stored in clear and handed back to the provider, which must give the same answer
  /// again, 32 to 1024 bytes.
  public static func provider(
    name: String, blob: [UInt8] = [], _ answer: @escaping @Sendable (_ blob: [UInt8]) throws -> Secret
  ) -> NewKey {
    NewKey(owner: .holder(.provider(name, answer), blob: blob))
  }

  /// The way to open with the same secret again, for a rekey; nil for a recipient.
  var asStoreKey: StoreKey? {
    if case .holder(let way, _) = owner { StoreKey(ways: [way]) } else { nil }
  }
}

// MARK: - Asking

extension NewKey {
  /// The input for a new slot, before it is known whether it is allowed.
  enum Given {
    case line(KeyLine)
    case passphrase(Secret)
    case answer(Secret, provider: String, blob: [UInt8])

    /// Whether it is a published test key.
    var isTest: Bool {
      if case .line(let line) = self { line.isTest } else { false }
    }
  }

  /// Asks for the secret and returns the target that the slot is wrapped for.
  ///
  /// - Throws: `testKeyRefused` if test and real keys would mix; errors of the closure; `keyFileInvalid`.
  func target(isTest: Bool) throws(StoreError) -> SlotTarget {
    try asked().target(isTest: isTest)
  }

  /// Asks for the secret.
  func asked() throws(StoreError) -> Given {
    switch owner {
    case .holder(.keyFile(let path), _): return .line(try KeyLine.loading(path, as: .key))
    case .holder(.identity(let path), _): return .line(try KeyLine.loading(path, as: .identity))
    case .holder(.passphrase(let ask), _): return .passphrase(try asking(ask))
    case .holder(.material(let read), _):
      let secret = try asking(read)
      guard secret.looksLikeKeyFile else { return .passphrase(Passphrase.droppingLineEnd(secret)) }
      return .line(try KeyLine.reading(secret))
    case .recipient(let text): return .line(try sealing { () throws(SealingError) in try KeyLine(recipient: text) })
    case .holder(.provider(let name, let answer), let blob):
      return .answer(try asking { try answer(blob) }, provider: name, blob: blob)
    }
  }

  /// Whether the key is a published test key, as far as that is known without asking for it.
  var isKnownTestKey: Bool {
    switch owner {
    case .holder(.keyFile(let path), _), .holder(.identity(let path), _):
      (try? KeyLine.load(path: path))?.isTest ?? false
    case .recipient(let text): (try? KeyLine(recipient: text))?.isTest ?? false
    case .holder: false
    }
  }
}

extension NewKey.Given {
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
        hint: isTest ? "make real stores without \(.testStore)" : "make another key with \(.makeKey)")
    }
    guard line.kind != .key else { return .key(line) }
    let recipient = try sealing { () throws(SealingError) in try line.recipientBytes() }
    return .recipient(recipient, isTest: isTest)
  }

  private static func target(ofPassphrase typed: Secret, isTest: Bool) throws(StoreError) -> SlotTarget {
    let passphrase = try sealing { () throws(SealingError) in try Passphrase.normalized(typed) }
    return .passphrase(passphrase, cost: isTest ? .test : .standard)
  }
}

extension Secret {
  /// Whether these bytes are a key file rather than a passphrase (Commands, "Key options").
  var looksLikeKeyFile: Bool {
    withUnsafeBytes { $0.starts(with: Array("coffer-".utf8)) || $0.first == UInt8(ascii: "#") }
  }
}

extension KeyLine {
  /// The line of a file given as a key file, which may hold an identity, or as an identity.
  static func loading(_ path: String, as kind: Kind) throws(StoreError) -> KeyLine {
    let line = try sealing { () throws(SealingError) in try KeyLine.load(path: path) }
    guard line.kind != .recipient else { throw .recipientOpensNothing("\(path) holds a recipient") }
    guard kind != .identity || line.kind == .identity else {
      throw StoreError(.keyFileInvalid, "\(path) holds a key, not an identity", hint: "give it as a key file")
    }
    return line
  }

  /// The line in the output of a descriptor or a command.
  static func reading(_ material: Secret) throws(StoreError) -> KeyLine {
    let line = try sealing { () throws(SealingError) in try KeyLine(parsing: material) }
    guard line.kind != .recipient else { throw .recipientOpensNothing("a recipient was delivered as a key") }
    return line
  }
}

extension StoreError {
  fileprivate static func recipientOpensNothing(_ what: String) -> StoreError {
    StoreError(
      .keyFileInvalid, "\(what), which is public and opens nothing",
      hint: "open with the identity file; to add a slot, pass the recipient line")
  }
}

/// Runs a caller's closure; a ``StoreError`` that it throws is passed on unchanged.
func asking(_ ask: () throws -> Secret) throws(StoreError) -> Secret {
  do {
    return try ask()
  } catch let error as StoreError {
    throw error
  } catch let error as SealingError {
    throw StoreError(error)
  } catch {
    throw StoreError(.keyNeeded, "the key was not given (\(type(of: error)))")
  }
}

/// A secret that was asked for.
private final class RememberedSecret: Sendable {
  private let known = Mutex<Secret?>(nil)

  func secret(_ ask: () throws -> Secret) throws -> Secret {
    if let secret = known.withLock({ $0 }) { return secret }
    let secret = try ask()
    known.withLock { $0 = secret }
    return secret
  }
}
