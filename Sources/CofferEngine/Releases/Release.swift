public import CofferDocuments
internal import CofferRecords
internal import CofferSealing

/// A state of a store's contents that a publisher signed, and its place among the other releases.
public struct Release: Hashable, Sendable {
  /// The number, which rises by 1.
  public let number: Int64
  /// The time at which it was made.
  public let time: Timestamp
  /// The time after which readers should expect a newer release, or `nil`.
  public let expires: Timestamp?
  /// The number of documents.
  public let documents: Int
  /// The number of collections.
  public let collections: Int
  /// The identity of the data set, 16 bytes that follow from the family key.
  package let dataSet: [UInt8]
  /// The SHA-256 of the sum of the contents.
  let content: [UInt8]
  /// The SHA-256 of the previous release's text, or `nil` for the first release.
  let previous: [UInt8]?
  /// The publisher of the following releases if it's another one.
  public let next: Publisher?

  /// The lines that are signed.
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

  /// Reads the lines, or returns `nil` for a text that isn't exactly the text of a release.
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
    // Any other spelling of a value gives another text.
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

  /// The SHA-256 of the text, which the next release names.
  package func digest() throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try sha256(Array(note.text.utf8)) }
  }

  package func isSigned(by publisher: Publisher) throws(StoreError) -> Bool {
    try translatingErrors { () throws(SealingError) in
      try note.isSigned(as: publisher.noteName, by: publisher.publicKey)
    }
  }
}

/// The releases of a store in their order.
struct ReleaseChain {
  private(set) var releases: [SignedRelease] = []

  init(_ releases: [SignedRelease]) {
    self.releases = releases
  }

  /// - Throws: `damaged` if a row isn't the note of its release.
  init(_ table: ReleaseTable) throws(StoreError) {
    for (number, note) in try table.notes() {
      guard let release = SignedRelease(number: number, note: note) else {
        throw .damagedStore("release \(number) isn't the note of a release")
      }
      releases.append(release)
    }
  }

  /// Returns the newest release, if it's one of a publisher or of a publisher that this one named as the next.
  ///
  /// - Throws: `notAsReleased`.
  func newest(by publisher: Publisher) throws(StoreError) -> Release { try signed(by: publisher).release }

  /// Returns the newest release like ``newest(by:)``, and the publisher who signed it.
  ///
  /// - Throws: `notAsReleased`.
  func signed(by publisher: Publisher) throws(StoreError) -> (release: Release, signer: Publisher) {
    guard let last = releases.last else { throw .notAsReleased("the store has no release") }
    // Releases before the publisher's first one may be others'. From it on, the publisher can't take back a `next`, so
    // that a signing key that was replaced signs nothing anymore, whoever has it.
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
      // The newest release names the texts of all others, so only those that change the signer are compared with it.
      let isDecisive = release.release.next != nil || index == releases.endIndex - 1
      guard release.release.number == former.release.number + 1,
        try release.release.previous == former.digest(), try isDecisive ? release.isSigned(by: signer) : true
      else { throw .notAsReleased("release \(release.release.number) isn't signed by the expected publisher") }
    }
    return (last.release, signer)
  }
}
