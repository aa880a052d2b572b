public import CofferDocuments
package import CofferEngine
internal import CofferRecords
internal import CofferSQLite
internal import CofferSealing

/// A document, and the document that contains another version of its text, which lost in a merge.
public struct OtherVersion: Sendable, Hashable {
  /// The document.
  public let document: DocumentID
  /// The document with the other version.
  public let version: DocumentID
}

extension StoreTransaction {
  /// Returns the documents that merges created for losing texts, in order.
  ///
  /// Pairs are omitted if a document was deleted or moved since. Reads the position index, and decrypts the heads of
  /// possible other versions.
  package func otherVersions() throws(StoreError) -> [OtherVersion] {
    var found: [OtherVersion] = []
    for (document, version) in try possibleVersions() {
      let (uid, _) = try identity(of: document)
      let (other, dots) = try identity(of: version)
      let (text, born) = (try replicas.uid(ofTextFrom: uid, dots.text), try replicas.uid(ofTextFrom: uid, dots.born))
      if other == text || other == born { found.append(OtherVersion(document: document, version: version)) }
    }
    return found
  }

  /// Returns the documents whose positions consist of another document's position and another version's level.
  private func possibleVersions() throws(StoreError) -> [(document: DocumentID, version: DocumentID)] {
    var found: [(DocumentID, DocumentID)] = []
    // The entries whose positions are prefixes of the current position, by length.
    var beginnings: [(collection: Int64, position: [UInt8], id: Int64)] = []
    var count: UInt64 = 0
    let entries = try database.statement(SQL.allEntries)
    defer { entries.reset() }
    while try entries.step() {
      // A cycle of pages would repeat entries forever.
      count += 1
      guard count <= state.count else { throw .damagedStore("its index of the documents' order has too many entries") }
      let columns = entries.columns()
      let (collection, id) = (columns[0].integer, columns[2].integer)
      let position = Array(columns[1].bytes)
      while let last = beginnings.last, last.collection != collection || !position.starts(with: last.position) {
        beginnings.removeLast()
      }
      if OtherVersionLevel.ends(position) {
        let beginning = position.dropLast(OtherVersionLevel.byteCount)
        for entry in beginnings where entry.position.elementsEqual(beginning) {
          found.append((DocumentID(entry.id), DocumentID(id)))
        }
      }
      beginnings.append((collection, position, id))
    }
    return found
  }

  private func identity(of document: DocumentID) throws(StoreError) -> (uid: UniqueID, dots: DocumentDots) {
    try reading { reader throws(StoreError) in
      let row = try reader.row(document, withBody: false, within: limits)
      let head = try reader.opener.openHead(row, acceptsNewer: true)
      return (head.uid, DocumentDots(checked: head.dots))
    }
  }
}

/// The last level of another version's position, after the document's position.
enum OtherVersionLevel {
  static let byteCount = 5
  private static let number: UInt8 = 0x80
  private static let place: UInt8 = 0x80

  /// Returns a new document's level.
  static func bytes(for uid: UniqueID) -> [UInt8] { [number] + uid.bytes.prefix(3) + [place] }

  /// Returns whether a position may end with the level of another version.
  static func ends(_ position: [UInt8]) -> Bool {
    position.count > byteCount && position.last == place && position[position.count - byteCount] == number
  }
}

extension Replicas {
  /// Returns the identity that a losing text's document gets, in every store.
  ///
  /// - Parameters:
  ///   - uid: The document of the text.
  ///   - text: The commit that wrote the text.
  /// - Throws: `setMismatch` if the commit's replica is missing, which only a key holder can cause.
  func uid(ofTextFrom uid: UniqueID, _ text: Dot) throws(StoreError) -> UniqueID {
    guard text.replica < entries.count else { throw JointReplicas.unknownDot }
    var builder = ByteBuilder()
    builder.append(self[text.replica].identity)
    builder.append(text.counter)
    return try UniqueID(hashing: "coffer3/copy", uid.bytes + builder.bytes)
  }
}
