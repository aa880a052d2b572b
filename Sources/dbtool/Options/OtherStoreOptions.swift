internal import ArgumentParser
internal import Coffer

/// What the second store of a verb must prove: OTHER of `merge` and `diff`, and FROM of `restore`.
struct OtherStoreOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The other store must have this pin.", valueName: "pin"))
  var otherPin: String?

  @Option(
    help: ArgumentHelp(
      "The other store must not be older than this anchor: its line, or a file with it.", valueName: "anchor"),
    completion: .file())
  var otherAnchor: String?

  @Flag(help: "Accept a file of the same store with another root key, which a holder of a former key can have written.")
  var allowRekey = false

  var isEmpty: Bool { otherPin == nil && otherAnchor == nil && !allowRekey }

  func validate() throws {
    if let otherPin, StorePin(otherPin) == nil {
      throw ValidationError("--other-pin takes a pin: coffer-pin-3- and 128 hex digits")
    }
  }

  /// Opens the other store for reading, and compares it with the pin and the anchor.
  func open(_ path: String, with options: StoreOptions) throws -> DocumentStore {
    // Read the anchor first, so a file without one asks for no passphrase.
    let anchor = try otherAnchor.map { try StoreAnchor(word: $0) }
    let store = try options.openOther(path, pin: otherPin.map { StorePin($0)! })
    if let anchor {
      _ = try Failure.naming(path) { try store.relation(to: anchor, allowingRekey: allowRekey) }
    }
    return store
  }
}
