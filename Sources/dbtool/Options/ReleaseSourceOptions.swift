internal import ArgumentParser
internal import Coffer
internal import CofferCopies
internal import CofferEngine
internal import CofferFoundation

/// The folder that a customer gets releases from.
struct ReleaseSourceOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The folder.", valueName: "directory"), completion: .directory)
  var directory: String

  @Option(help: ArgumentHelp("Your name in the publisher's list of customers.", valueName: "name"))
  var customer: String

  @Flag(help: "Accept a folder whose newest release is older than the copy's release, or has expired.")
  var allowOlder = false

  /// Returns the folder with its customer's key, which the caller forgets.
  func opened(for verb: String, _ options: StoreOptions) throws -> ReleaseSource {
    guard let publisher = try options.store.access.expectedPublisher else {
      throw Failure.usage("'\(verb)' needs --publisher, the public line of the one who signs the releases")
    }
    return ReleaseSource(
      at: URL(filePath: directory), by: publisher, as: customer, key: try options.openingKey(), allowsOlder: allowOlder)
  }
}
