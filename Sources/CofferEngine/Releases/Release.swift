public import CofferDocuments
internal import CofferRecords
internal import CofferSealing

/// A signed state of a store's contents, and its position among the other releases.
public struct Release: Hashable, Sendable {
  /// The number, which increases by 1 with each release.
  public let number: Int64
  /// The time of the release.
  public let time: Timestamp
  /// The time after which readers should expect a newer release, or `nil` if the release doesn't expire.
  public let expires: Timestamp?
  /// The number of documents.
  public let documents: Int
  /// The number of collections.
  public let collections: Int
  /// The data set's identity, which is 16 bytes derived from the family key.
  package let dataSet: [UInt8]
  /// The SHA-256 of the contents' sum.
  let content: [UInt8]
  /// The SHA-256 of the previous release's text, or `nil` for the first release.
  let previous: [UInt8]?
  /// The following releases' publisher, or `nil` if it doesn't change.
  public let next: Publisher?

  /// The signed lines.
  package var text: String {
    var lines = [
      Self.title, "set \(Hexadecimal.text(dataSet))", "number \(number)", "time \(time)",
      "expires \(expires?.description ?? Self.none)", "documents \(documents)", "collections \(collections)",
      "content \(Hexadecimal.text(content))", "previous \(previous.map { Hexadecimal.text($0) } ?? Self.none)",
    ]
    if let next { lines.append("next \(next)") }
    return lines.map { $0 + "\n" }.joined()
  }

  private static let title = "coffer-release-1"
  private static let none = "none"
  static let numbers = 1...StoreFormat.maximumNumber

  init(
    number: Int64, time: Timestamp, expires: Timestamp?, _ contents: ContentWalk.Contents, dataSet: [UInt8],
    previous: [UInt8]?, next: Publisher?
  ) {
    (self.number, self.time, self.expires) = (number, time, expires)
    (documents, collections, content) = (contents.documents, contents.collections, contents.digest)
    (self.dataSet, self.previous, self.next) = (dataSet, previous, next)
  }

  /// Creates a release from its lines, or returns `nil` if the text isn't exactly a release's text.
  package init?(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard (10...11).contains(lines.count), lines[0] == Self.title else { return nil }
    func value(_ index: Int, _ name: String) -> Substring? {
      lines[index].hasPrefix("\(name) ") ? lines[index].dropFirst(name.count + 1) : nil
    }
    func bytes(_ digits: Substring?, _ count: Int) -> [UInt8]? {
      digits.flatMap { Hexadecimal.bytes($0) }.flatMap { $0.count == count ? $0 : nil }
    }
    guard let dataSet = bytes(value(1, "set"), 16), let number = value(2, "number").flatMap({ Int64($0) }),
      Self.numbers.contains(number), let time = value(3, "time").flatMap({ Timestamp(iso8601: $0) }),
      let expires = value(4, "expires"), let documents = value(5, "documents").flatMap({ Int($0) }), documents >= 0,
      let collections = value(6, "collections").flatMap({ Int($0) }), collections >= 0,
      let content = bytes(value(7, "content"), 32), let previous = value(8, "previous")
    else { return nil }
    self.number = number
    self.time = time
    self.expires = expires == Self.none ? nil : Timestamp(iso8601: expires)
    (self.documents, self.collections) = (documents, collections)
    (self.dataSet, self.content) = (dataSet, content)
    self.previous = previous == Self.none ? nil : bytes(previous, 32)
    next = lines.count == 11 ? value(9, "next").flatMap { try? Publisher(String($0)) } : nil
    // Reject values with another spelling, because they change the text.
    guard self.text.utf8.elementsEqual(text.utf8) else { return nil }
  }
}

/// A release with its signatures.
package struct SignedRelease: Hashable, Sendable {
  package let release: Release
  let note: SignedNote

  /// - Returns: `nil` unless the note is the note of a release with this number.
  init?(number: Int64, note text: String) {
    guard let note = SignedNote(text), let release = Release(note.text), release.number == number else { return nil }
    self.init(release: release, note: note)
  }

  init(release: Release, note: SignedNote) {
    (self.release, self.note) = (release, note)
  }

  /// Returns the text's SHA-256, which the next release contains.
  package func digest() throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try sha256(Array(note.text.utf8)) }
  }

  package func isSigned(by publisher: Publisher) throws(StoreError) -> Bool {
    try translatingErrors { () throws(SealingError) in
      try note.isSigned(as: publisher.noteName, by: publisher.publicKey)
    }
  }
}

/// A store's releases in order.
struct ReleaseChain {
  private(set) var releases: [SignedRelease] = []

  init(_ releases: [SignedRelease]) {
    self.releases = releases
  }

  /// - Throws: `damaged` if a row isn't its release's note.
  init(_ table: ReleaseTable) throws(StoreError) {
    for (number, note) in try table.notes() {
      guard let release = SignedRelease(number: number, note: note) else {
        throw .damagedStore("release \(number) isn't the note of a release")
      }
      releases.append(release)
    }
  }

  /// Returns the newest release if it's signed by a publisher, or by a successor that the publisher named.
  ///
  /// - Throws: `notAsReleased`.
  func newest(by publisher: Publisher) throws(StoreError) -> Release { try signed(by: publisher).release }

  /// Returns the newest release like ``newest(by:)``, and the publisher who signed it.
  ///
  /// - Throws: `notAsReleased`.
  func signed(by publisher: Publisher) throws(StoreError) -> (release: Release, signer: Publisher) {
    guard let last = releases.last else { throw .notAsReleased("the store has no release") }
    // Other publishers may have signed the releases before the publisher's first release. Later, the publisher can't
    // revoke a `next`, so a replaced signing key can't sign releases anymore, whoever has it.
    var own = 0
    while own < releases.count, try !releases[own].isSigned(by: publisher) { own += 1 }
    guard own < releases.count else {
      throw .notAsReleased(
        "no release is signed by the expected publisher",
        hint: "compare the publisher's line with the one that you were given, and get the files again")
    }
    var signer = publisher
    for index in releases.indices.dropFirst(own + 1) {
      let (release, former) = (releases[index], releases[index - 1])
      signer = former.release.next ?? signer
      // The newest release contains the hashes of all earlier texts, so only verify its signature and the signatures of
      // releases that change the signer.
      let isDecisive = release.release.next != nil || index == releases.endIndex - 1
      guard release.release.number == former.release.number + 1,
        try release.release.previous == former.digest(), try isDecisive ? release.isSigned(by: signer) : true
      else { throw .notAsReleased("release \(release.release.number) isn't signed by the expected publisher") }
    }
    return (last.release, signer)
  }
}
