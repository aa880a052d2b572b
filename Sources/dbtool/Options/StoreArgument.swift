internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferFoundation
internal import CofferPlatform
internal import CofferTerminal

/// The store that a verb works on.
struct StoreArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp("The store's file. Omit it if --store or DBTOOL_STORE names the store.", valueName: "store"),
    completion: .file())
  var path: String

  @OptionGroup(title: "Everywhere") var access: StoreAccess

  var url: URL { URL(filePath: path) }

  func validate() throws {
    try Self.requirePath(path)
  }

  /// Refuses `-` for a store that a verb makes or opens.
  static func requirePath(_ path: String) throws {
    if path == InputFile.standardInput { throw ValidationError("a store is a file: name its path") }
  }

  /// Verifies the expected pin for a verb that doesn't need a key. Reads the store's pin only if `--pin` is given.
  func requireExpected() throws {
    guard access.expect != nil else { return }
    try requireExpected(try DocumentStore.info(at: url, wait: access.waitingTime()).pin)
  }

  /// Verifies the expected pin for a verb that computes the pin from the file without opening the store.
  ///
  /// - Parameter file: The file with the pin, if it isn't the store's file.
  func requireExpected(_ pin: StorePin, of file: String? = nil) throws {
    guard let expected = access.expectedPin, expected != pin else { return }
    let isOtherPhase = expected.storeID == pin.storeID && expected.rootGeneration == pin.rootGeneration
    throw Failure(
      .mismatch, kind: "pin-mismatch", "\(file ?? path) is not the store that --pin names: its pin is \(pin)",
      hint: isOtherPhase
        ? "a rekey has ended or is unfinished, or the file is an older one: 'verify --pin' says which" : nil)
  }
}

/// The expected store, and the maximum time to wait for it.
struct StoreAccess: ParsableArguments {
  // StoreWord inserts this option's value as the first word before the parser runs.
  @Option(
    name: .customLong("store"), help: ArgumentHelp("The store's file, instead of the first word.", valueName: "path"))
  var named: String?

  @Option(name: .customLong("pin"), help: ArgumentHelp("Require the store with this pin.", valueName: "pin"))
  var expect: String?

  @Option(help: ArgumentHelp("Require a release of this publisher.", valueName: "line"))
  var publisher: String?

  @Option(
    help: ArgumentHelp(
      "A file that records the proof of --publisher, where only you can write.", valueName: "file",
      visibility: .hidden),
    completion: .file())
  var proof: String?

  @Option(
    help: ArgumentHelp(
      "The maximum time to wait for other users of the store (default: 10; rekey: no limit).", valueName: "seconds"))
  var wait: Double?

  func validate() throws {
    if let wait, !(wait >= 0 && wait <= 1e9) {
      throw ValidationError("--wait takes seconds, 0 or more")
    }
    if let expect, StorePin(expect) == nil {
      throw ValidationError("--pin takes a pin: coffer-pin-3- and 128 hex digits")
    }
  }

  /// The expected pin, which `validate` has verified.
  var expectedPin: StorePin? { expect.map { StorePin($0)! } }

  var expectedPublisher: Publisher? {
    get throws { try publisher.map { try Publisher($0, of: "--publisher") } }
  }

  /// Returns the maximum time to wait.
  ///
  /// - Parameter standard: The time to wait without `--wait`, or `nil` to wait indefinitely.
  func waitingTime(standard: Duration? = .seconds(10)) -> Duration? {
    wait.map { .milliseconds(Int64($0 * 1000)) } ?? standard
  }
}

extension Publisher {
  /// Creates a publisher from an option's value.
  init(_ line: String, of option: String) throws {
    do throws(StoreError) {
      try self.init(line)
    } catch {
      throw Failure(
        .failed, kind: "key-file-invalid", "\(option): \(error.message)",
        hint: "'dbtool keygen -y' prints the publisher of a signing key")
    }
  }
}

/// Options for verbs that open a store with a key.
struct StoreOptions: ParsableArguments {
  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Keys") var keys: KeyOptions<StoreFamily>
  @OptionGroup(title: "Keys") var permissions: KeyPermissions
  @OptionGroup(title: "Everywhere") var common: CommonOptions
}

/// Key options for verbs that don't need a key. The verbs accept and ignore these options, so scripts can always use
/// them.
struct UnneededKeys: ParsableArguments {
  @OptionGroup var keys: KeyOptions<StoreFamily>
  @OptionGroup var permissions: KeyPermissions
}

/// Permissions for keys and prompts.
struct KeyPermissions: ParsableArguments {
  @Flag(help: ArgumentHelp("Never ask. A missing key is an error.", visibility: .hidden))
  var noInput = false

  var allowsTestKeys: Bool { Environment.allowsTestKeys }

  func policy(_ common: CommonOptions) -> KeyPolicy {
    KeyPolicy(diagnostics: common.diagnostics, forbidsInput: noInput)
  }
}

extension StoreOptions {
  var policy: KeyPolicy { permissions.policy(common) }

  /// The keys for opening the store, from the options, or otherwise from a variable, or otherwise from a prompt.
  var givenKeys: [KeyArgument] {
    let given = keys.inOrder
    return given.isEmpty ? [Environment.key ?? .passphrase] : given
  }

  /// The paths that the verb reads, which no output may replace: the store, its proof, key files and passphrase files.
  var inputPaths: [String] {
    let keys = givenKeys.compactMap { key -> String? in
      switch key {
      case .keyFile(let path), .passphraseFile(let path): path
      default: nil
      }
    }
    return [store.path] + [store.access.proof].compactMap { $0 } + keys
  }

