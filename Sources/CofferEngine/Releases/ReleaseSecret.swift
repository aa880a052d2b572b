package import CofferRecords
package import CofferSealing

/// The publisher's private data for a release: the key of the files that lead to it, and its included commits (FORMAT,
/// "Releases").
package struct ReleaseSecret {
  /// The key that each customer's key file wraps.
  package let key: Secret
  /// The counters of the replicas whose commits the release includes.
  package let counters: [UniqueID: UInt64]

  /// Makes the secret of a new release of a transaction's contents.
  init(for transaction: StoreTransaction) throws(StoreError) {
    key = try translatingErrors { () throws(SealingError) in try .random(byteCount: RootKey.byteCount) }
    let replicas = try transaction.replicas
    var counters = Dictionary(uniqueKeysWithValues: replicas.entries.map { ($0.identity, $0.counter) })
    counters[replicas.ownReplica.identity] = transaction.start.counter
    self.counters = counters
  }

  // MARK: The sealed form

  /// - Parameter digest: The SHA-256 of the text of the release.
  func seal(_ session: SessionKeys, of digest: [UInt8]) throws(StoreError) -> [UInt8] {
    var builder = ByteBuilder()
    for (identity, counter) in counters.sorted(by: { $0.key < $1.key }) {
      builder.append(identity)
      builder.append(counter)
    }
    let list = builder.bytes
    return try translatingErrors { () throws(SealingError) in
      let plain = try Secret(byteCount: key.count + list.count) { memory throws(SealingError) in
        key.withUnsafeBytes { memory.copyMemory(from: $0) }
        list.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: memory[key.count...]).copyMemory(from: $0) }
        return memory.count
      }
      return try Self.generation(of: session)
        + XAESKey(session.root.derive(.release)).seal(plain, authenticating: Self.binding(digest))
    }
  }

  /// Opens the sealed form, or returns `nil` if the store's root key was changed since.
  ///
  /// - Throws: `damaged`.
  init?(_ sealed: [UInt8], _ session: SessionKeys, of digest: [UInt8]) throws(StoreError) {
    let generation = Self.generation(of: session)
    // Anyone with a former root key could decrypt the files of later releases.
    guard sealed.starts(with: generation) else { return nil }
    let plain: Secret
    do throws(SealingError) {
      plain = try XAESKey(session.root.derive(.release))
        .openSecret(Array(sealed.dropFirst(generation.count)), authenticating: Self.binding(digest))
    } catch {
      throw .unopened(error, .damagedStore("the private part of a release can't be opened"))
    }
    guard plain.count >= RootKey.byteCount else { throw .damagedStore("the private part of a release is invalid") }
    key = plain.slice(0..<RootKey.byteCount)
    let counters: [UniqueID: UInt64]? = plain.withUnsafeBytes { bytes in
      var reader = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[RootKey.byteCount...]))
      var counters: [UniqueID: UInt64] = [:]
      while !reader.isAtEnd {
        guard let identity = reader.uniqueID(), let counter: UInt64 = reader.integer() else { return nil }
        counters[identity] = counter
      }
      return counters
    }
    guard let counters else { throw .damagedStore("the private part of a release is invalid") }
    self.counters = counters
  }

  /// Returns the number of the sealing root key.
  private static func generation(of session: SessionKeys) -> [UInt8] {
    var builder = ByteBuilder(reserving: 8)
    builder.append(session.root.generation)
    return builder.bytes
  }

  private static func binding(_ digest: [UInt8]) -> [UInt8] {
    PreAuthenticationEncoding("coffer3/release").adding(digest).bytes
  }
}
