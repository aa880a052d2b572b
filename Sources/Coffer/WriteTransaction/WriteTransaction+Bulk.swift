internal import CofferEngine
internal import CofferRecords

extension WriteTransaction {
  /// Inserts every document of a source, in order, in this transaction.
  ///
  /// Reads and encrypts the source on another thread while this thread writes. Memory use doesn't depend on the
  /// source's size, except for a single large text.
  ///
  /// - Parameters:
  ///   - source: The source, which is read completely.
  ///   - collection: The collection, or `nil` to use each document's own collection, or `documents` if it doesn't
  ///     specify one. Missing collections are created.
  ///   - options: The options for IDs, placement, titles, taken keys, and progress.
  /// - Returns: The numbers of created, updated, unchanged and skipped documents, and of attachments.
  /// - Throws: Errors of the source, of reading attachments, and of `options.progress`. `alreadyExists` for a kept ID that's taken,
  ///   `duplicateKey`, `tooLarge`, `noNumberLeft`, or `invalidArgument` for a kept parent in another collection, each
  ///   with the source's record number. The transaction must then be rolled back, which happens when the error leaves
  ///   `write`.
  @discardableResult
  public func insert(
    contentsOf source: some DraftSource, into collection: DocumentCollection?, options: BulkOptions = BulkOptions()
  ) throws -> BulkReport {
    if options.onConflict != .fail {
      var upsert = BulkUpsert(transaction)
      return try upsert.run(contentsOf: source, into: collection, options: options)
    }
    var source = source
    return try insert(into: collection, options, readBy: { _ in () }) { stage, batch, _ in
      try stage.fill(batch, from: &source)
    }
  }

  /// Inserts documents in order, each like ``insert(_:into:at:id:)``, but at the speed of bulk insertion.
  ///
  /// The calling thread reads the sequence while another thread encrypts, so you can use any sequence. At most about 2
  /// MB are in memory, except for a single large text. Parents are kept, and must be in the store before the call. A
  /// missing collection is created.
  ///
  /// - Returns: The number of created documents, and the first and last IDs.
  /// - Throws: `duplicateKey`, `tooLarge`, `noNumberLeft`, or `invalidArgument` for a parent that isn't in the
  ///   collection, each with the document's number in the sequence, from 1. Errors of `options.progress`. The
  ///   transaction must then be rolled back, which happens when the error leaves `write`.
  @discardableResult
  public func insert(
    contentsOf documents: some Sequence<Document>, into collection: DocumentCollection,
    options: BulkOptions = BulkOptions()
  ) throws -> BulkReport {
    try insert(reading: documents, into: collection, options: options) { ($0, isUsualTitle: false) }
  }

  /// Inserts values in order, each as a document's JSON text, at the speed of bulk insertion.
  ///
  /// ```swift
  /// try tx.insert(contentsOf: notes, into: "notes", key: { DocumentKey($0.slug) })
  /// ```
  ///
  /// The calling thread reads the sequence and calls the closures, while another thread encodes and encrypts. The
  /// closures return each document's key, title and attributes, as in ``insert(_:into:at:key:title:attributes:id:)``.
  /// By default, documents have the value's `title` or `name` as their title, without a key or attributes.
  ///
  /// A document that `options.onConflict` updates is replaced as by ``put(_:into:key:title:attributes:)``, but keeps the
  /// attributes that the new value's attributes don't replace.
  ///
  /// - Returns: The number of created documents, and the first and last IDs.
  /// - Throws: Errors of the closures, `notEncodable`, `notDecodable` for a document to update, and the errors of
  ///   ``insert(contentsOf:into:options:)-(Sequence<Document>,_,_)``. The transaction must then be rolled back.
  @discardableResult
  public func insert<Value: Encodable & Sendable>(
    contentsOf values: some Sequence<Value>, into collection: DocumentCollection, options: BulkOptions = BulkOptions(),
    key: (Value) throws -> DocumentKey? = { _ in nil }, title: (Value) throws -> String? = { _ in nil },
    attributes: (Value) throws -> Attributes = { _ in Attributes() }
  ) throws -> BulkReport {
    let coding = transaction.values
    func named(_ value: Value) throws -> NamedValue<Value> {
      NamedValue(
        value: value, key: try key(value), title: try title(value), attributes: try attributes(value), coding: coding)
    }
    if options.onConflict != .fail {
      return try insert(
        reading: values, into: collection, options: options,
        replacement: { text, old throws(StoreError) in try coding.text(text, of: Value.self, replacing: old) }
      ) { value in
        let named = try named(value)
        return (try named.document(), isUsualTitle: named.title == nil)
      }
    }
    var values = values.makeIterator()
    var count = 0
    return try insert(
      into: collection, options,
      readBy: { (done: consuming ValueBatch<Value>?) in
        let batch = done ?? ValueBatch()
        let limit = batch.nextCount
        batch.values.removeAll(keepingCapacity: true)
        while batch.values.count < limit, let value = values.next() {
          count += 1
          batch.values.append((count, try named(value)))
        }
        return batch.values.isEmpty ? nil : batch
      },
      sealedBy: { stage, sealed, batch in
        try batch.encode()
        try stage.fill(sealed, with: batch.drafts)
        return true
      })
  }

