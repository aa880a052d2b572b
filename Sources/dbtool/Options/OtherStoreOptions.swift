internal import ArgumentParser
internal import Coffer

/// The requirements on the second store of a verb: OTHER of `merge` and `diff`, and FROM of `restore`.
struct OtherStoreOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Require this pin for the other store.", valueName: "pin"))
  var otherPin: String?

  @Option(
    help: ArgumentHelp(
      "Require that the other store isn't older than this anchor (a line, or a file with it).", valueName: "anchor"),
    completion: .file())
  var otherAnchor: String?

  @Flag(help: "Accept a file of the same store with another root key. A former key holder can have written it.")
  var allowRekey = false

  var isEmpty: Bool { otherPin == nil && otherAnchor == nil && !allowRekey }

  func validate() throws {
    if let otherPin, StorePin(otherPin) == nil {
      throw ValidationError("--other-pin takes a pin: coffer-pin-3- and 128 hex digits")
    }
  }

  /// Opens the other store for reading, and compares it with the pin and the anchor.
  func open(_ path: String, with options: StoreOptions) throws -> DocumentStore {
    // Read the anchor first, because an invalid anchor file shouldn't ask for a passphrase.
    let anchor = try otherAnchor.map { try StoreAnchor(word: $0) }
    let store = try options.openOther(path, pin: otherPin.map { StorePin($0)! })
    if let anchor {
      _ = try Failure.naming(path) { try store.relation(to: anchor, allowingRekey: allowRekey) }
    }
    return store
  }
}
