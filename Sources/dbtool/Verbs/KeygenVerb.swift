internal import ArgumentParser
internal import Coffer
internal import CofferEngine
internal import CofferPlatform
internal import CofferSealing
internal import CofferTerminal

/// `keygen [FILE]`: a new key or identity file.
struct KeygenVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen",
    abstract: "Make a key file, or an identity that can receive stores.",
    discussion: """
      A key file opens a store by itself: keep a copy in a second place, and neither beside the store. An identity is \
      the secret half of a pair; its public half, the recipient, may be given to anyone who makes a store for you. -y \
      prints it.

        dbtool keygen my.key
        dbtool keygen --identity me.identity
        dbtool keygen -y me.identity
        dbtool keygen | pass insert -m coffer
      """)

  @Argument(
    help: "The new file, mode 0600; never an existing one. Without it: standard output. With -y, an identity file.",
    completion: .file())
  var file: String?

  @Flag(help: "An X25519 identity in place of a key.")
  var identity = false

  @Flag(help: "A test key: opens TEST stores only.")
  var test = false

  @Flag(
    name: [.customShort("y"), .customLong("show-recipient")],
    help: "Make nothing: print the public recipient of the identity in FILE.")
  var showRecipient = false

  @OptionGroup(title: "Everywhere") var common: CommonOptions

  func validate() throws {
    guard showRecipient else { return }
    if identity || test { throw ValidationError("-y makes nothing: leave out --identity and --test") }
    if file == nil { throw ValidationError("-y takes an identity file") }
  }

  func run() throws {
    if showRecipient, let file { return try printRecipient(of: file) }
    let line = try KeyLine.generate(identity ? .identity : .key, isTest: test)
    let recipient = identity ? try line.recipient() : nil
    guard let file, file != "-" else {
      guard !Terminal.standardOutputIsTerminal else {
        throw Failure.usage("a key is not shown on a terminal", hint: "give a file, or send it to a program")
      }
      try line.write(descriptor: STDOUT_FILENO)
      if let recipient {
        common.diagnostics.note("recipient: \(recipient)")
      }
      return
    }
    try line.write(toNewFile: file)
    if common.isMachineReadable {
      try Report([
        ("path", .string(file)), ("kind", .string(line.kind.rawValue)), ("test", .bool(test)),
        ("recipient", recipient.map { .string($0) }),
      ]).print(as: common.listFormat)
    } else {
      try printLines(recipient ?? file)
    }
  }

  private func printRecipient(of file: String) throws {
    try InputFile.requireExisting(file)
    let recipient = try KeyLine.load(path: file).recipient()
    if common.isMachineReadable {
      try Report([("recipient", .string(recipient))]).print(as: common.listFormat)
    } else {
      try printLines(recipient)
    }
  }
}
