public import CofferFoundation
internal import CofferRecords
public import CofferSealing
internal import Synchronization

/// A file or closure that supplies a secret when it's needed.
enum SecretSource: Sendable {
  case keyFile(String)
  case identity(String)
  case passphrase(@Sendable () throws -> Secret)
  case material(@Sendable () throws -> Secret)
  /// A new slot stores `blob`. An existing slot's blob is passed to `answer` instead.
  case provider(String, blob: [UInt8], answer: @Sendable ([UInt8]) throws -> Secret)

  /// The kinds of slots that the secret may open (FORMAT, "Slots").
  var slotKinds: [UInt32] {
    switch self {
    case .keyFile: [2, 3]
    case .identity: [3]
    case .passphrase: [1]
    case .material: [1, 2, 3]
    case .provider: [4]
    }
  }
}

/// A secret that opens stores. It's asked for when it's needed and never kept.
///
/// ```swift
/// let isFirstStart = !FileManager.default.fileExists(atPath: keyURL.path)
/// let key: StoreKey = try isFirstStart ? .generate(at: keyURL) : .keyFile(keyURL)
/// let store = try DocumentStore.open(at: url, key: key, creatingIfMissing: true)
/// ```
///
/// Secrets are passed as ``Secret`` from files or a closure, but never as a String.
public struct StoreKey: Sendable {
  /// The alternatives, tried in order.
  let ways: [SecretSource]
  /// The secrets that ``remembering()`` keeps for them.
  private var remembered: [RequestedSecret] = []

  private init(ways: [SecretSource], remembered: [RequestedSecret] = []) {
    self.ways = ways
    self.remembered = remembered
  }

  /// Creates a key file with 32 random bytes, and returns its key.
  ///
  /// Only the file's owner can read it (mode 0600). The call waits until the file and its name are on disk, so a store
  /// created for the key can't outlast it. Keep a copy in a second place, because a lost key can't be replaced.
  ///
  /// - Parameter url: The new file. Its folder must exist.
  /// - Throws: `alreadyExists` with the file unchanged. `diskFull`, `readOnly` or `ioFailure` if the file can't be
  ///   written, after removing an incomplete file. Also `ioFailure` if the disk doesn't confirm the name, although the
  ///   file already has that name. `systemFailure` if randomness or memory isn't available.
  public static func generate(at url: URL) throws(StoreError) -> StoreKey {
    try translatingErrors { () throws(SealingError) in try KeyLine.generate(.key) }.write(toNewFile: url.path)
    return .keyFile(url)
  }

  /// Uses a file with a `coffer-key-1-` line, or with a `coffer-identity-1-` line, which opens its recipient's slots.
  ///
  /// Opening a slot takes less than a millisecond. A new slot for an identity file stores only its recipient.
  public static func keyFile(_ url: URL) -> StoreKey {
    StoreKey(ways: [.keyFile(url.path)])
  }

  /// Returns a new key line of 32 random bytes for ``keyLine(_:)``, without writing it to a file.
  ///
  /// Keep a copy in a second place, because a lost key can't be replaced.
  ///
  /// - Throws: `systemFailure` if randomness or memory isn't available.
  public static func generateLine() throws(StoreError) -> Secret { try generateLine(isTest: false) }

  /// Returns a new key line, which opens TEST stores only if it's a test key.
  package static func generateLine(isTest: Bool) throws(StoreError) -> Secret {
    try translatingErrors { () throws(SealingError) in try KeyLine.generate(.key, isTest: isTest).line() }
  }

  /// Uses a key line that isn't in a file, such as a line in a keychain. `read` returns it when it's needed.
  ///
  /// ```swift
  /// let line = try StoreKey.generateLine()
  /// let key = StoreKey.keyLine { line }
  /// ```
  ///
  /// Opening a slot takes less than a millisecond. A line that isn't a key or an identity throws `keyFileInvalid`.
  public static func keyLine(_ read: @escaping @Sendable () throws -> Secret) -> StoreKey {
    keyMaterial {
      let line = try read()
      guard line.looksLikeKeyFile else {
        throw StoreError(
          .keyFileInvalid, "the key isn't a key line", hint: "return what StoreKey.generateLine() made")
      }
      return line
    }
  }

  /// Uses a file that must contain an identity.
  package static func identity(_ url: URL) -> StoreKey {
    StoreKey(ways: [.identity(url.path)])
  }

  /// Uses a passphrase as typed, which `ask` returns in UTF-8.
  ///
  /// Each passphrase slot that is created or tried costs one scrypt operation (2^17), about 0.4 s and 128 MiB. A secret
  /// that holds a key line, or is saved as UTF-16 or with a byte order mark, isn't a passphrase (`keyFileInvalid`).
  public static func passphrase(_ ask: @escaping @Sendable () throws -> Secret) -> StoreKey {
    StoreKey(ways: [.passphrase(ask)])
  }

