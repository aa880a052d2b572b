public import CofferDocuments
internal import CofferText
internal import Glibc

/// A text file for each document, named after its title, and `index.ndjson` beside them with names, ids, titles, keys
/// and the order, from which ``DirectorySource`` reads equal documents back.
///
/// Overwrites nothing. A text that begins with U+FEFF, or contains U+0000, always gets a byte order mark, without which it
/// would be read differently.
public struct TextDirectorySink: DocumentSink, Sendable {
  private let path: String
  private let options: WritingOptions
  private let separatesCollections: Bool
  private var folders: [String: Folder] = [:]
  private var folderNames = FileNames()

  fileprivate struct Folder {
    let directory: FileDescriptor
    var index: EncodedOutput<FileByteSink>
    var names = FileNames()
  }

  /// - Parameters:
  ///   - path: a new or empty directory.
  ///   - separatesCollections: creates a subdirectory for each collection.
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
      let number = Int64(document.header.collection.rawValue)
      folders[folder] = try makeFolder(
        "\(path)/\(folderNames.name(title: name, id: number, ending: ""))", making: true)
    }
    let header = document.header
    guard let directory = folders[folder]?.directory,
      let fileName = folders[folder]?.names.name(title: header.title, id: header.id.rawValue, ending: ".txt")
    else { return }
    let file = try Self.makeFile(fileName, for: header, in: directory)
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

  /// Creates a directory, or accepts an empty one.
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

  /// Creates a new file.
  private static func makeFile(
    _ name: String, for header: DocumentHeader, in directory: FileDescriptor
  ) throws(FormatError) -> FileDescriptor {
    let number = openat(directory.number, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard number >= 0 else {
      throw .system(errno == EEXIST ? .outputExists : .unwritable, "cannot make a file for document \(header.id)")
    }
    return FileDescriptor(owning: number)
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
      JSONWriter.append(key, to: &index.buffer)
    }
    index.buffer += "}\n".utf8
    try index.writeIfFull()
  }
}
