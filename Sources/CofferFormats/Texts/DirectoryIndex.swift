internal import CofferDocuments
internal import CofferPlatform
internal import CofferText

/// The index of an export, which describes each file's document in order.
///
/// Each document has a line with the members of its JSON except its position and text, such as
/// `{"file":"Plans.txt","id":7,"title":"Plans","key":"n-42"}`. Only `file` is required. ``AttachmentEntry`` describes
/// attachment lines.
struct DirectoryIndex {
  struct Entry: Sendable {
    /// The file's path, which doesn't lead out of the directory.
    fileprivate(set) var file: [UInt8]
    fileprivate(set) var isListed = false
    fileprivate(set) var id: DocumentID?
    fileprivate(set) var collection: [UInt8]?
    fileprivate(set) var title: [UInt8]?
    fileprivate(set) var key: [UInt8]?
    /// Canonical JSON.
    fileprivate(set) var attributes: [UInt8]?
    fileprivate(set) var parent: DocumentID?
    fileprivate(set) var created: Timestamp?
    fileprivate(set) var modified: Timestamp?
    fileprivate(set) var isJSON = false
    fileprivate(set) var attachments: [AttachmentEntry] = []

    init(file: [UInt8]) {
      self.file = file
    }
  }

  let entries: [Entry]

  /// Reads a directory's index, or returns `nil` if the first line shows that the file isn't an index.
  ///
  /// - Throws: `malformed` for an invalid line in an index, because its file would lose the line's information.
  init?(in directory: FileDescriptor, at path: String) throws(FormatError) {
    let name = DirectorySource.indexName
    guard case .file(let file) = try directory.openEntry(Array(name.utf8), followsLinks: false, path: name),
      try file.status().st_mode & S_IFMT == S_IFREG
    else { return nil }
    var entries: [Entry] = []
    do throws(FormatError) {
      try Self.read(file, in: path, into: &entries, Self.entry)
    } catch {
      if entries.isEmpty, error.code != .unreadable { return nil }
      throw error
    }
    self.entries = entries
  }

  /// Appends the result of `parse` for each line of an index.
  ///
  /// - Throws: `malformed` for a line without a result, `unreadable`, or an error for a line that isn't valid text.
  static func read<Line>(
    _ file: FileDescriptor, in path: String, into lines: inout [Line],
    _ parse: (UnsafeRawBufferPointer, Range<Int>) -> Line?
  ) throws(FormatError) {
    let path = "\(path)/\(DirectorySource.indexName)"
    let options = ReadingOptions(encoding: .fixed(.utf8), path: path)
    var records = ParsedRecords(FileByteSource(file), options: options, parser: LineParser())
    var batch = DraftBatch()
    do throws(FormatError) {
      while try records.read(into: &batch) {
        for draft in batch.drafts {
          guard let text = draft.text, let line = batch.bytes.withUnsafeBytes({ parse($0, text) }) else {
            throw FormatError(
              .malformed, "invalid line in the index",
              at: InputLocation(line: draft.record, column: nil, byteOffset: nil))
          }
          lines.append(line)
        }
      }
    } catch {
      var error = error
      error.path = path
      throw error
    }
  }

  private static func entry(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> Entry? {
    var scanner = JSONScanner(bytes, in: range)
    var entry = Entry(file: [])
    entry.isListed = true
    do throws(JSONError) {
      try scanner.openObject(depth: 1)
      var isFirst = true
      while let name = try scanner.nextName(isFirst: isFirst) {
        isFirst = false
        let value = try scanner.scanMemberValue()
        if scanner.equals(name, "file"), case .string(let token) = value.content {
          entry.file = scanner.value(of: token)
        } else {
          guard let member = scanner.documentMember(name), try entry.take(member, value, scanner, bytes) else {
            return nil
          }
        }
      }
      scanner.skipWhitespace()
    } catch {
      return nil
    }
    return scanner.next == nil && entry.file.isPathWithinFolder ? entry : nil
  }
}

extension DirectoryIndex.Entry {
  /// Takes a member, or returns `false` if its name or type is unknown.
  fileprivate mutating func take(
    _ member: DocumentMember, _ value: ScannedValue, _ scanner: JSONScanner, _ bytes: UnsafeRawBufferPointer
  ) throws(JSONError) -> Bool {
    func id(_ token: JSONScanner.NumberToken) -> DocumentID? {
      scanner.integer(of: token).flatMap { $0 >= 1 ? DocumentID($0) : nil }
    }
    func date(_ token: JSONScanner.StringToken) -> Timestamp? {
      var reader = DateReader(unit: nil)
      return scanner.value(of: token).withUnsafeBytes { try? reader.read($0) }
    }
    switch (member, value.content) {
    case (.id, .number(let token)):
      self.id = id(token)
      return self.id != nil
    case (.parent, .number(let token)):
      parent = id(token)
      return parent != nil
    case (.collection, .string(let token)): collection = scanner.value(of: token)
    case (.title, .string(let token)): title = scanner.value(of: token)
    case (.json, .bool(let flag)): isJSON = flag
    case (.created, .string(let token)):
      created = date(token)
      return created != nil
    case (.modified, .string(let token)):
      modified = date(token)
      return modified != nil
    case (.attributes, .object):
      var object = JSONScanner(bytes, in: value.source)
      var canonical: [UInt8] = []
      try object.appendCanonicalObject(to: &canonical, keepsDigits: true)
      attributes = canonical.isEmpty ? nil : canonical
    case (.attachments, .array):
      attachments = try AttachmentEntry.list(bytes, in: value.source)
    case (.key, _):
      key = scanner.key(value, bytes)
      return key != nil
    default: return false
    }
    return true
  }
}

extension JSONScanner {
  /// Returns a key's bytes. The value must be a string or `{"$base64":"…"}`. Returns `nil` for other values.
  fileprivate func key(_ value: ScannedValue, _ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    if case .string(let token) = value.content { return self.value(of: token) }
    guard case .object = value.content, let token = base64Token(in: value.source) else { return nil }
    var key: [UInt8] = []
    return Base64.append(decoding: UnsafeRawBufferPointer(rebasing: bytes[token.range]), to: &key) ? key : nil
  }
}
