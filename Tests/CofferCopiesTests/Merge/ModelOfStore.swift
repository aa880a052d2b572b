import Coffer
import Foundation
import Synchronization

@testable import CofferEngine
@testable import CofferMergeModel
@testable import CofferRecords
@testable import CofferStoreTestSupport

/// A store as the executable model of merging sees it.
enum ModelOfStore {
  /// Reads a store into a model.
  static func read(_ store: DocumentStore) throws -> ModelStore {
    var model = ModelStore(generator: SeededGenerator(seed: 0))
    try store.engine.reading { transaction throws(StoreError) in
      let replicas = try transaction.replicas
      let counter = transaction.state.counter
      model.replica = replicas.ownReplica.identity.replica
      for (number, entry) in replicas.entries.enumerated() {
        model.vector[entry.identity.replica] = Int(replicas.counter(of: UInt32(number), ownCounter: counter))
      }
      let collections = try transaction.storedCollections()
      for record in collections { model.collections[record.uid.record] = record.model(replicas) }
      let uids = Dictionary(uniqueKeysWithValues: collections.map { ($0.id, $0.uid.record) })
      let ids = try transaction.allIDs()
      for id in ids {
        let stored = try transaction.storedDocument(id)
        var record = stored.model(replicas, in: uids[stored.fields.collection]!)
        for attachment in try transaction.attachmentRecords(of: id) {
          record.attachments[attachment.uid.record] = ModelAttachment(
            born: attachment.born.model(replicas),
            name: Part(.string(attachment.name), attachment.nameDot.model(replicas)),
            content: "\(Attachment(attachment).sha256)")
        }
        model.documents[stored.history.uid.record] = record
      }
      try DeletionWalk.forEach(transaction.database, within: transaction.limits) { row throws(StoreError) in
        let deletion = try DeletionRecord(row, transaction.keys)
        model.gone[deletion.uid.record] = Entry(
          deletions: Set(deletion.dots.map { $0.model(replicas) }), stamp: deletion.stamp.model(replicas))
      }
    }
    let identities = try store.engine.reading { transaction throws(StoreError) in
      Dictionary(uniqueKeysWithValues: try transaction.replicas.entries.map { ($0.identity.replica, $0.identity) })
    }
    model.copyIdentity = { document, dot in
      // Only the store that made a text knows a replica that the other one lacks.
      guard let identity = identities[dot.replica] ?? Self.known.withLock({ $0[dot.replica] }) else { return document }
      return copy(of: document, identity, dot.counter)
    }
    for (replica, identity) in identities { Self.known.withLock { $0[replica] = identity } }
    return model
  }

  /// The documents that read as having a key.
  static func holdersOfKeys(_ store: DocumentStore) throws -> Set<RecordID> {
    try store.engine.reading { transaction throws(StoreError) in
      var holders: Set<RecordID> = []
      for id in try transaction.allIDs() {
        let stored = try transaction.storedDocument(id)
        if stored.header.key != nil { holders.insert(stored.history.uid.record) }
      }
      return holders
    }
  }

  /// The parents that documents read as having, except parents that are missing.
  static func parents(_ store: DocumentStore) throws -> [RecordID: RecordID] {
    try store.engine.reading { transaction throws(StoreError) in
      var records: [Int64: RecordID] = [:]
      var parents: [(child: RecordID, parent: Int64)] = []
      for id in try transaction.allIDs() {
        let stored = try transaction.storedDocument(id)
        records[id.rawValue] = stored.history.uid.record
        if let parent = stored.document.parent { parents.append((stored.history.uid.record, parent.rawValue)) }
      }
      return Dictionary(
        uniqueKeysWithValues: parents.compactMap { edge in records[edge.parent].map { (edge.child, $0) } })
    }
  }

  /// The identities of all replicas that were read.
  private static let known = Mutex<[ReplicaID: UniqueID]>([:])

  private static func copy(of document: RecordID, _ identity: UniqueID, _ counter: Int) -> RecordID {
    var bytes: [UInt8] = []
    for word in [document.high, document.low, identity.high, identity.low, UInt64(counter)] {
      withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
    guard let uid = try? UniqueID(hashing: "coffer3/copy", bytes) else { return document }
    return uid.record
  }
}

extension StoreTransaction {
  fileprivate func allIDs() throws(StoreError) -> [DocumentID] {
    var ids: [DocumentID] = []
    try database.forEachRow(SQL.allIDs, []) { row in
      ids.append(DocumentID(row.int64(at: 0)))
      return true
    }
    return ids
  }
}

extension UniqueID {
  fileprivate var record: RecordID { RecordID(high: high, low: low) }
  /// The first half, which is enough for few replicas and keeps their order.
  fileprivate var replica: ReplicaID { ReplicaID(rawValue: high) }
}

extension CofferRecords.Dot {
  fileprivate func model(_ replicas: Replicas) -> CofferMergeModel.Dot {
    isZero
      ? .never : CofferMergeModel.Dot(counter: Int(counter), replica: replicas[replica].identity.replica)
  }
}

extension CollectionRecord {
  fileprivate func model(_ replicas: Replicas) -> ModelRecord {
    let parts: [PartName: Part] = [
      .born: Part(.empty, dots.born.model(replicas)),
      .name: Part(.string(storedName), dots.name.model(replicas)),
      .settings: Part(.string(String(decoding: settings.canonicalJSON, as: UTF8.self)), dots.settings.model(replicas)),
      .dropped: Part(isDropped ? .yes : .no, dots.dropped.model(replicas)),
    ]
    return ModelRecord(parts: parts, stamp: dots.stamp.model(replicas))
  }
}

extension StoredDocument {
  fileprivate func model(_ replicas: Replicas, in collection: RecordID) -> ModelRecord {
    let dots = history.decodedDots
    var bytes = header.position.bytes[...]
    var levels: [Level] = []
    while !bytes.isEmpty { levels.append(Level(readingFrom: &bytes)) }
    let place = Place(
      collection: collection, position: Position(levels: levels), parent: history.parent?.record)
    var parts: [PartName: Part] = [
      .born: Part(.empty, dots.born.model(replicas)),
      .text: Part(.string(document.text), dots.text.model(replicas)),
      .title: Part(PartValue(document.title), dots.title.model(replicas)),
      .key: Part(PartValue(storedKey?.text), dots.key.model(replicas)),
      .place: Part(.place(place), dots.place.model(replicas)),
    ]
    for member in document.attributes.memberList {
      let dot = dots.members.first { $0.name == member.name }?.dot ?? dots.attributes
      parts[.attribute(String(decoding: member.name, as: UTF8.self))] = Part(
        .string(String(decoding: member.value, as: UTF8.self)), dot.model(replicas))
    }
    for member in dots.members {
      let name = PartName.attribute(String(decoding: member.name, as: UTF8.self))
      if parts[name] == nil { parts[name] = Part(.empty, member.dot.model(replicas)) }
    }
    return ModelRecord(parts: parts, stamp: dots.stamp.model(replicas), kept: dots.kept.model(replicas))
  }
}
