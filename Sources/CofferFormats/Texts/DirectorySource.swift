public import CofferDocuments
internal import CofferPlatform

/// A document source for a directory's files, including subdirectories, in the order of the names' bytes.
///
/// A file's content is the text, its name is the title, and its date is the date of creation and change. Its path
/// relative to the directory is the key if the options ask for it. Links, devices and names that begin with a dot are
/// skipped and counted. An export's `index.ndjson` restores the listed documents with their attachments, which precede
/// other files. A file that isn't text or can't be read is an invalid record.
public struct DirectorySource: DraftSource, ReportingSource, Sendable {
  /// The name of an export's index.
  static let indexName = "index.ndjson"

  public private(set) var report = ReadingReport()
  private let options: ReadingOptions
  private var walk: FolderWalk
  /// The number of files so far, including invalid records.
  private var recordCount = 0
  /// The error to throw after the previous documents are returned.
  private var failure: FormatError?

  /// Creates a source for the existing directory at `path`. Its files are opened one by one as documents are read.
  ///
  /// - Throws: `unreadable`.
  public init(path: String, options: ReadingOptions = ReadingOptions()) throws(FormatError) {
    self.options = options
    walk = try FolderWalk(path: path, options: options)
  }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    batch.removeAll()
    var single = DraftBatch()
    while failure == nil, batch.bytes.count < DecodedReader.usualCapacity, batch.drafts.count < 512 {
      do throws(FormatError) {
        recordCount += 1
        guard let found = try walk.next() else { break }
        try readFile(found, into: &single)
        append(single, found.entry, try attachments(of: found), to: &batch)
      } catch {
        if options.onError == .skip, options.shouldStop?() != true,
          [.undecodable, .malformed, .tooLarge, .unreadable].contains(error.code)
        {
          report.rejected += 1
          options.onRejection?(Rejection(error: error, record: recordCount, headBytes: [], bytes: []))
        } else {
          failure = error
        }
      }
    }
    report.passedOver = walk.passedOver
    report.documents += batch.drafts.count
    report.attachments += batch.attachments.count
    if batch.isEmpty, let failure { throw failure }
    return !batch.isEmpty
  }

  /// Returns the path of a record's file for messages, by listing the directory again.
  func file(ofRecord number: Int, in path: String) -> String? {
    guard var walk = try? FolderWalk(path: path, options: options) else { return nil }
    for _ in 1..<number { _ = try? walk.next() }
    return (try? walk.next()).flatMap { walk.name(of: $0.path) }
  }

  private mutating func readFile(_ found: FolderWalk.Found, into batch: inout DraftBatch) throws(FormatError) {
    batch.removeAll()
    var options = options
    options.path = walk.name(of: found.path)
    if options.onError == .skip { options.onError = .fail }
    if options.shouldStop?() == true { throw FormatError(.unreadable, "reading was stopped", path: options.path) }
    let status = try found.file.status()
    var parser = TextParser(readsFrontMatter: options.readsFrontMatter)
    // A name can have any bytes, but a title is text.
    parser.title = found.path.split(separator: UInt8(ascii: "/")).last.map {
      Array(String(decoding: $0, as: UTF8.self).utf8)
    }
    parser.modified = Timestamp(changeOf: status)
    // An ID identifies the document already, so adding a key would be a change.
    if options.givesPathKeys, !(found.entry.isListed && options.keepsIDs) { parser.key = found.path }
    var source = ParsedRecords(
      FileByteSource(found.file), options: options, parser: parser,
      capacity: min(2 * min(Int(status.st_size), DecodedReader.usualCapacity) + 128, DecodedReader.usualCapacity))
    _ = try source.read(into: &batch)
    report.skippedEmpty += source.report.skippedEmpty
    report.encoding = report.encoding ?? source.report.encoding
  }

  private mutating func attachments(of found: FolderWalk.Found) throws(FormatError) -> [DraftAttachment] {
    guard !found.entry.attachments.isEmpty else { return [] }
    let files = AttachmentFiles(found.folder.directory, path: walk.name(of: found.folder.prefix))
    var attachments: [DraftAttachment] = []
    for entry in found.entry.attachments {
      if let attachment = try files.attachment(entry, options) {
        attachments.append(attachment)
      } else {
        report.attachmentsWithoutContent += 1
      }
    }
    return attachments
  }

  /// Adds the document of a file, if there is one.
  private func append(
    _ single: DraftBatch, _ entry: DirectoryIndex.Entry, _ attachments: [DraftAttachment], to batch: inout DraftBatch
  ) {
    guard var draft = single.drafts.first else { return }
    let base = batch.bytes.count
    batch.bytes += single.bytes
    draft.mapRanges { $0.lowerBound + base..<$0.upperBound + base }
    draft.record = recordCount
    func add(_ bytes: [UInt8]?) -> Range<Int>? {
      guard let bytes else { return nil }
      batch.bytes += bytes
      return batch.bytes.count - bytes.count..<batch.bytes.count
    }
    if entry.isListed {
      draft.isComplete = true
      draft.id = entry.id
      draft.title = add(entry.title)
      draft.isUsualTitle = false
      draft.key = add(entry.key) ?? draft.key
      draft.collection = add(entry.collection)
      // The index of an export with front matter doesn't contain attributes.
      draft.attributes = add(entry.attributes) ?? draft.attributes
      draft.parent = entry.parent
      draft.created = entry.created ?? draft.created
      draft.modified = entry.modified ?? draft.modified
      draft.isJSON = entry.isJSON
    }
    draft.attachments = batch.attachments.count..<batch.attachments.count + attachments.count
    batch.attachments += attachments
    batch.drafts.append(draft)
  }
}
