package import CofferDocuments
package import CofferRecords
internal import CofferSealing

/// A release folder's index, which contains the releases and a signed list of the files that lead to the newest release
/// (FORMAT, "Release folders").
package struct ReleaseIndex: Sendable {
  /// The releases in order.
  package let releases: [SignedRelease]
  /// The files, sorted by their starting release.
  package let updates: [ReleaseUpdate]
  private let note: SignedNote

  package static let name = "index"
  package static let maximumByteCount = 64 << 20
  private static let title = "coffer-index-1"
  private static let maximumNoteByteCount = 4 << 20

  /// The newest release.
  package var newest: SignedRelease { releases.last! }

  /// Creates and signs an index.
  package init(_ releases: [SignedRelease], _ updates: [ReleaseUpdate], signedBy key: SigningKey) throws(StoreError) {
    let last = releases.last!
    let lines =
      [
        Self.title, "set \(Hexadecimal.text(last.release.dataSet))",
        "release \(last.release.number) \(Hexadecimal.text(try last.digest()))",
      ] + updates.map(\.line)
    note = try key.sign(lines.map { $0 + "\n" }.joined())
    (self.releases, self.updates) = (releases, updates)
  }

  /// The file's contents, which are the signed list and the releases' notes, separated by empty lines.
  package var text: String {
    ([note.description] + releases.map(\.note.description)).joined(separator: "\n")
  }

  /// Reads the file's contents, or returns `nil` if they're invalid. Doesn't verify signatures.
  package init?(_ text: String) {
    // A note's text and signatures don't contain empty lines.
    let parts = text.split(separator: "\n\n", omittingEmptySubsequences: false)
    guard parts.count.isMultiple(of: 2), parts.count >= 4 else { return nil }
    func note(_ index: Int, limit: Int) -> SignedNote? {
      SignedNote(
        "\(parts[index])\n\n\(parts[index + 1])\(index + 2 == parts.count ? "" : "\n")", limit: limit)
    }
    guard let list = note(0, limit: Self.maximumNoteByteCount) else { return nil }
    var releases: [SignedRelease] = []
    for index in stride(from: 2, to: parts.count, by: 2) {
      guard let note = note(index, limit: SignedNote.maximumByteCount), let release = SignedRelease(note) else {
        return nil
      }
      // Check each release's link to the previous release, because a new store also keeps release texts that its
      // publisher's chain doesn't need.
      if let last = releases.last {
        guard release.release.number == last.release.number + 1, let digest = try? last.digest(),
          release.release.previous == digest
        else { return nil }
      }
      releases.append(release)
    }
    let lines = list.text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
    let last = releases.last!
    guard lines.count >= 3, lines[0] == Self.title, lines[1] == "set \(Hexadecimal.text(last.release.dataSet))",
      let digest = try? last.digest(), lines[2] == "release \(last.release.number) \(Hexadecimal.text(digest))"
    else { return nil }
    var updates: [ReleaseUpdate] = []
    for line in lines.dropFirst(3) {
      guard let update = ReleaseUpdate(line), update.to <= last.release.number,
        updates.last.map({ ($0.from, $0.to) < (update.from, update.to) }) ?? true
      else { return nil }
      updates.append(update)
    }
    (self.releases, self.updates, self.note) = (releases, updates, list)
    guard self.text == text else { return nil }
  }

  func isSigned(by publisher: Publisher) throws(StoreError) -> Bool {
    try translatingErrors { () throws(SealingError) in
      try note.isSigned(as: publisher.noteName, by: publisher.publicKey)
    }
  }

  /// Returns the releases after a number.
  package func releases(after number: Int64) -> [SignedRelease] { releases.filter { $0.release.number > number } }

  // MARK: The way to the newest release

  /// Returns the files that lead to the newest release with the fewest bytes.
  ///
  /// - Parameter number: The release to start with, or 0 to start without a release.
  /// - Returns: The files in order, or `nil` if they don't lead to the newest release.
  package func way(from number: Int64) -> [ReleaseUpdate]? {
    Self.way(among: updates, from: number, to: newest.release.number)
  }

  private static func way(
    among updates: [ReleaseUpdate], from number: Int64, to newest: Int64
  ) -> [ReleaseUpdate]? {
    // Start with the latest releases, because every file leads to a later release, whose way must be known first.
    var ways: [Int64: (byteCount: Int, first: ReleaseUpdate?)] = [newest: (0, nil)]
    for update in updates.sorted(by: { ($0.to, $0.from) > ($1.to, $1.from) }) {
      guard let rest = ways[update.to] else { continue }
      let byteCount = rest.byteCount + update.byteCount
      if let known = ways[update.from], known.byteCount <= byteCount { continue }
      ways[update.from] = (byteCount, update)
    }
    // A way from 0 is valid from any release, because it starts with a file that contains all documents.
    guard var next = [ways[number], ways[0]].compactMap({ $0 }).min(by: { $0.byteCount < $1.byteCount }) else {
      return nil
    }
    var updates: [ReleaseUpdate] = []
    while let update = next.first, let rest = ways[update.to] {
      updates.append(update)
      next = rest
    }
    return updates
  }

  /// Returns the files without the oldest update files. Copies that need these use the file with all documents.
  ///
  /// - Parameter count: The number of files from release to release to keep.
  package static func newest(_ updates: [ReleaseUpdate], deltas count: Int) -> [ReleaseUpdate] {
    let old = Set(updates.filter { $0.from > 0 }.sorted { ($0.to, $0.from) > ($1.to, $1.from) }.dropFirst(count))
    return updates.filter { !old.contains($0) }
  }

  /// Returns the files on the way with the fewest bytes from at least one release.
  package static func useful(_ updates: [ReleaseUpdate], to newest: Int64) -> [ReleaseUpdate] {
    var used: Set<ReleaseUpdate> = []
    for number in Set(updates.map(\.from)) { used.formUnion(way(among: updates, from: number, to: newest) ?? []) }
    return updates.filter { used.contains($0) }
  }

  /// Returns the keys of the releases that the files lead to or from, by release number.
  ///
  /// - Parameter key: The newest release's key.
  package func keys(_ key: Secret) throws(StoreError) -> [Int64: Secret] {
    var keys = [newest.release.number: key]
    for update in updates.sorted(by: { $0.to > $1.to }) {
      guard let release = keys[update.to], keys[update.from] == nil else { continue }
      if let earlier = try update.earlierKey(openedWith: release) { keys[update.from] = earlier }
    }
    return keys
  }
}

