internal import CofferDocuments
internal import CofferText

/// The index of exported texts: the document of each file, in order.
///
/// One line for each: `{"file":"Plans.txt","id":7,"title":"Plans","key":"n-42"}`; title and key are optional.
struct DirectoryIndex {
  struct Entry: Sendable {
    /// A name in the directory, never a path.
    let file: [UInt8]
    var isListed = false
    var id: DocumentID?
    var title: [UInt8]?
    var key: [UInt8]?

    init(file: [UInt8]) {
      self.file = file
    }
  }

  let entries: [Entry]

  /// Reads the index of a directory; nil for another file of that name.
  init?(in directory: FileDescriptor) throws(FormatError) {
    let name = DirectorySource.indexName
    guard let file = try directory.openRegularFile(Array(name.utf8), path: name) else { return nil }
    let options = ReadingOptions(encoding: .fixed(.utf8), path: name)
    var lines = RecordReader(FileByteSource(file), options: options, parser: LineParser())
    var batch = DraftBatch()
    var entries: [Entry] = []
    do throws(FormatError) {
      while try lines.read(into: &batch) {
        for draft in batch.drafts {
          guard let entry = batch.bytes.withUnsafeBytes({ Self.entry($0, in: draft.text) }) else { return nil }
          entries.append(entry)
        }
      }
    } catch {
      if error.code == .unreadable { throw error }
      return nil
    }
    self.entries = entries
  }

  private static func entry(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> Entry? {
    var scanner = JSONScanner(bytes, in: range)
    var file: [UInt8]?
    var entry = Entry(file: [])
    do throws(JSONError) {
      try scanner.openObject(depth: 1)
      var isFirst = true
      while let name = try scanner.nextName(isFirst: isFirst) {
        isFirst = false
        let value = try scanner.scanMemberValue()
        if scanner.equals(name, "file"), case .string(let token) = value.content {
          file = scanner.value(of: token)
        } else if scanner.equals(name, "id"), case .number(let token) = value.content {
          guard let number = scanner.integer(of: token), number >= 1 else { return nil }
          entry.id = DocumentID(number)
        } else if scanner.equals(name, "title"), case .string(let token) = value.content {
          entry.title = scanner.value(of: token)
        } else if scanner.equals(name, "key"), let key = scanner.key(value, bytes) {
          entry.key = key
        } else {
          return nil
        }
      }
      scanner.skipWhitespace()
    } catch {
      return nil
    }
    // Names only: an attacker's index must not choose files elsewhere.
    guard scanner.next == nil, let file, !file.isEmpty, !file.contains(UInt8(ascii: "/")), !file.contains(0),
      file != [0x2E], file != [0x2E, 0x2E]
    else { return nil }
    var listed = Entry(file: file)
    listed.isListed = true
    (listed.id, listed.title, listed.key) = (entry.id, entry.title, entry.key)
    return listed
  }
}

extension JSONScanner {
  /// The bytes of a key: a string, or `{"$base64":"…"}`; nil for anything else.
  fileprivate func key(_ value: ScannedValue, _ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    if case .string(let token) = value.content { return self.value(of: token) }
    guard case .object = value.content, let token = base64Token(in: value.source) else { return nil }
    var key: [UInt8] = []
    return Base64.append(decoding: UnsafeRawBufferPointer(rebasing: bytes[token.range]), to: &key) ? key : nil
  }
}
