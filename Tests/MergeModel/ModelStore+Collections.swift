extension ModelStore {
  /// Creates a collection and returns its identity.
  ///
  /// The identity depends on the name. A collection that two replicas create is one collection, and a collection that
  /// is created again is the one that was dropped.
  @discardableResult
  public mutating func createCollection(
    named name: String, settings: String? = nil
  ) throws(ModelError) -> RecordID {
    try requireFreeName(name)
    let listed = listedCollections
    var attempt = 0
    var collection = RecordID(collectionNamed: name, origin: origin, attempt: attempt)
    while listed.contains(collection) {
      attempt += 1
      collection = RecordID(collectionNamed: name, origin: origin, attempt: attempt)
    }
    let values: [PartName: PartValue] = [.name: .string(name), .settings: PartValue(settings), .dropped: .no]
    set(values, of: collection, at: commit())
    return collection
  }

  /// Gives a collection another name.
  public mutating func renameCollection(_ collection: RecordID, to name: String) throws(ModelError) {
    try requireCollection(collection)
    try requireFreeName(name)
    set([.name: .string(name)], of: collection, at: commit())
  }

  /// Deletes the documents of a collection and hides the collection. Returns the deleted documents.
  @discardableResult
  public mutating func dropCollection(_ collection: RecordID) throws(ModelError) -> [RecordID] {
    try requireCollection(collection)
    let dot = commit()
    let documents = order(of: collection)
    for document in documents {
      forget(document, at: dot)
    }
    set([.dropped: .yes], of: collection, at: dot)
    return documents
  }

  private mutating func set(_ values: [PartName: PartValue], of collection: RecordID, at dot: Dot) {
    collections[collection] = Self.record(collections[collection], setting: values, at: dot)
  }

  private func requireFreeName(_ name: String) throws(ModelError) {
    if names.values.contains(name) {
      throw .refused(.nameTaken)
    }
  }

  private func requireCollection(_ collection: RecordID) throws(ModelError) {
    if collections[collection] == nil {
      throw .refused(.unknownRecord)
    }
  }
}
