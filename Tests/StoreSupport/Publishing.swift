import Coffer
import CofferEngine
import CofferSealing
import Foundation

/// The published signing key, and others for tests.
enum Publishing {
  static var key: SigningKey {
    get throws { try SigningKey(contentsOf: PublishedKeys.url("signing")) }
  }

  static var publisher: Publisher {
    get throws { try key.publisher }
  }

  /// Returns a new signing key, whose file is in the test's directory.
  static func newKey(in place: Workplace, isTest: Bool = true) throws -> SigningKey {
    let file = place.file("\(UUID().uuidString).key")
    try KeyLine.generate(.signing, isTest: isTest).write(toNewFile: file.path)
    return try SigningKey(contentsOf: file)
  }

  static func options(_ publisher: Publisher) -> OpenOptions {
    var options = OpenOptions.testing
    options.publisher = publisher
    return options
  }
}

extension TestStore {
  /// Opens a store as a release of a publisher.
  func asReleased(
    at url: URL? = nil, _ key: StoreKey = .published("primary"), by publisher: Publisher? = nil
  ) throws -> DocumentStore {
    try DocumentStore.open(
      at: url ?? self.url, key: key, options: Publishing.options(try publisher ?? Publishing.publisher))
  }
}
