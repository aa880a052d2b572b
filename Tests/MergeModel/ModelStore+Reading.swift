/// A key within a collection.
public struct KeySlot: Hashable, Sendable {
  public let collection: RecordID
  public let key: String

  public init(collection: RecordID, key: String) {
    self.collection = collection
    self.key = key
  }
}

// What a reader sees is computed from what is stored. These rules never write anything.
extension ModelStore {
  /// The collections that a reader sees.
  ///
  /// A dropped collection is listed while it contains documents, which were changed elsewhere when it was dropped.
  public var listedCollections: Set<RecordID> {
    let used = Set(documents.values.map(\.place.collection))
    return Set(collections.filter { $0.value[.dropped] != .yes || used.contains($0.key) }.keys)
  }

  /// Returns the documents of a collection, in order.
  public func order(of collection: RecordID) -> [RecordID] {
    documents
      .filter { $0.value.place.collection == collection }
      .map { (position: $0.value.place.position, document: $0.key) }
      .sorted { ($0.position, $0.document) < ($1.position, $1.document) }
      .map(\.document)
  }

  /// The document that holds each key: the one whose key has the least dot. The others read as having no key.
  public var keys: [KeySlot: RecordID] {
    var holders: [KeySlot: (dot: Dot, document: RecordID)] = [:]
    for (document, record) in documents {
      guard let part = record.parts[.key], let key = part.value.string else { continue }
      let slot = KeySlot(collection: record.place.collection, key: key)
      if let holder = holders[slot], (holder.dot, holder.document) < (part.dot, document) { continue }
      holders[slot] = (part.dot, document)
    }
    return holders.mapValues(\.document)
  }

  /// The parent of each document that has one.
  ///
  /// A parent that is missing or in another collection reads as none. Of the documents in a cycle, the one that was
  /// placed last reads as having none.
  public var parents: [RecordID: RecordID] {
    var parents: [RecordID: RecordID] = [:]
    for (document, record) in documents {
      guard let parent = record.place.parent, let parentRecord = documents[parent],
        parentRecord.place.collection == record.place.collection
      else { continue }
      parents[document] = parent
    }
    var visited: Set<RecordID> = []
    for start in parents.keys.sorted() {
      var path: [RecordID] = []
      var document = start
      while let parent = parents[document], !visited.contains(document), !path.contains(document) {
        path.append(document)
        document = parent
      }
      if let entry = path.firstIndex(of: document) {
        let latest = path[entry...].max { (placeDot(of: $0), $0) < (placeDot(of: $1), $1) }
        parents[latest ?? document] = nil
      }
      visited.formUnion(path)
    }
    return parents
  }

  private func placeDot(of document: RecordID) -> Dot {
    documents[document]?.parts[.place]?.dot ?? .never
  }

  /// The name of each listed collection.
  ///
  /// Of equal names, the one with the least dot stays as it is. The others are extended by a part of the identity.
  public var names: [RecordID: String] {
    let listed = listedCollections
    let stored = listed.map { (name: collections[$0]?.parts[.name] ?? .unset, collection: $0) }
    var names: [RecordID: String] = [:]
    var taken: Set<String> = []
    for (name, collection) in stored.sorted(by: { ($0.name.dot, $0.collection) < ($1.name.dot, $1.collection) }) {
      if let string = name.value.string, taken.insert(string).inserted {
        names[collection] = string
      }
    }
    for (name, collection) in stored.sorted(by: { $0.collection < $1.collection }) where names[collection] == nil {
      var string = "\(name.value.string ?? "")~\(collection.description.prefix(8))"
      while !taken.insert(string).inserted {
        string += "~"
      }
      names[collection] = string
    }
    return names
  }
}
