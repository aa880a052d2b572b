public import CofferDocuments
internal import CofferText

/// A sink that writes a text file for each document, and an `index.ndjson` with everything except the texts.
/// ``DirectorySource`` reads equal documents.
///
/// If a key is a path of safe names, as in a directory import, it becomes the file's path. Otherwise, the file's name
/// is the title. A file's date is the document's modification date. The attachments of `Plans.txt` are files in
/// `Plans.files`, which the index lists. Existing files aren't overwritten. A text that begins with U+FEFF or contains
/// U+0000 always gets a byte order mark, because it would be read differently without one. If the options ask for front
/// matter, the attributes are at the beginning of the texts instead of in the index.
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

  /// Creates a sink for the directory at `path`, which must be empty if it exists.
  ///
  /// With `separatesCollections`, each collection gets a folder in the directory. ``begin()`` creates a missing
  /// directory.
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
  /// Returns the path for a document's file.
  fileprivate mutating func path(of header: DocumentHeader) -> String {
    if let key = header.key?.text, let path = names.path(key: key, title: header.title) { return path }
    return names.name(title: header.title, id: header.id.rawValue)
  }
}
