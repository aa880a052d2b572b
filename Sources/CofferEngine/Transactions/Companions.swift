/// State that a target above the engine keeps on a connection, such as its open indexes.
///
/// The connection creates it on first use and releases it when the keys change.
package protocol ConnectionCompanion: AnyObject {
  init()
}

/// State that a target above the engine keeps on an open store, shared by all its connections.
package protocol SessionCompanion: AnyObject, Sendable {
  /// - Parameter file: What the process shares among all open stores of the file.
  init(_ options: OpenOptions, _ file: ProcessLocks)

  /// Releases what the companion keeps, when the store is closed.
  func close()

  /// Releases the memory that the companion can fill again, when the store is suspended.
  func releaseMemory()
}

/// State of a higher target, shared by all of this process's open stores of a file.
package protocol FileCompanion: AnyObject, Sendable {
  init()
}

extension [ObjectIdentifier: any FileCompanion] {
  /// Returns the companion of a type, and makes it if it's missing.
  mutating func companion<Companion: FileCompanion>(_ type: Companion.Type) -> Companion {
    if let found = self[ObjectIdentifier(type)] as? Companion { return found }
    let made = type.init()
    self[ObjectIdentifier(type)] = made
    return made
  }
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
  mutating func companion<Companion: SessionCompanion>(
    _ type: Companion.Type, _ options: OpenOptions, _ file: ProcessLocks
  ) -> Companion {
    if let found = self[ObjectIdentifier(type)] as? Companion { return found }
    let made = type.init(options, file)
    self[ObjectIdentifier(type)] = made
    return made
  }
}
