internal import CofferDocuments
internal import CofferPlatform

/// An exported folder's files, as listed in its `index.ndjson`. These are texts with their attachments, or only
/// attachment contents.
package struct ExportedFolder {
  /// The paths within the folder.
  private var files: Set<[UInt8]> = [Array(DirectorySource.indexName.utf8)]
  private var folders: Set<[UInt8]> = []

  /// Returns the path of the first entry that no export wrote, or `nil` if a folder has only files of one export.
  ///
  /// - Parameters:
  ///   - folder: The folder's descriptor, which the caller closes.
  ///   - path: The folder's name in the result and in errors.
  /// - Throws: `unreadable`.
  package static func foreignEntry(in folder: Int32, at path: String) throws(FormatError) -> String? {
    let directory = FileDescriptor(borrowing: folder)
    if let export = try ExportedFolder(directory, path) { return try export.foreignEntry(in: directory, path) }
    // An export of several collections has a folder for each collection.
    for name in try directory.names(path: path) where !directory.isLeft(byFileManager: name) {
      let entry = Self.entry(name, in: path)
      guard let inner = try directory.folder(name, path: entry), let export = try ExportedFolder(inner, entry) else {
        return entry
      }
      if let foreign = try export.foreignEntry(in: inner, entry) { return foreign }
    }
    return nil
  }

  /// Reads a folder's index. Returns `nil` if the index is missing, or isn't from an export.
  private init?(_ directory: FileDescriptor, _ path: String) throws(FormatError) {
    let name = Array(DirectorySource.indexName.utf8)
    guard directory.kind(of: name) == S_IFREG,
      case .file(let index) = try directory.openEntry(name, followsLinks: false, path: Self.entry(name, in: path))
    else { return nil }
    var lines: [[[UInt8]]] = []
    do throws(FormatError) {
      try DirectoryIndex.read(index, in: path, into: &lines, Self.listedFiles)
    } catch {
      if error.code == .unreadable { throw error }
      return nil
    }
    for file in lines.joined() {
      files.insert(file)
      for slash in file.indices where file[slash] == UInt8(ascii: "/") { folders.insert(Array(file[..<slash])) }
    }
  }

  /// Returns the files in an index line, or `nil` if the line isn't from an export. Exported lines have either the
  /// text's date or the number of the attachments' document.
  private static func listedFiles(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> [[UInt8]]? {
    var scanner = JSONScanner(bytes, in: range)
    var files: [[UInt8]] = []
    var attachments: Range<Int>?
    var isOfExport = false
    do throws(JSONError) {
      try scanner.forEachMember { name, value, scanner in
        if case .string(let token) = value.content, scanner.equals(name, "file") {
          files.append(scanner.value(of: token))
        }
        if case .array = value.content, scanner.equals(name, "attachments") { attachments = value.source }
        isOfExport = isOfExport || scanner.equals(name, "modified") || scanner.equals(name, "document")
      }
      if let attachments { files += try AttachmentEntry.list(bytes, in: attachments).compactMap(\.file) }
    } catch {
      return nil
    }
    return isOfExport ? files : nil
  }

  private func foreignEntry(
    in directory: FileDescriptor, _ place: String, prefix: [UInt8] = []
  ) throws(FormatError) -> String? {
    for name in try directory.names(path: place) where !directory.isLeft(byFileManager: name) {
      let path = prefix + name
      let entry = Self.entry(name, in: place)
      if files.contains(path), directory.kind(of: name) == S_IFREG { continue }
      guard folders.contains(path), let inner = try directory.folder(name, path: entry) else { return entry }
      if let foreign = try foreignEntry(in: inner, entry, prefix: path + [UInt8(ascii: "/")]) { return foreign }
    }
    return nil
  }

  private static func entry(_ name: [UInt8], in path: String) -> String {
    "\(path)/\(String(decoding: name, as: UTF8.self))"
  }
}

extension FileDescriptor {
  /// Returns whether a file manager creates a file with this name in each folder that a user opens.
  fileprivate func isLeft(byFileManager name: [UInt8]) -> Bool {
    let names = [".DS_Store", ".localized", ".directory", "Thumbs.db", "desktop.ini"]
    return (names.contains { name.elementsEqual($0.utf8) } || name.starts(with: "._".utf8)) && kind(of: name) == S_IFREG
  }

  /// Returns the type of an entry in this directory, such as `S_IFREG`, or 0 if it can't be examined. Doesn't follow
  /// links.
  fileprivate func kind(of name: [UInt8]) -> mode_t {
    var status = stat()
    let result = (name + [0]).withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { fstatat(number, $0.baseAddress!, &status, AT_SYMLINK_NOFOLLOW) }
    }
    return result == 0 ? status.st_mode & S_IFMT : 0
  }

  /// Opens a folder in this directory, or returns `nil` for other entries.
  fileprivate func folder(_ name: [UInt8], path: String) throws(FormatError) -> FileDescriptor? {
    guard kind(of: name) == S_IFDIR, case .file(let folder) = try openEntry(name, followsLinks: false, path: path)
    else { return nil }
    return folder
  }
}
