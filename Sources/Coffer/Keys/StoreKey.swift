public import CofferSealing
public import FoundationEssentials

/// A way to open a store: asked when a key is needed, never kept.
///
/// Secrets come as ``Secret``, from files, descriptors or a closure; never as a String.
public struct StoreKey: Sendable {
  indirect enum Way: Sendable {
    case keyFile(String)
    case identity(String)
    case passphrase(@Sendable () throws -> Secret)
    case material(@Sendable () throws -> Secret)
    case provider(String, @Sendable ([UInt8]) throws -> Secret)
    case anyOf([StoreKey])
  }

  let way: Way

  /// A file with a `coffer-key-1-` line.
  public static func keyFile(_ url: URL) -> StoreKey {
    StoreKey(way: .keyFile(url.path))
  }

  /// A file with a `coffer-identity-1-` line: opens what was sealed for its recipient.
  public static func identity(_ url: URL) -> StoreKey {
    StoreKey(way: .identity(url.path))
  }

  /// A passphrase as it was typed. Each slot of that kind costs one scrypt, about 0.4 s.
  public static func passphrase(_ ask: @escaping @Sendable () throws -> Secret) -> StoreKey {
    StoreKey(way: .passphrase(ask))
  }

  /// A file that holds a passphrase; one line end at its end is not part of it.
  public static func passphraseFile(_ url: URL) -> StoreKey {
    let path = url.path
    return StoreKey(way: .passphrase { Passphrase.droppingLineEnd(try Secret.readAll(path: path)) })
  }

  /// What a descriptor or a command delivers: a key or identity file if it begins with `coffer-` or `#`, otherwise a
  /// passphrase, of which one line end is dropped.
  public static func keyMaterial(_ read: @escaping @Sendable () throws -> Secret) -> StoreKey {
    StoreKey(way: .material(read))
  }

  /// A program or service that answers 32…1024 bytes for the blob of an external slot of that name.
  public static func provider(name: String, _ answer: @escaping @Sendable (_ blob: [UInt8]) throws -> Secret)
    -> StoreKey
  {
    StoreKey(way: .provider(name, answer))
  }

  /// Each tried in turn.
  public static func anyOf(_ keys: [StoreKey]) -> StoreKey {
    StoreKey(way: .anyOf(keys))
  }

  /// The ways one by one.
  var ways: [Way] {
    if case .anyOf(let keys) = way { return keys.flatMap(\.ways) }
    return [way]
  }

  /// The key that a slot for the same secret is made with, for `open(creatingIfMissing: true)`.
  func newKeys() throws(StoreError) -> [NewKey] {
    var keys: [NewKey] = []
    for way in ways {
      switch way {
      case .keyFile(let path): keys.append(NewKey(way: .keyFile(path)))
      case .identity(let path): keys.append(NewKey(way: .identity(path)))
      case .passphrase(let ask): keys.append(NewKey(way: .passphrase(ask)))
      case .material(let read): keys.append(NewKey(way: .material(read)))
      case .provider(let name, let answer): keys.append(NewKey(way: .provider(name, [], answer)))
      case .anyOf: break
      }
    }
    return keys
  }
}

/// A slot to be made: what a new key is, or for whom.
public struct NewKey: Sendable {
  enum Way: Sendable {
    case keyFile(String)
    case identity(String)
    case passphrase(@Sendable () throws -> Secret)
    case material(@Sendable () throws -> Secret)
    case recipient(String)
    case provider(String, [UInt8], @Sendable ([UInt8]) throws -> Secret)
  }

  let way: Way

  public static func keyFile(_ url: URL) -> NewKey {
    NewKey(way: .keyFile(url.path))
  }

  /// The public half of an identity file.
  public static func identity(_ url: URL) -> NewKey {
    NewKey(way: .identity(url.path))
  }

  public static func passphrase(_ ask: @escaping @Sendable () throws -> Secret) -> NewKey {
    NewKey(way: .passphrase(ask))
  }

  public static func passphraseFile(_ url: URL) -> NewKey {
    let path = url.path
    return NewKey(way: .passphrase { Passphrase.droppingLineEnd(try Secret.readAll(path: path)) })
  }

  /// As ``StoreKey/keyMaterial(_:)``; an identity stands for its recipient.
  public static func keyMaterial(_ read: @escaping @Sendable () throws -> Secret) -> NewKey {
    NewKey(way: .material(read))
  }

