internal import ArgumentParser
internal import CofferText

/// An encoding as people name it.
struct EncodingName: ExpressibleByArgument {
  let choice: EncodingChoice

  init(choice: EncodingChoice) {
    self.choice = choice
  }

  init?(argument: String) {
    guard let choice = EncodingChoice(name: argument) else { return nil }
    self.choice = choice
  }

  var defaultValueDescription: String { choice.name }

  static var allValueStrings: [String] { EncodingChoice.allNames }
}
