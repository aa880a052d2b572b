internal import ArgumentParser
internal import Coffer
internal import CofferSealing

/// `recipient FILE`: the public half of an identity.
struct RecipientVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recipient",
    abstract: "Print the public recipient of an identity file.",
    discussion: """
      Anyone who has the recipient can make a store that only the identity opens.

        dbtool recipient me.identity
        dbtool create for-me.coffer --recipient "$(dbtool recipient me.identity)"
      """)

  @Argument(help: "An identity file, as 'keygen --identity' makes it.", completion: .file())
  var file: String

  @OptionGroup(title: "Everywhere") var common: CommonOptions

  func run() throws {
    try InputFile.requireExisting(file)
    let recipient = try KeyLine.load(path: file).recipient()
    if common.isMachineReadable {
      try Report([("recipient", .string(recipient))]).print(as: common.listFormat)
    } else {
      try printLines(recipient)
    }
  }
}
