public import CofferDocuments
internal import Glibc

/// A document for each file of a directory, one level deep, in the order of the names' bytes.
///
/// A file's content is the text and its name the title. Directories, devices and names that begin with a dot are
/// skipped. The `index.ndjson` of an export restores ids, titles and keys of the documents it lists, which precede other
/// files.
public struct DirectorySource: DraftSource, ReportingSource, Sendable {
  /// The name of the index that an export of texts writes.
  static let indexName = "index.ndjson"

  public private(set) var report = ReadingReport()
  private let directory: FileDescriptor
  private let options: ReadingOptions
  private let entries: [DirectoryIndex.Entry]
  private var next = 0

  public init(path: String, options: ReadingOptions = ReadingOptions()) throws(FormatError) {
    directory = try FileDescriptor(opening: path)
    self.options = options
    let names = try Self.names(in: path)
    let index = names.contains(Array(Self.indexName.utf8)) ? try DirectoryIndex(in: directory) : nil
    let listed = Set(index?.entries.map(\.file) ?? [])
    let others = names.filter { !listed.contains($0) && !(index != nil && $0 == Array(Self.indexName.utf8)) }
    entries = (index?.entries ?? []) + others.map { DirectoryIndex.Entry(file: $0) }
  }

  public mutating func read(into batch: inout DraftBatch) throws -> Bool {
    batch.removeAll()
    var single = DraftBatch()
    while next < entries.count, batch.bytes.count < DecodedReader.usualCapacity, batch.drafts.count < 512 {
      let entry = entries[next]
      do throws(FormatError) {
        try readFile(entry, into: &single)
      } catch {
        // Texts before the fault are returned first.
        if !batch.isEmpty { break }
        throw error
      }
      next += 1
      append(single, entry, to: &batch)
    }
    report.documents += batch.drafts.count
    return !batch.isEmpty
  }

  private mutating func readFile(_ entry: DirectoryIndex.Entry, into batch: inout DraftBatch) throws(FormatError) {
    batch.removeAll()
    let name = String(decoding: entry.file, as: UTF8.self)
    let path = options.path.map { "\($0)/\(name)" } ?? name
    guard let file = try directory.openRegularFile(entry.file, path: path) else {
      if entry.isListed { throw FormatError(.unreadable, "a file of the index is not there", path: path) }
      return
    }
    var options = options
    options.path = path
    var source = RecordReader(
      FileByteSource(file), options: options, parser: TextParser(title: Array(name.utf8)),
      capacity: min(2 * Int(try file.status().st_size) + 128, DecodedReader.usualCapacity))
    _ = try source.read(into: &batch)
    report.rejected += source.report.rejected
    report.skippedEmpty += source.report.skippedEmpty
    report.encoding = report.encoding ?? source.report.encoding
  }

  /// Adds the document of a file, if there is one.
  private func append(_ single: DraftBatch, _ entry: DirectoryIndex.Entry, to batch: inout DraftBatch) {
    guard var draft = single.drafts.first else { return }
    let base = batch.bytes.count
    batch.bytes += single.bytes[draft.text]
    draft.text = base..<batch.bytes.count
    if entry.isListed {
      draft.id = entry.id
      draft.isComplete = true
    }
    func add(_ bytes: [UInt8]?) -> Range<Int>? {
      guard let bytes else { return nil }
      batch.bytes += bytes
      return batch.bytes.count - bytes.count..<batch.bytes.count
    }
    draft.title = add(entry.isListed ? entry.title : draft.title.map { Array(single.bytes[$0]) })
    draft.key = add(entry.key)
    draft.record = next
    batch.drafts.append(draft)
  }

  private static func names(in path: String) throws(FormatError) -> [[UInt8]] {
    guard let stream = opendir(path) else { throw .system(.unreadable, "cannot open the directory", path: path) }
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { break }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name.first != UInt8(ascii: ".") { names.append(name) }
    }
    if errno != 0 { throw .system(.unreadable, "cannot read the directory", path: path) }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

extension FileDescriptor {
  /// Opens a regular file of this directory; nil for a directory, a device or a missing file.
  func openRegularFile(_ name: [UInt8], path: String) throws(FormatError) -> FileDescriptor? {
    // Non-blocking, or opening a pipe without a writer would wait for ever.
    let number = (name + [0]).withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) {
        openat(self.number, $0.baseAddress!, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      }
    }
    guard number >= 0 else {
      if errno == ENOENT || errno == ENXIO { return nil }
      throw .system(.unreadable, "cannot open the file", path: path)
    }
    let file = FileDescriptor(owning: number)
    return try file.status().st_mode & S_IFMT == S_IFREG ? file : nil
  }
}
