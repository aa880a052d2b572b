internal import Coffer
internal import CofferFormats
internal import CofferText

/// All inputs of one import, one after the other, handed out in portions of one transaction each.
///
/// One object through all transactions: the next portion goes on where the last one stopped, in the middle of an input.
final class ImportQueue: DraftSource {
  /// What has been read of one input.
  struct InputReport {
    let path: String
    let format: InputFormat
    let reading: ReadingReport
  }

  private let paths: [String]
  private let open: (String) throws -> InputSource
  private var nextPath = 0
  private var current: (path: String, source: InputSource)?
  /// Documents that were read and not yet handed out, from an earlier portion's last batch.
  private var pending = DraftBatch()
  private var allowance = 0
  private(set) var finished: [InputReport] = []

  init(paths: [String], open: @escaping (String) throws -> InputSource) {
    self.paths = paths
    self.open = open
  }

  /// Allows so many more documents.
  ///
  /// - Returns: false when there are none.
  func beginPortion(of count: Int) throws -> Bool {
    allowance = count
    if pending.isEmpty {
      pending.removeAll()
      _ = try readNext(into: &pending)
    }
    return !pending.isEmpty
  }

  func read(into batch: inout DraftBatch) throws -> Bool {
    guard allowance > 0 else { return false }
    if pending.isEmpty {
      guard try readNext(into: &batch) else { return false }
    } else {
      swap(&batch, &pending)
      pending.removeAll()
    }
    if batch.drafts.count > allowance {
      pending = batch
      pending.drafts.removeFirst(allowance)
      batch.drafts.removeLast(batch.drafts.count - allowance)
    }
    allowance -= batch.drafts.count
    return true
  }

  /// Inputs as far as they were read, the one under way included.
  var reports: [InputReport] {
    finished + (current.map { [InputReport($0.path, $0.source)] } ?? [])
  }

  /// The highest id that the inputs say was ever given in them.
  var highestID: Int64? { reports.compactMap(\.reading.highestID).max() }

  private func readNext(into batch: inout DraftBatch) throws -> Bool {
    while true {
      if current == nil {
        guard nextPath < paths.count else { return false }
        current = (paths[nextPath], try open(paths[nextPath]))
        nextPath += 1
      }
      // From here on an interrupt waits for the end of a step, in which a private copy may be made and removed.
      try Interrupt.check()
      let hasRead = Result { try current!.source.read(into: &batch) }
      // An interrupt ends the input early: what was read, or what seems wrong with it, means nothing then.
      try Interrupt.check()
      if try hasRead.get() { return true }
      if let current { finished.append(InputReport(current.path, current.source)) }
      current = nil
    }
  }
}

extension ImportQueue.InputReport {
  fileprivate init(_ path: String, _ source: InputSource) {
    self.init(path: path, format: source.format, reading: source.report)
  }

  var json: JSONValue {
    .object([
      ("path", .string(path)), ("format", .string(format.rawValue)),
      ("encoding", reading.encoding.map { .string($0.rawValue) } ?? .null),
      ("documents", .integer(reading.documents)),
    ])
  }

  var words: String {
    let encoding = reading.encoding.map { ", \($0.rawValue)" } ?? ""
    return "\(path): \(counted(reading.documents, "document")) (\(format.rawValue)\(encoding))"
  }
}