  /// Returns the key for opening, which asks for each secret once. The caller opens the store, and then erases the
  /// secrets.
  func openingKey() throws -> StoreKey {
    .anyOf(try givenKeys.map { try $0.openingKey(for: store.path, policy: policy) })
  }

  /// The number of attempts to enter the passphrase.
  private static let tries = 3

  /// Opens the store and erases the entered secrets. Repeats the question after a wrong passphrase if the only key is a
  /// passphrase from the terminal.
  func open(readOnly isReadOnly: Bool) throws -> DocumentStore {
    let keys = givenKeys
    let isAsked = if keys.count == 1, case .passphrase = keys[0] { true } else { false }
    var triesLeft = isAsked ? Self.tries : 1
    while true {
      let key = try openingKey()
      defer { key.forget() }
      do {
        return try open(with: key, readOnly: isReadOnly)
      } catch let failure as Failure where failure.status == .cannotUnlock && triesLeft > 1 {
        triesLeft -= 1
        Terminal.forgetTyped()
        Diagnostics.print(
          "dbtool: that is not the passphrase; \(triesLeft == 1 ? "one more try" : "\(triesLeft) more tries")")
      }
    }
  }

  /// Opens the store with a key that the caller erases, because the caller can use the key again.
  ///
  /// - Parameters:
  ///   - acceptsUnfinishedRekey: Whether `--pin` may be the store's pin after its unfinished rekey.
  ///   - isAsReleased: Whether the store must be a release of the publisher in `--publisher`. Otherwise, the option
  ///     specifies the publisher of updates.
  func open(
    with key: StoreKey, readOnly isReadOnly: Bool, wait: Duration? = .seconds(10), acceptsUnfinishedRekey: Bool = false,
    leavesFileUnchanged: Bool = false, asReleased isAsReleased: Bool = true
  ) throws -> DocumentStore {
    var options = try openOptions(isReadOnly, wait)
    if !isAsReleased { (options.publisher, options.proofFile) = (nil, nil) }
    options.leavesFileUnchanged = leavesFileUnchanged
    options.acceptsUnfinishedRekey = acceptsUnfinishedRekey
    let opened = Result { () throws(StoreError) in
      try DocumentStore.open(at: store.url, key: key, options: options)
    }
    if case .success(let store) = opened {
      warnIfTest(store)
      try noteSlot(of: store)
    }
    return try opened.mapError { namingKeys($0, for: store.path) }.get()
  }

  /// Opens another store with the same keys, only for reading. Never changes the store's file or folder.
  func openOther(_ path: String, pin: StorePin? = nil) throws -> DocumentStore {
    var options = try openOptions(true)
    (options.publisher, options.proofFile) = (nil, nil)
    options.pin = pin
    options.leavesFileUnchanged = true
    var status = stat()
    guard lstat(path, &status) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw Failure.system(errno, path) }
      throw Failure(.noStore, kind: "no-such-file", "\(path): no such file")
    }
    let key = try openingKey()
    defer { key.forget() }
    let opened = Result { () throws(StoreError) in
      try DocumentStore.open(at: URL(filePath: path), key: key, options: options)
    }
    if case .failure(let error) = opened, error.code == .cannotUnlock { throw namingKeys(error, for: path) }
    return try Failure.naming(path) { try opened.get() }
  }

  /// Translates an error from opening a store. If the key is wrong, the message names the keys and the store.
  func namingKeys(_ error: StoreError, for path: String) -> Failure {
    guard error.code == .cannotUnlock else { return Failure(error) }
    let keys = givenKeys.map(\.source)
    let message =
      keys.count == 1
      ? "\(keys[0]) opens no slot of \(path)"
      : "no slot of \(path) opens with \(keys.joined(separator: " or "))"
    return Failure(.cannotUnlock, kind: "cannot-unlock", message, hint: error.advice?.text(naming: \.verb))
  }

  func openOptions(_ isReadOnly: Bool, _ wait: Duration? = .seconds(10)) throws -> OpenOptions {
    var options = OpenOptions()
    options.publisher = try store.access.expectedPublisher
    options.proofFile = store.access.proof.map { URL(filePath: $0) }
    options.isReadOnly = isReadOnly
    options.allowsTestKeys = permissions.allowsTestKeys
    options.pin = store.access.expectedPin
    options.wait = store.access.waitingTime(standard: wait)
    // A verb reads each text only once, so a cache doesn't help.
    options.textCacheBytes = 0
    return options
  }

  /// Throws an error for an option that sets a title if the store doesn't keep titles.
  func requireTitles(of opened: DocumentStore, for option: String) throws {
    guard opened.titles == .none else { return }
    throw Failure.usage(
      "\(store.path) keeps no titles, so that \(option) would be lost",
      hint: "'rekey --titles sealed' makes it keep them")
  }

  private func noteSlot(of opened: DocumentStore) throws {
    guard common.verbose, let slot = try opened.keys.list().first(where: { $0.opened }) else { return }
    let label = slot.label.isEmpty ? "" : " (\(slot.label))"
    common.diagnostics.detail("slot \(slot.slot), \(slot.kindName)\(label), opened \(store.path)")
  }

  func warnIfTest(_ opened: DocumentStore) {
    if opened.isTest {
      common.diagnostics.warning("\(store.path) is a TEST store: its keys may be published")
    }
  }
}
