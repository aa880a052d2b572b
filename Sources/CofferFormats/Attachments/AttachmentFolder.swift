internal import CofferDocuments
internal import CofferPlatform

/// A folder for the attachment contents that a sink writes. It contains a folder for each document with attachments,
/// and `index.ndjson`, which lists the files.
///
/// Names are safe on any system, and existing files aren't overwritten. ``AttachmentFiles`` reads the contents.
public struct AttachmentFolder: Sendable {
  private let path: String
  private var state: (directory: FileDescriptor, index: EncodedOutput<FileByteSink>)?
  private var names = FileNames(reserving: DirectorySource.indexName)
  private var dates = DateWriter()

  /// Creates an attachment folder at `path`, which must be missing or empty. The sink's `begin()` creates a missing
  /// directory.
  public init(path: String) {
    self.path = path
  }

  mutating func begin() throws(FormatError) {
    try FileDescriptor.makeDirectory(path)
    state = (
      try FileDescriptor(opening: path),
      EncodedOutput(try FileByteSink(creating: "\(path)/\(DirectorySource.indexName)"))
    )
  }

  /// Writes the contents of a document's attachments.
  ///
  /// - Returns: The files' paths in the folder.
  mutating func write(_ attachments: [OpenedAttachment], of header: DocumentHeader) throws -> [String] {
    guard !attachments.isEmpty, let directory = state?.directory else { return [] }
    let folder = names.folder(beside: FileNames.stem(title: header.title, id: header.id.rawValue), id: header.id)
    let files = try directory.write(attachments, to: folder, for: header.id)
    state?.index.buffer += "{\"document\":\(header.id),\"attachments\":".utf8
    state?.index.buffer.append(attachments, files: files, &dates)
    state?.index.buffer += "}\n".utf8
    try state?.index.writeIfFull()
    return files
  }

  mutating func finish() throws(FormatError) {
    try state?.index.finish()
  }
}

extension FileDescriptor {
  /// Writes attachment contents to a new folder in this directory.
  ///
  /// - Returns: The files' paths in this directory.
  /// - Throws: `unwritable`, or an error from reading the contents.
  func write(_ attachments: [OpenedAttachment], to folder: String, for id: DocumentID) throws -> [String] {
    var names = FileNames()
    var files: [String] = []
    for (index, attachment) in attachments.enumerated() {
      let path = "\(folder)/\(names.name(ofAttachment: attachment.name, number: index + 1))"
      let file = try makeFile(path, for: id)
      do {
        try attachment.forEachPart { try file.write($0) }
      } catch var error as FormatError {
        error.path = error.path ?? path
        throw error
      }
      file.setDate(to: attachment.date)
      files.append(path)
    }
    return files
  }
}