  /// A `coffer-recipient-1-` line: whoever has its identity opens the store.
  public static func recipient(_ line: String) -> NewKey {
    NewKey(way: .recipient(line))
  }

  /// A provider's slot: `blob` is stored in clear and handed back to the provider, which must answer the same again.
  public static func provider(
    name: String, blob: [UInt8] = [], _ answer: @escaping @Sendable (_ blob: [UInt8]) throws -> Secret
  ) -> NewKey {
    NewKey(way: .provider(name, blob, answer))
  }
}

extension NewKey {
  /// The way to open with the same secret again, for a rekey; nil for a recipient.
  var asStoreKey: StoreKey? {
    switch way {
    case .keyFile(let path): StoreKey(way: .keyFile(path))
    case .identity(let path): StoreKey(way: .identity(path))
    case .passphrase(let ask): StoreKey(way: .passphrase(ask))
    case .material(let read): StoreKey(way: .material(read))
    case .provider(let name, _, let answer): StoreKey(way: .provider(name, answer))
    case .recipient: nil
    }
  }
}

// MARK: - Asking

extension NewKey {
  /// Asks for the secret and says what the slot is wrapped for.
  ///
  /// - Throws: `testKeyRefused` where test and real would mix; what the closure throws; `keyFileInvalid`.
  func target(isTest: Bool) throws(StoreError) -> SlotTarget {
    switch way {
    case .keyFile(let path):
      return try Self.target(of: KeyLine.loading(path), isTest: isTest)
    case .identity(let path):
      let line = try KeyLine.loading(path)
      guard line.kind == .identity else { throw StoreError(.keyFileInvalid, "\(path) is no identity") }
      return try Self.target(of: line, isTest: isTest)
    case .passphrase(let ask):
      return try Self.target(ofPassphrase: try asking(ask), isTest: isTest)
    case .material(let read):
      let secret = try asking(read)
      guard secret.looksLikeKeyFile else {
        return try Self.target(ofPassphrase: Passphrase.droppingLineEnd(secret), isTest: isTest)
      }
      return try Self.target(
        of: try sealing { () throws(SealingError) in try KeyLine(parsing: secret) }, isTest: isTest)
    case .recipient(let text):
      return try Self.target(
        of: try sealing { () throws(SealingError) in try KeyLine(recipient: text) }, isTest: isTest)
    case .provider(let name, let blob, let answer):
      return .external(provider: name, blob: blob, answer: try asking { try answer(blob) })
    }
  }

  private static func target(of line: KeyLine, isTest: Bool) throws(StoreError) -> SlotTarget {
    guard line.isTest == isTest else {
      throw StoreError(
        .testKeyRefused,
        isTest
          ? "a TEST store takes test keys only: this \(line.kind.rawValue) is a real one"
          : "this \(line.kind.rawValue) is a published test key: anyone can open what it seals",
        hint: isTest ? "make real stores without --test" : "make a key of your own with keygen")
    }
    guard line.kind != .key else { return .key(line) }
    let recipient = try sealing { () throws(SealingError) in try line.recipientBytes() }
    return .recipient(recipient, isTest: isTest)
  }

  private static func target(ofPassphrase typed: Secret, isTest: Bool) throws(StoreError) -> SlotTarget {
    let passphrase = try sealing { () throws(SealingError) in try Passphrase.normalized(typed) }
    return .passphrase(passphrase, cost: isTest ? .test : .standard)
  }

  /// Whether the key is a published test key, as far as that is known without asking.
  var isTestKey: Bool {
    switch way {
    case .keyFile(let path), .identity(let path): (try? KeyLine.load(path: path))?.isTest ?? false
    case .recipient(let text): (try? KeyLine(recipient: text))?.isTest ?? false
    case .passphrase, .material, .provider: false
    }
  }
}

extension Secret {
  /// Whether these bytes are a key file rather than a passphrase (CLI, "Keys").
  var looksLikeKeyFile: Bool {
    withUnsafeBytes { $0.starts(with: Array("coffer-".utf8)) || $0.first == UInt8(ascii: "#") }
  }
}

extension KeyLine {
  static func loading(_ path: String) throws(StoreError) -> KeyLine {
    try sealing { () throws(SealingError) in try KeyLine.load(path: path) }
  }
}

/// Work of the sealing room, its errors in the store's words.
func sealing<R>(_ body: () throws(SealingError) -> R) throws(StoreError) -> R {
  do throws(SealingError) {
    return try body()
  } catch {
    throw StoreError(error)
  }
}

/// A caller's closure; what it throws of ours goes on as it is.
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
