public import CofferDocuments
internal import CofferPlatform
internal import CofferText

/// A text file for each document, and `index.ndjson` beside them with everything but the texts, from which
/// ``DirectorySource`` reads equal documents back.
///
/// A key that is a path of safe names is that of its file, as a directory's import gives it; other files have the name
/// of their title. A file's date is that of the document's last change. Overwrites nothing. A text that begins with
/// U+FEFF, or contains U+0000, always gets a byte order mark, without which it would be read differently. With front
/// matter in the options, attributes are at the beginning of the texts in place of the index.
public struct TextDirectorySink: DocumentSink, Sendable {
  private let path: String
  private let options: WritingOptions
  private let separatesCollections: Bool
  private var folders: [String: Folder] = [:]
  private var folderNames = FileNames()

  fileprivate struct Folder {
    let directory: FileDescriptor
    var index: DocumentObjects<FileByteSink>
    var names = FileNames(reserving: DirectorySource.indexName)
  }

  /// Writes into the directory at `path`, which is made if it is missing, and must be empty otherwise.
  ///
  /// With `separatesCollections` each collection gets a folder within it. Nothing is made before ``begin()``.
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
    guard let directory = folders[folder]?.directory, let path = folders[folder]?.path(of: header) else { return }
    let file = try Self.makeFile(path, for: header, in: directory)
    var text = TextSink(FileByteSink(file), options: options)
    try text.write(document, inCollection: name)
    Self.setDate(of: file, to: header.modified)
    try folders[folder]?.index.append(
      document, inCollection: name, file: path, withAttributes: !options.frontMatter)
    folders[folder]?.index.append("\n")
  }

  public mutating func finish() throws(FormatError) {
    for name in folders.keys { try folders[name]?.index.output.finish() }
  }

  private func makeFolder(_ path: String, making: Bool = false) throws(FormatError) -> Folder {
    if making { try Self.makeDirectory(path) }
    return Folder(
      directory: try FileDescriptor(opening: path),
      index: DocumentObjects(try FileByteSink(creating: "\(path)/\(DirectorySource.indexName)")))
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

  /// Creates a new file, and the folders of its path.
  private static func makeFile(
    _ path: String, for header: DocumentHeader, in directory: FileDescriptor
  ) throws(FormatError) -> FileDescriptor {
    for slash in path.utf8.indices where path.utf8[slash] == UInt8(ascii: "/") {
      guard mkdirat(directory.number, String(path[..<slash]), 0o777) == 0 || errno == EEXIST else {
        throw .system(.unwritable, "cannot make a directory for document \(header.id)")
      }
    }
    let number = openat(directory.number, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard number >= 0 else {
      throw .system(errno == EEXIST ? .outputExists : .unwritable, "cannot make a file for document \(header.id)")
    }
    return FileDescriptor(owning: number)
  }

  /// Sets both dates of a file, where the file system takes them.
  private static func setDate(of file: FileDescriptor, to date: Timestamp) {
    var (seconds, rest) = date.millisecondsSince1970.quotientAndRemainder(dividingBy: 1000)
    if rest < 0 { (seconds, rest) = (seconds - 1, rest + 1000) }
    let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest) * 1_000_000)
    _ = futimens(file.number, [time, time])
  }
}

extension TextDirectorySink.Folder {
  /// The path of a document's file.
  fileprivate mutating func path(of header: DocumentHeader) -> String {
    if let key = header.key?.text, let path = names.path(key: key, title: header.title) { return path }
    return names.name(title: header.title, id: header.id.rawValue)
  }
}