extension SignedRelease {
  /// Creates a release from a note, or returns `nil` if the note doesn't contain a release.
  init?(_ note: SignedNote) {
    guard let release = Release(note.text) else { return nil }
    self.init(release: release, note: note)
  }
}

// MARK: - Proving an index

extension StoreTransaction {
  /// Requires an index to be signed by a publisher and to continue this store's releases.
  ///
  /// - Parameters:
  ///   - time: The current time.
  ///   - allowsOlder: Whether to accept an index whose newest release has expired, or is older than the store's newest
  ///     release, which leaves the store unchanged.
  /// - Returns: The number of the store's newest release.
  /// - Throws: `notAsReleased`, `testKeyRefused`, or `rolledBack` for an older or expired release.
  package func require(
    _ index: ReleaseIndex, by publisher: Publisher, at time: Timestamp, allowsOlder: Bool
  ) throws(StoreError) -> Int64 {
    let own = try hasReleases ? try ReleaseChain(ReleaseTable(database)).releases : []
    guard let last = own.last else {
      throw .notAsReleased("the store has no release", hint: "make a copy from the folder with 'update --create'")
    }
    let number = last.release.number
    for release in index.releases where release.release.number <= number {
      guard let mine = own.first(where: { $0.release.number == release.release.number }) else { continue }
      guard try mine.digest() == release.digest() else {
        throw .notAsReleased(
          "release \(release.release.number) of the folder isn't the store's",
          hint: "name the folder that the store was made from, or make a copy from this one")
      }
    }
    let known = own.filter { $0.release.number <= index.newest.release.number }
    try index.require(
      publisher, after: known, isTest: keys.session.header.isTest, dataSet: try dataSet(), at: time,
      allowsOlder: allowsOlder)
    guard allowsOlder || number <= index.newest.release.number else {
      throw StoreError(
        .rolledBack, "the folder has release \(index.newest.release.number), and the store has release \(number)",
        hint: "get the latest files, or accept older ones with --allow-older")
    }
    return number
  }

