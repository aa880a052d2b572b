internal import CofferSQLite
internal import CofferSealing

// Documents of Strings, read and written one at a time: what scopes and synchronisation are made of.

extension StoreTransaction {
  func header(of id: DocumentID) throws(StoreError) -> DocumentHeader {
    try withRow(id, body: false) { row, _ throws(StoreError) in
      DocumentHeader(row, try connection.opener.openHead(row))
    }
  }

  func document(_ id: DocumentID) throws(StoreError) -> Document {
    try withOpened(id) { opened throws(StoreError) in Document(opened) }
  }

  /// For code that is compiled into apps, where what a generic function returns is known.
  @usableFromInline
  func visit(_ id: DocumentID, _ body: (OpenedDocument) -> Void) throws(StoreError) {
    try withOpened(id) { opened throws(StoreError) in body(opened) }
  }

  func withOpened<R>(_ id: DocumentID, _ body: (OpenedDocument) throws(StoreError) -> R) throws(StoreError) -> R {
    if let cached = try cached(id) { return try body(cached.opened) }
    return try withRow(id, body: true) { row, _ throws(StoreError) in
      let opener = connection.takeOpener()
      defer { connection.giveBack(opener) }
      let head = try opener.openHead(row)
      let text = try opener.openBody(row, head)
      let header = DocumentHeader(row, head)
      keep(header, text)
      return try body(OpenedDocument(header: header, utf8: text))
    }
  }

  /// Adds a document; whatever can be refused is, before anything is written.
  ///
  /// - Parameters:
  ///   - isNew: the collection is yet to be written, too.
  ///   - requiresParent: a parent must be there already.
  ///   - derivesTitle: the collection's rule makes the title that is missing.
  func add(
    _ document: Document, in record: CollectionRecord, isNew: Bool = false, id wanted: DocumentID?,
    requiringParent requiresParent: Bool = true, derivingTitle derivesTitle: Bool = true,
    at findPosition: () throws(StoreError) -> Int64
  ) throws(StoreError) -> DocumentID {
    if let wanted, try isTaken(wanted) {
      throw StoreError(.alreadyExists, "there is a document \(wanted) already", documentID: wanted)
    }
    let id = try DocumentID.next(state.nextID, unless: wanted)
    try requireUnusedKey(document.key, in: record, by: nil)
    if requiresParent { try requireParent(document.parent, of: id, isNew: wanted == nil, in: record.id) }
    let position = try findPosition()
    let now = Timestamp.now()
    var document = document
    if derivesTitle, document.title == nil, record.titleRule == .derived { document.title = document.derivedTitle }
    try willWrite()
    let fields = RowFields(
      id: id, collection: record.id, epoch: keys.active.epoch, revision: revision, position: position,
      parent: document.parent?.rawValue, flags: document.isJSON ? StoreFormat.RowFlags.json.rawValue : 0)
    try seal(
      document, fields, lookup: try lookup(of: document.key, in: record), created: document.created ?? now,
      modified: document.modified ?? now)
    if isNew { try insertCollection(record) }
    try insertSealed()
    return DocumentID(id)
  }
}
