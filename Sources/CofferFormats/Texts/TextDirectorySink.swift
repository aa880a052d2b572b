public import CofferDocuments
internal import CofferText

/// A text file for each document, and `index.ndjson` beside them with everything but the texts, from which
/// ``DirectorySource`` reads equal documents back.
///
/// A key that is a path of safe names is that of its file, as a directory's import gives it; other files have the name
/// of their title. A file's date is that of the document's last change. The attachments of `Plans.txt` are files in
/// `Plans.files`, which the index lists. Overwrites nothing. A text that begins with
/// U+FEFF, or contains U+0000, always gets a byte order mark, without which it would be read differently. With front
/// matter in the options, attributes are at the beginning of the texts in place of the index.
public struct TextDirectorySink: DocumentSink, Sendable {
  private let path: String
  private let options: WritingOptions
  private let separatesCollections: Bool
  private var folders: [[UInt8]: Folder] = [:]
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
    try FileDescriptor.makeDirectory(path)
    if !separatesCollections { folders[[]] = try makeFolder(path) }
  }

  public mutating func write(_ document: OpenedDocument, inCollection name: String) throws {
    let folder = separatesCollections ? Array(name.utf8) : []
    if folders[folder] == nil {
      let number = Int64(document.header.collection.rawValue)
      folders[folder] = try makeFolder(
        "\(path)/\(folderNames.name(title: name, id: number, ending: ""))", making: true)
    }
    let header = document.header
    guard let directory = folders[folder]?.directory, let path = folders[folder]?.path(of: header) else { return }
    let file = try directory.makeFile(path, for: header.id)
    var text = TextSink(FileByteSink(file), options: options)
    try text.write(document, inCollection: name)
    file.setDate(to: header.modified)
    let attachments = try document.attachments()
    var files: [String] = []
    if !attachments.isEmpty, let names = folders[folder]?.names.folder(beside: path.withoutExtension, id: header.id) {
      files = try directory.write(attachments, to: names, for: header.id)
    }
    try folders[folder]?.index.append(
      document, inCollection: name, file: path, withAttributes: !options.frontMatter, (attachments, files))
    folders[folder]?.index.append("\n")
  }

  public mutating func finish() throws(FormatError) {
    for name in folders.keys { try folders[name]?.index.finish() }
  }

  private func makeFolder(_ path: String, making: Bool = false) throws(FormatError) -> Folder {
    if making { try FileDescriptor.makeDirectory(path) }
    return Folder(
      directory: try FileDescriptor(opening: path),
      index: DocumentObjects(try FileByteSink(creating: "\(path)/\(DirectorySource.indexName)")))
  }
}

extension TextDirectorySink.Folder {
  /// The path of a document's file.
  fileprivate mutating func path(of header: DocumentHeader) -> String {
    if let key = header.key?.text, let path = names.path(key: key, title: header.title) { return path }
    return names.name(title: header.title, id: header.id.rawValue)
  }
}
