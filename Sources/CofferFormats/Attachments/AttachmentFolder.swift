internal import CofferDocuments
internal import CofferPlatform

/// A folder into which a sink writes the contents of attachments: a folder for each document with attachments, and
/// `index.ndjson`, which lists the files.
///
/// Names are made safe for any system, and nothing is overwritten. ``AttachmentFiles`` reads the contents back.
public struct AttachmentFolder: Sendable {
  private let path: String
  private var state: (directory: FileDescriptor, index: EncodedOutput<FileByteSink>)?
  private var names = FileNames(reserving: DirectorySource.indexName)
  private var dates = DateWriter()

  /// Writes into the directory at `path`, which is made if it's missing, and must be empty otherwise. Nothing is made
  /// before the sink's `begin()`.
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
  /// Writes the contents of attachments into a new folder of this directory.
  ///
  /// - Returns: The files' paths in this directory.
  /// - Throws: `unwritable`, and errors of reading the contents.
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
