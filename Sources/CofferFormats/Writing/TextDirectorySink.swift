public import CofferDocuments
internal import CofferText
internal import Glibc

/// A text file for each document, named after its title, and `index.ndjson` beside them with names, ids, titles, keys
/// and the order, from which ``DirectorySource`` reads equal documents back.
///
/// Overwrites nothing. A text that begins with U+FEFF, or that holds U+0000, gets a byte order mark in any case, because
/// without one it would not be read back as it is.
public struct TextDirectorySink: DocumentSink, Sendable {
  private let path: String
  private let options: WritingOptions
  private let separatesCollections: Bool
  private var folders: [String: Folder] = [:]

  fileprivate struct Folder {
    let directory: FileDescriptor
    var index: EncodedOutput<FileByteSink>
  }

  /// - Parameters:
  ///   - path: a directory that is made, or is there and empty.
  ///   - separatesCollections: makes a directory in it for each collection.
  public init(path: String, separatesCollections: Bool = false, options: WritingOptions = WritingOptions()) {
    self.path = path
    self.separatesCollections = separatesCollections
    self.options = options
  }

  public mutating func begin() throws(FormatError) {
    try Self.makeDirectory(path)
    if !separatesCollections { folders[""] = try makeFolder(path) }
  }

  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws(FormatError) {
    let folder = separatesCollections ? name : ""
    if folders[folder] == nil {
      let stem = FileNames.stem(title: name, id: Int64(document.header.collection.rawValue))
      let taken = "\(path)/\(stem)"
      let number = document.header.collection.rawValue
      folders[folder] = try makeFolder(access(taken, F_OK) == 0 ? "\(taken)-\(number)" : taken, making: true)
    }
    guard let directory = folders[folder]?.directory else { return }
    let (fileName, file) = try Self.makeFile(for: document.header, in: directory)
    try write(document.utf8, to: FileByteSink(file))
    try folders[folder]?.list(document.header, as: fileName)
  }

  public mutating func finish() throws(FormatError) {
    for name in folders.keys { try folders[name]?.index.finish() }
  }

  private func makeFolder(_ path: String, making: Bool = false) throws(FormatError) -> Folder {
    if making { try Self.makeDirectory(path) }
    return Folder(
      directory: try FileDescriptor(opening: path),
      index: EncodedOutput(try FileByteSink(creating: "\(path)/\(DirectorySource.indexName)")))
  }

  /// Makes a directory, or takes one that is empty.
  private static func makeDirectory(_ path: String) throws(FormatError) {
    if mkdir(path, 0o777) == 0 { return }
    guard errno == EEXIST, let stream = opendir(path) else {
      throw .system(errno == ENOTDIR ? .outputExists : .unwritable, "cannot make the directory", path: path)
    }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != [0x2E], name != [0x2E, 0x2E] {
        throw FormatError(.outputExists, "the directory is not empty", path: path)
      }
    }
  }

  /// Makes the file of a document under its title, or with its id behind it where that name is taken.
  private static func makeFile(
    for header: DocumentHeader, in directory: FileDescriptor
  ) throws(FormatError) -> (name: String, file: FileDescriptor) {
    let stem = FileNames.stem(title: header.title, id: header.id.rawValue)
    for name in ["\(stem).txt", "\(stem)-\(header.id).txt", "document-\(header.id)-\(header.id).txt"] {
      let number = openat(directory.number, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
      if number >= 0 { return (name, FileDescriptor(owning: number)) }
      if errno != EEXIST { throw .system(.unwritable, "cannot make a file for document \(header.id)") }
    }
    throw FormatError(.outputExists, "every name for document \(header.id) is taken")
  }

  private func write(_ text: UnsafeRawBufferPointer, to sink: FileByteSink) throws(FormatError) {
    var options = options
    options.byteOrderMark =
      options.byteOrderMark || text.starts(with: TextEncoding.utf8.byteOrderMark)
      || options.encoding == .utf8 && text.firstOffset(of: 0, from: 0) != nil
    var sink = sink
    guard options.encoding != .utf8 || options.byteOrderMark else { return try sink.write(text) }
    var output = EncodedOutput(sink, options: options)
    try output.append(text) { $1.append(contentsOf: $0) }
    try output.finish()
  }
}

extension TextDirectorySink.Folder {
  fileprivate mutating func list(_ header: DocumentHeader, as fileName: String) throws(FormatError) {
    index.buffer += "{\"file\":".utf8
    JSONWriter.appendString(fileName, to: &index.buffer)
    index.buffer += ",\"id\":".utf8
    JSONWriter.appendInteger(header.id.rawValue, to: &index.buffer)
    if let title = header.title {
      index.buffer += ",\"title\":".utf8
      JSONWriter.appendString(title, to: &index.buffer)
    }
    if let key = header.key {
      index.buffer += ",\"key\":".utf8
      JSONLine.append(key, to: &index.buffer)
    }
    index.buffer += "}\n".utf8
    try index.writeIfFull()
  }
}