  /// Uses the output of a descriptor or command. If it holds a key line, or starts with `coffer-` or `#`, it's a key or
  /// identity file. Otherwise, it's a passphrase, without a trailing line end.
  package static func keyMaterial(_ read: @escaping @Sendable () throws -> Secret) -> StoreKey {
    StoreKey(ways: [.material(read)])
  }

  /// Uses a program or service that opens external slots with the given name.
  ///
  /// The closure receives the slot's blob and must always return the same 32 to 1024 bytes for it.
  ///
  /// - Parameter blob: The bytes that a new slot stores unencrypted.
  package static func provider(
    name: String, blob: [UInt8] = [], _ answer: @escaping @Sendable (_ blob: [UInt8]) throws -> Secret
  ) -> StoreKey {
    StoreKey(ways: [.provider(name, blob: blob, answer: answer)])
  }

  /// Returns a key that asks for its passphrase or material only once, when it's first needed, to open several files.
  ///
  /// The secret remains in locked memory until ``forget()``, or until the result's last copy is released.
  package func remembering() -> StoreKey {
    var remembered: [RequestedSecret] = []
    func once(_ ask: @escaping @Sendable () throws -> Secret) -> @Sendable () throws -> Secret {
      let secret = RequestedSecret()
      remembered.append(secret)
      return { try secret.value(ask) }
    }
    let ways = ways.map { way -> SecretSource in
      switch way {
      case .passphrase(let ask): .passphrase(once(ask))
      case .material(let read): .material(once(read))
      case .keyFile, .identity, .provider: way
      }
    }
    return StoreKey(ways: ways, remembered: self.remembered + remembered)
  }

  /// Erases the secrets that ``remembering()`` keeps. Every copy of the key then throws `keyNeeded` instead of asking
  /// again, so an open store follows a root key change only with its files and providers.
  package func forget() {
    for secret in remembered { secret.forget() }
  }

  /// Tries several keys in order. A new store gets a slot for each of them.
  public static func anyOf(_ keys: [StoreKey]) -> StoreKey {
    StoreKey(ways: keys.flatMap(\.ways), remembered: keys.flatMap(\.remembered))
  }
}

extension Secret {
  /// Whether the bytes are a key file instead of a passphrase (Commands, "Key options").
  var looksLikeKeyFile: Bool {
    withUnsafeBytes { $0.starts(with: Array("coffer-".utf8)) || $0.first == UInt8(ascii: "#") }
      || SecretForm(of: self).line != nil
  }
}

extension KeyLine {
  /// Returns the line of a file that was passed as a key file, which can also contain an identity, or as an identity.
  static func loading(_ path: String, as kind: Kind) throws(StoreError) -> KeyLine {
    let line = try translatingErrors { () throws(SealingError) in try KeyLine.load(path: path) }
    try line.requireOpening("\(path) holds \(line.kind.name)")
    guard kind != .identity || line.kind == .identity else {
      throw StoreError(.keyFileInvalid, "\(path) holds a key, not an identity", hint: "give it as a key file")
    }
    return line
  }

  /// Returns the line in the output of a descriptor or command.
  static func reading(_ material: Secret) throws(StoreError) -> KeyLine {
    let line = try translatingErrors { () throws(SealingError) in try KeyLine(parsing: material) }
    try line.requireOpening("\(line.kind.name) was delivered as a key")
    return line
  }

  /// Requires a kind of line that opens slots.
  private func requireOpening(_ what: String) throws(StoreError) {
    switch kind {
    case .key, .identity: return
    case .recipient: throw .recipientCannotOpen(what)
    case .signing, .publisher:
      throw StoreError(
        .keyFileInvalid, "\(what), which belongs to signatures and opens nothing",
        hint: "open with a key file or an identity file")
    }
  }
}

extension StoreError {
  fileprivate static func recipientCannotOpen(_ what: String) -> StoreError {
    StoreError(
      .keyFileInvalid, "\(what), which is public and opens nothing",
      hint: "open with the identity file; to add a slot, pass the recipient line")
  }
}

/// Calls the caller's closure, and rethrows a ``StoreError`` unchanged.
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

/// A secret that is requested at the first use, and kept until it's forgotten.
private final class RequestedSecret: Sendable {
  private enum State {
    case unknown
    case known(Secret)
    case forgotten
  }

  private let state = Mutex(State.unknown)

  func value(_ ask: () throws -> Secret) throws -> Secret {
    switch state.withLock({ $0 }) {
    case .known(let secret): return secret
    case .forgotten: throw StoreError(.keyNeeded, "the secret was erased when the store was open")
    case .unknown: break
    }
    let secret = try ask()
    state.withLock { state in
      if case .unknown = state { state = .known(secret) }
    }
    return secret
  }

  func forget() {
    state.withLock { $0 = .forgotten }
  }
}
