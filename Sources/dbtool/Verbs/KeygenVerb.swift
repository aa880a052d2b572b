internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferPlatform
internal import CofferSealing
internal import CofferTerminal

/// `keygen [FILE]`: creates a key or identity file.
struct KeygenVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen",
    abstract: "Create a key file, or an identity that can receive stores.",
    discussion: """
      A key file opens a store by itself. Keep a second copy elsewhere, and neither copy next to the store. An \
      identity is the secret half of a pair. You can give its public half, the recipient, to anyone who creates a \
      store for you. A signing key signs releases, and its public half is the publisher. -y prints the public half.

        dbtool keygen my.key
        dbtool keygen --identity me.identity
        dbtool keygen -y me.identity
        dbtool keygen --signing release.key
        dbtool keygen | pass insert -m coffer
      """)

  @Argument(
    help: "The new file, with mode 0600, never an existing file (default: standard output). With -y, an identity file.",
    completion: .file())
  var file: String?

  @Flag(help: "Create an X25519 identity instead of a key.")
  var identity = false

  @Flag(help: "Create a key that signs releases, but doesn't open stores.")
  var signing = false

  @Flag(help: "Create a test key, which opens only TEST stores.")
  var test = false

  @Flag(
    name: [.customShort("y"), .customLong("show-recipient")],
    help: "Only print the public half of the identity or signing key in FILE.")
  var showPublic = false

  @OptionGroup(title: "Everywhere") var common: CommonOptions

  func validate() throws {
    if identity, signing { throw ValidationError("--identity and --signing exclude each other") }
    guard showPublic else { return }
    if identity || signing || test { throw ValidationError("-y makes nothing: leave out the other options") }
    if file == nil { throw ValidationError("-y takes the file of an identity or a signing key") }
  }

  func run() throws {
    if showPublic, let file { return try printPublicHalf(of: file) }
    let line = try KeyLine.generate(signing ? .signing : identity ? .identity : .key, isTest: test)
    let half = try line.publicHalf()
    guard let file, file != InputFile.standardInput else {
      guard !Terminal.standardOutputIsTerminal else {
        throw Failure.usage("a key is not shown on a terminal", hint: "give a file, or send it to a program")
      }
      try line.write(descriptor: STDOUT_FILENO)
      if let half {
        common.diagnostics.note("\(half.name): \(half.line)")
      }
      return
    }
    try line.write(toNewFile: file)
    if common.isMachineReadable {
      try Report(
        [("path", .string(file)), ("kind", .string(line.kind.rawValue)), ("test", .bool(test))]
          + [half.map { ($0.name, .string($0.line)) } ?? ("recipient", nil)]
      ).print(as: common.listFormat)
    } else {
      try printLines(half?.line ?? file)
    }
  }

  private func printPublicHalf(of file: String) throws {
    try InputFile.requirePath(file, of: "key file")
    try InputFile.requireExisting(file)
    let line = try KeyLine.load(path: file)
    // If a key doesn't have a public half, the error of `recipient()` explains how to make a recipient.
    let (name, half) = try line.publicHalf() ?? ("recipient", try line.recipient())
    if common.isMachineReadable {
      try Report([(name, .string(half))]).print(as: common.listFormat)
    } else {
      try printLines(half)
    }
  }
}

extension KeyLine {
  /// Returns the public line with the name of its kind, or `nil` for a key.
  fileprivate func publicHalf() throws -> (name: String, line: String)? {
    switch kind {
    case .key: nil
    case .identity, .recipient: (Kind.recipient.rawValue, try recipient())
    case .signing, .publisher: (Kind.publisher.rawValue, try publisher())
    }
  }
}
