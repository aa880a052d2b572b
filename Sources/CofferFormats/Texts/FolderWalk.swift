internal import CofferDocuments
internal import CofferPlatform

/// A walk through a folder's files in the order of their names' bytes. Subfolders are visited at the position of their
/// names.
///
/// Files in an export's `index.ndjson` precede the folder's other files.
struct FolderWalk: Sendable {
  struct Found: Sendable {
    let file: FileDescriptor
    /// The path within the folder.
    let path: [UInt8]
    let entry: DirectoryIndex.Entry
    /// The folder that contains the file or whose index lists it, and its path within the first folder.
    let folder: (directory: FileDescriptor, prefix: [UInt8])
  }

  private struct Folder: Sendable {
    let directory: FileDescriptor
    /// The path within the first folder with a trailing slash, or an empty path for the first folder.
    let prefix: [UInt8]
    let identity: [UInt64]
    let entries: [DirectoryIndex.Entry]
    var next = 0
  }

  private let options: ReadingOptions
  private var folders: [Folder] = []
  /// The paths of files in an index.
  private var listed: Set<[UInt8]> = []
  private(set) var passedOver = PassedOver()

  init(path: String, options: ReadingOptions) throws(FormatError) {
    self.options = options
    try enter(try FileDescriptor(opening: path), prefix: [])
  }

  /// Returns a file's name for messages.
  func name(of path: [UInt8]) -> String {
    let name = String(decoding: path, as: UTF8.self)
    return options.path.map { $0.hasSuffix("/") ? $0 + name : "\($0)/\(name)" } ?? name
  }

  /// Returns the next file, or `nil` at the end. After an error, the next call continues with the following entry.
  mutating func next() throws(FormatError) -> Found? {
    while let folder = folders.last {
      guard folder.next < folder.entries.count else {
        folders.removeLast()
        continue
      }
      folders[folders.count - 1].next += 1
      let entry = folder.entries[folder.next]
      let path = folder.prefix + entry.file
      let name = name(of: path)
      guard let file = try open(entry, in: folder.directory, name) else { continue }
      switch try file.status().st_mode & S_IFMT {
      case S_IFREG:
        return Found(file: file, path: path, entry: entry, folder: (folder.directory, folder.prefix))
      case _ where entry.isListed:
        throw FormatError(.unreadable, "a file of the index is no file", path: name)
      case S_IFDIR:
        try enter(file, prefix: path + [Self.slash])
      default:
        passedOver.special += 1
      }
    }
    return nil
  }

  /// Opens an entry, or returns `nil` if it's skipped.
  private mutating func open(
    _ entry: DirectoryIndex.Entry, in directory: FileDescriptor, _ name: String
  ) throws(FormatError) -> FileDescriptor? {
    guard entry.isListed else {
      switch try directory.openEntry(entry.file, followsLinks: options.followsLinks, path: name) {
      case .file(let file): return file
      case .link, .missing: passedOver.links += 1
      case .special: passedOver.special += 1
      case .database: passedOver.databases += 1
      }
      return nil
    }
    return try directory.openListed(entry.file, path: name)
  }

  private mutating func enter(_ directory: FileDescriptor, prefix: [UInt8]) throws(FormatError) {
    let status = try directory.status()
    let identity = [status.device, status.number]
    guard !folders.contains(where: { $0.identity == identity }) else {
      passedOver.links += 1
      return
    }
    let path = prefix.isEmpty ? options.path ?? "the folder" : name(of: prefix)
    let all = try directory.names(path: path)
    let names = all.filter { $0.first != UInt8(ascii: ".") }
    passedOver.hidden += all.count - names.count
    let indexName = Array(DirectorySource.indexName.utf8)
    let index =
      names.contains(indexName) && !listed.contains(prefix + indexName)
      ? try DirectoryIndex(in: directory, at: path) : nil
    for entry in index?.entries ?? [] {
      listed.insert(prefix + entry.file)
      for file in entry.attachments.compactMap(\.file) { listed.insert(prefix + file) }
    }
    let others = names.filter { !listed.contains(prefix + $0) && !(index != nil && $0 == indexName) }
    folders.append(
      Folder(
        directory: directory, prefix: prefix, identity: identity,
        entries: (index?.entries ?? []) + others.map { DirectoryIndex.Entry(file: $0) }))
  }

  private static let slash = UInt8(ascii: "/")
}

extension FileDescriptor {
  enum Entry {
    case file(FileDescriptor)
    case link
    case missing
    /// A socket or a device without a driver.
    case special
    /// A file that belongs to a database or store that this process has open.
    case database
  }

  /// Opens an entry in this directory.
  func openEntry(_ name: [UInt8], followsLinks: Bool, path: String) throws(FormatError) -> Entry {
    // Without O_NONBLOCK, opening a pipe without a writer would wait indefinitely.
    let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW)
    let entry = name + [0]
    var status = stat()
    let hasStatus = entry.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) {
        fstatat(self.number, $0.baseAddress!, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0
      }
    }
    if hasStatus, OpenDatabase.hasFile(status) { return .database }
    let number = entry.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { openat(self.number, $0.baseAddress!, flags) }
    }
    if number >= 0 { return .file(FileDescriptor(owning: number)) }
    switch errno {
    case ELOOP: return .link
    case ENOENT, ENOTDIR: return .missing
    case ENXIO: return .special
    default: throw .system(.unreadable, "cannot open the file", path: path)
    }
  }

  /// Returns the names of this directory's entries, in the order of their bytes.
  func names(path: String) throws(FormatError) -> [[UInt8]] {
    let number = openat(self.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0, let stream = fdopendir(number) else {
      throw .system(.unreadable, "cannot open the directory", path: path)
    }
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { break }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
    }
    if errno != 0 { throw .system(.unreadable, "cannot read the directory", path: path) }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }
}