  private func insert<Elements: Sequence>(
    reading elements: Elements, into collection: DocumentCollection, options: BulkOptions,
    replacement: Upsert.Replacement? = nil,
    _ document: (Elements.Element) throws -> (Document, isUsualTitle: Bool)
  ) throws -> BulkReport {
    var options = options
    // Keep parents, because they're IDs in this store. A `Document` doesn't have an ID itself.
    options.keepsIDs = true
    let record = try transaction.collectionEditor.openOrCreate(collection, titleRule: options.titleRule ?? .asGiven)
    let transaction = transaction
    return try withoutActuallyEscaping(document) { document in
      var source = DocumentSource(elements) { element, number in
        let (document, isUsualTitle) = try document(element)
        do throws(StoreError) {
          try transaction.editor.requireParent(document.parent, of: nil, isNew: true, in: record.id)
        } catch {
          throw error.of(record: number)
        }
        return (document, isUsualTitle)
      }
      if options.onConflict != .fail {
        var upsert = BulkUpsert(transaction, replacement: replacement)
        return try upsert.run(
          contentsOf: source, into: collection, options: options)
      }
      return try insert(
        into: collection, options,
        readBy: { (done: consuming DraftBatch?) in
          var drafts = done ?? DraftBatch()
          drafts.removeAll()
          return try source.read(into: &drafts) ? drafts : nil
        },
        sealedBy: { stage, batch, drafts in
          try stage.fill(batch, with: drafts)
          return true
        })
    }
  }

  private func insert<Drafts>(
    into collection: DocumentCollection?, _ options: BulkOptions, readBy read: (consuming Drafts?) throws -> Drafts?,
    sealedBy seal: @escaping (SealingStage, SealedBatch, Drafts) throws -> Bool
  ) throws -> BulkReport {
    let transaction = transaction
    if let collection {
      _ = try transaction.collectionEditor.openOrCreate(collection, titleRule: options.titleRule ?? .asGiven)
    }
    let stage = try SealingStage(transaction, into: collection, options: options)
    var report = BulkReport()
    try RowInsertion(transaction).run(
      readBy: read, sealedBy: { try seal(stage, $0, $1) },
      inserted: { batch in
        report.created += batch.rows.count
        try RowInsertion(transaction).requireFamilies(of: batch)
        for row in batch.rows {
          let id = DocumentID(row.fields.id)
          report.firstID = report.firstID ?? id
          report.lastID = id
          options.onInsert?(id)
        }
        for (row, drafts) in batch.attachments {
          do throws(StoreError) {
            report.attachments += try transaction.editor.attach(drafts, to: DocumentID(batch.rows[row].fields.id))
          } catch {
            throw error.of(record: batch.rows[row].record)
          }
        }
        try options.progress?(WorkProgress(done: report.created))
      })
    report.collections = stage.counts
    report.parentsDropped = try stage.parentsDropped + stage.laterParents.resolve(transaction)
    report.missingParents = stage.laterParents
    return report
  }

  /// Sets missing parents of documents that earlier transactions inserted.
  ///
  /// - Returns: The number of missing or invalid parents.
  package func setMissingParents(_ parents: LaterParents) throws(StoreError) -> Int {
    var parents = parents
    return try parents.resolve(transaction, ignoringInvalid: true)
  }
}

/// A value with its document's key, title and attributes.
private struct NamedValue<Value: Encodable & Sendable> {
  let value: Value
  let key: DocumentKey?
  let title: String?
  let attributes: Attributes
  let coding: CodableValues

  func document() throws(StoreError) -> Document {
    var document = try coding.document(of: value, title: title, attributes)
    document.key = key
    return document
  }
}

/// A batch of values, which are read and encoded on different threads.
private final class ValueBatch<Value: Encodable & Sendable> {
  /// The values with their numbers in the sequence, from 1.
  var values: [(number: Int, value: NamedValue<Value>)] = []
  private(set) var drafts = DraftBatch()

  /// The number of values to read next, which starts small and then targets 256 KiB of text.
  var nextCount: Int {
    guard !values.isEmpty else { return 8 }
    return min(512, max(1, (256 << 10) * values.count / max(1, drafts.bytes.count)))
  }

  func encode() throws(StoreError) {
    drafts.removeAll()
    for (number, value) in values {
      let document: Document
      do throws(StoreError) {
        document = try value.document()
      } catch {
        throw error.of(record: number)
      }
      try drafts.append(document, record: number)
    }
  }
}
