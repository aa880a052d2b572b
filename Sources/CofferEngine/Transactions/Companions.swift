/// State that a target above the engine keeps on a connection, such as its open indexes.
///
/// The connection creates it on first use and releases it when the keys change.
package protocol ConnectionCompanion: AnyObject {
  init()
}

/// State that a target above the engine keeps on an open store, shared by all its connections.
package protocol SessionCompanion: AnyObject, Sendable {
  init(_ options: OpenOptions)

  /// Releases what the companion keeps, when the store is closed.
  func close()

  /// Releases the memory that the companion can fill again, when the store is suspended.
  func releaseMemory()
}

extension [ObjectIdentifier: any ConnectionCompanion] {
  /// Returns the companion of a type, and makes it if it's missing.
  mutating func companion<Companion: ConnectionCompanion>(_ type: Companion.Type) -> Companion {
    if let found = self[ObjectIdentifier(type)] as? Companion { return found }
    let made = type.init()
    self[ObjectIdentifier(type)] = made
    return made
  }
}

extension [ObjectIdentifier: any SessionCompanion] {
  /// Returns the companion of a type, and makes it if it's missing.
  mutating func companion<Companion: SessionCompanion>(_ type: Companion.Type, _ options: OpenOptions) -> Companion {
    if let found = self[ObjectIdentifier(type)] as? Companion { return found }
    let made = type.init(options)
    self[ObjectIdentifier(type)] = made
    return made
  }
}
