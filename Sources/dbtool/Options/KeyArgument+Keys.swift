internal import Coffer
internal import CofferDocuments
internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform
internal import CofferSealing
internal import CofferTerminal

extension KeyArgument {
  /// Returns the key for opening a store.
  func openingKey(for store: String, policy: KeyPolicy) throws -> StoreKey {
    try key(policy, for: .opening) {
      try policy.requireQuestions()
      return try Terminal.askPassphrase("Passphrase for \(escapingControls(store)): ")
    }
  }

  /// Returns the key for a new slot.
  ///
  /// - Parameters:
  ///   - prefix: The prefix of the option's family.
  ///   - recipients: The verb's option for recipient slots, or `nil` if the verb doesn't have one.
  func newKey(
    for store: String, policy: KeyPolicy, prefix: String = "", recipients: String?
  ) throws -> StoreKey {
    try key(policy, for: .newSlot(prefix: prefix, recipients: recipients)) {
      try policy.requireQuestions(optionPrefix: prefix)
      let passphrase = try Terminal.askNewPassphrase(
        "New passphrase for \(escapingControls(store)): ", optionPrefix: prefix)
      if passphrase.isVeryWeak {
        policy.diagnostics.warning(
          "this passphrase is very weak: a program that has the file can guess it; five random words are better")
      }
      return passphrase
    }
  }

  /// Returns a key that keeps an answer until ``StoreKey/forget()``, because an answer can be read only once, but opening
  /// and rekeying can each need it.
  private func key(
    _ policy: KeyPolicy, for purpose: PassphraseSource.Purpose, asking ask: @escaping @Sendable () throws -> Secret
  ) throws -> StoreKey {
    switch self {
    case .keyFile(let path):
      _ = try policy.isRegularAfterCheck(path, of: "key file")
      return .keyFile(URL(filePath: path))
    case .passphraseFile(let path):
      let isRegular = try policy.isRegularAfterCheck(path, of: "passphrase file")
      let source = PassphraseSource(path: path, purpose: purpose)
      let key = StoreKey.passphrase { try Passphrase.droppingLineEnd(source.checked(Secret.readAll(path: path))) }
      // A pipe can be read only once.
      return isRegular ? key : key.remembering()
    case .passphrase:
      let source = PassphraseSource(path: nil, purpose: purpose)
      return .passphrase { try Self.translatingFailures { try source.checked(ask()) } }.remembering()
    case .command(let command, let option):
      return .keyMaterial {
        try Self.translatingFailures { try ShellCommand(command: command, option: option).run() }
      }.remembering()
    case .provider(let name, let command):
      // The blob is stored only in a new slot.
      var generator = SystemRandomNumberGenerator()
      let blob = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
      return .provider(name: name, blob: blob) { blob in
        try Self.translatingFailures { try Self.answer(of: command, provider: name, to: blob) }
      }
    }
  }

  /// Translates prompt failures to store errors, which the library rethrows unchanged.
  private static func translatingFailures(_ ask: () throws -> Secret) throws -> Secret {
    do {
      return try ask()
    } catch let failure as Failure {
      throw failure.asStoreError
    }
  }

  /// Decodes a provider's 64 hex digits to 32 bytes, from locked memory to locked memory.
  private static func answer(of command: String, provider: String, to blob: [UInt8]) throws -> Secret {
    let digits = try ShellCommand(command: command, option: "--provider \(provider)").run(input: blob)
    return try digits.withUnsafeBytes { text in
      var end = text.count
      while end > 0, text[end - 1] == UInt8(ascii: "\n") || text[end - 1] == UInt8(ascii: "\r") {
        end -= 1
      }
      guard end == 64 else { throw malformedAnswer(of: provider) }
      return try Secret(byteCount: 32) { bytes in
        for index in 0..<32 {
          guard let high = Hexadecimal.value(of: text[2 * index]),
            let low = Hexadecimal.value(of: text[2 * index + 1])
          else {
            throw malformedAnswer(of: provider)
          }
          bytes[index] = high << 4 | low
        }
        return 32
      }
    }
  }

  private static func malformedAnswer(of provider: String) -> Failure {
    Failure(.failed, kind: "key-command-failed", "the command of --provider \(provider) did not print 64 hex digits")
  }
}

extension Failure {
  /// The library rethrows a `StoreError` unchanged, and rewords other errors.
  fileprivate var asStoreError: StoreError {
    let code: StoreError.Code =
      switch status {
      case .keyNeeded: .keyNeeded
      case .usage: .invalidArgument
      case .interrupted: .cancelled
      default: .systemFailure
      }
    return StoreError(code, message, hint: hint.map { ErrorHint($0) })
  }
}

/// Checks on keys before they are used.
struct KeyPolicy: Sendable {
  let diagnostics: Diagnostics
  let forbidsInput: Bool

  /// Warns of a key file that group or others can read, keeps its open descriptors from the commands that run later, and
  /// returns whether it's a regular file, which can be read repeatedly.
  ///
  /// - Parameter kind: What the file is, for messages.
  func isRegularAfterCheck(_ path: String, of kind: String) throws -> Bool {
    try InputFile.requirePath(path, of: kind)
    var status = stat()
    guard stat(path, &status) == 0 else { throw Failure.system(errno, "the \(kind) \(path)") }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw Failure.failed("the \(kind) \(path) is a folder", hint: "name the file in it")
    }
    KeyDescriptors.close(onExecIfOf: status)
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    if isRegular, status.st_mode & (S_IRGRP | S_IROTH) != 0 {
      diagnostics.warning("\(path) can be read by others (chmod 600 makes it yours alone)")
    }
    return isRegular
  }

  func requireQuestions(optionPrefix: String = "") throws {
    if forbidsInput {
      throw Failure.keyNeeded("--no-input forbids asking for a passphrase", prefix: optionPrefix)
    }
  }
}