  /// Records an index's new releases, up to and including a number.
  package func addReleases(of index: ReleaseIndex, through number: Int64) throws(StoreError) {
    let table = ReleaseTable(database)
    let known = try table.notes().last?.number ?? 0
    for release in index.releases(after: known) where release.release.number <= number {
      try table.put(release.note.description, number: release.release.number)
    }
    try writer.willWrite()
    hasReleasesAfter = true
  }

  /// Requires the contents to match a release.
  ///
  /// - Throws: `notAsReleased`.
  package func requireContents(of release: Release, progress: ProgressHandler?) throws(StoreError) {
    try release.require(try ContentWalk.contents(of: self, progress: progress), in: self)
  }

  /// Returns the store's releases without verifying them.
  package func signedReleases() throws(StoreError) -> [SignedRelease] {
    try hasReleases ? try ReleaseChain(ReleaseTable(database)).releases : []
  }

  /// Returns this store's secret for a release, or `nil` if another store made the release, or if it was made under a
  /// former root key.
  package func secret(of release: SignedRelease) throws(StoreError) -> ReleaseSecret? {
    guard let sealed = try ReleaseTable(database).privatePart(of: release.release.number) else { return nil }
    return try ReleaseSecret(sealed, keys.session, of: try release.digest())
  }

  /// Returns the data set's identity (FORMAT, "Releases").
  package func dataSet() throws(StoreError) -> [UInt8] { try Release.dataSet(of: keys.session.keyring.family) }
}

extension ReleaseIndex {
  /// Requires this index to be signed by a publisher.
  ///
  /// - Parameters:
  ///   - own: A store's earlier releases, which the index's releases follow.
  ///   - time: The current time.
  ///   - allowsOlder: Whether the newest release may have expired.
  /// - Throws: `notAsReleased`, `testKeyRefused`, or `rolledBack`.
  package func require(
    _ publisher: Publisher, after own: [SignedRelease] = [], isTest: Bool, dataSet: [UInt8]?, at time: Timestamp,
    allowsOlder: Bool
  ) throws(StoreError) {
    guard publisher.isTest == isTest else {
      throw StoreError(
        .testKeyRefused, "a test publisher signs only releases of TEST stores, which have no other publishers")
    }
    let chain = own + releases(after: own.last?.release.number ?? 0)
    let (last, signer) = try ReleaseChain(chain).signed(by: publisher)
    guard last == newest.release, try isSigned(by: signer) else {
      throw .notAsReleased(
        "the index isn't signed by the expected publisher",
        hint: "compare the publisher's line with the one that you were given, and get the files again")
    }
    guard dataSet.map({ $0 == last.dataSet }) ?? true else {
      throw .notAsReleased(
        "the folder has the releases of another data set", hint: "name the folder of the store's data set")
    }
    if let expires = last.expires, expires <= time, !allowsOlder {
      throw StoreError(
        .rolledBack, "release \(last.number) expired at \(expires), so there should be a newer one",
        hint: "get the latest files from another place, or accept these with --allow-older")
    }
  }

  /// Returns whether a signing key signed this index. Requires a store to have the index's newest release.
  ///
  /// - Throws: `invalidArgument` if the store doesn't have this release.
  package func isContinued(by own: [SignedRelease], signedBy key: SigningKey) throws(StoreError) -> Bool {
    guard own.contains(newest) else {
      throw StoreError(
        .invalidArgument, "the folder has release \(newest.release.number), which the store lacks",
        hint: "publish from the store that made it; if this is a backup of that store, first update it from the folder")
    }
    return try isSigned(by: key.publisher)
  }
}
