package import CofferEngine
internal import CofferRecords
internal import CofferSealing
internal import CofferSearch

/// A salvage of a damaged store to a new store.
package struct Salvage {
  let sourcePath: String
  let key: StoreKey
  let target: String
  let slots: [NewSlot]
  let options: OpenOptions

  package init(source: String, key: StoreKey, target: String, slots: [NewSlot], options: OpenOptions) {
    sourcePath = source
    self.key = key
    self.target = target
    self.slots = slots
    self.options = options
  }

  /// - Parameters:
  ///   - change: Changes the new store's options, which default to the old store's options.
  ///   - progress: Called when the keys are known, then after each batch.
  package func run(
    changing change: (inout CreateOptions) throws -> Void, progress: ProgressHandler?
  ) throws -> CopyReport {
    try StoreEngine.requireWorkingCipher()
    let source = try SalvageSource(at: sourcePath, key: key, options: options)
    var creation = source.creation
    try change(&creation)
    let maker = StoreMaker(
      path: target, creation: creation, wait: options.wait, source: sourcePath, heritage: source.heritage)
    let walk = try SalvageWalk(source)
    var refused: [Verdict.Damage] = []
    var documents = 0
    let expected = source.state.map { Int($0.count) }
    func tell() throws {
      try progress?(WorkProgress(done: documents, total: max(documents, expected ?? 0)))
    }
    let report = try maker.make(
      slots, allowsTestKeys: options.allowsTestKeys,
      begin: tell,
      fill: { transaction in
        let copier = try RowCopier(into: transaction, source.heritage == nil ? .new : .kept(nil))
        for collection in try walk.readCollections(copier) {
          try transaction.writer.insertCollection(copier.add(collection))
        }
        if source.heritage != nil { try transaction.writer.keepsOwnRange = true }
        let attachments = AttachmentSalvage(walk)
        try attachments.sumRows()
        var sealed = 0
        try RowInsertion(transaction).run(
          readBy: { _ in () }, sealedBy: { batch, _ in try walk.fill(batch, with: copier) },
          refused: { row, error in
            guard error.code == .duplicateKey else { throw error }
            refused.append(Verdict.Damage(id: DocumentID(row.fields.id), reason: row.refusal(error).message))
          },
          inserted: { batch in
            sealed += batch.rows.count
            documents = sealed - refused.count
            try tell()
          })
        if let next = source.state?.nextID { try transaction.writer.reserveIDs(through: next - 1) }
        // Reserve all assigned IDs, including deleted parents, so IDs are never reused.
        try transaction.writer.reserveIDs(through: max(source.state?.bound ?? 1, walk.firstUnusedNumber) - 1)
        try walk.histories.removeWrongParents(in: transaction)
        try attachments.copy(to: transaction, with: copier, tell)
        if source.heritage != nil {
          try walk.copyDeletions(to: transaction)
          try walk.histories.raiseCounters(of: transaction)
        }
        try walk.reportMissingDocuments(tell)
        try StoreIndexes(transaction).copy(of: source.indexDeclaration)
        var report = CopyReport(transaction)
        report.documents = documents
        report.expected = expected
        walk.conclude(&report)
        report.attachments = attachments.saved
        report.leftOutAttachments = attachments.left.sorted { $0.id < $1.id }
        report.problems += attachments.problems
        report.leftOut = (report.leftOut + refused).sorted { $0.id < $1.id }
        return report
      })
    StoreLog(logger: options.logger).info("salvaged \(report.documents) documents, \(report.leftOut.count) left out")
    return report
  }
}
