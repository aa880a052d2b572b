internal import CofferDocuments

/// A generator of file names from arbitrary titles and keys. The names are valid on any system and unique in a
/// directory.
struct FileNames: Sendable {
  /// The assigned paths, in the form that case-insensitive systems compare. The set contains hashes, because a
  /// collision only changes a name.
  private var taken: Set<Int> = []
  /// The path bytes for each assigned folder, by the same hash.
  private var folders: [Int: [UInt8]] = [:]
  /// The number to try next for a name, by the same hash, because many attachments can have one name.
  private var numbers: [Int: Int64] = [:]

  /// Creates a generator.
  ///
  /// - Parameter reserved: A name to reserve, which is never assigned.
  init(reserving reserved: String? = nil) {
    if let reserved { taken.insert(Self.hash(reserved)) }
  }

  /// Returns the name for a document's file. If another file has that name, the ID follows the title.
  mutating func name(title: String?, id: Int64, ending: String) -> String {
    let stem = Self.stem(title: title, id: id)
    for name in ["\(stem)\(ending)", "\(stem)-\(id)\(ending)"] {
      let hash = Self.hash(name)
      if folders[hash] == nil, taken.insert(hash).inserted { return name }
    }
    return unused("document-\(id)-\(id)", ending: ending, number: 2)
  }

  /// Returns the name for a document's file, with the title's extension, such as `.md`, or otherwise `.txt`.
  mutating func name(title: String?, id: Int64) -> String {
    guard let title, let dot = title.lastIndex(of: "."), dot > title.startIndex,
      Self.isEnding(title[dot...].dropFirst())
    else { return name(title: title, id: id, ending: ".txt") }
    return name(title: String(title[..<dot]), id: id, ending: String(title[dot...]))
  }

  /// Returns the key if it's a path for the document's file. The key must have several components or match the title,
  /// and each component must be a safe name.
  ///
  /// - Returns: The key, or `nil` if it isn't a path or conflicts with an assigned path.
  mutating func path(key: String, title: String?) -> String? {
    let components = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard components.count > 1 || title?.utf8.elementsEqual(key.utf8) == true,
      components.allSatisfy({ Self.isName(String($0) ?? "") })
    else { return nil }
    var parents: [[UInt8]] = []
    for component in components.dropLast() {
      parents.append((parents.last.map { $0 + [UInt8(ascii: "/")] } ?? []) + component)
    }
    let hashes = parents.map { Self.hash(String(decoding: $0, as: UTF8.self)) }
    for (parent, hash) in zip(parents, hashes) where taken.contains(hash) || folders[hash, default: parent] != parent {
      return nil
    }
    guard folders[Self.hash(key)] == nil, taken.insert(Self.hash(key)).inserted else { return nil }
    for (parent, hash) in zip(parents, hashes) { folders[hash] = parent }
    return key
  }

  /// Returns the folder for a document's attachments, which is next to the document's text.
  ///
  /// - Parameter stem: The text's path without its extension.
  mutating func folder(beside stem: String, id: DocumentID) -> String {
    unused(stem, ending: ".files", number: id.rawValue)
  }

  /// Returns the name for an attachment's file, with the extension from the attachment's name.
  ///
  /// - Parameter number: The attachment's number in its document, which replaces a name without usable characters.
  mutating func name(ofAttachment name: String, number: Int) -> String {
    let whole = Self.replacingUnsafe(name)
    let dot = whole.lastIndex(of: ".").flatMap { $0 > whole.startIndex ? $0 : nil } ?? whole.endIndex
    // Treat a long extension as part of the name, so the name's limit applies to it.
    let ending = whole[dot...].utf8.count <= Self.longestEnding ? whole[dot...] : ""
    let trimmed = ending.trimming([".", " "])
    let stem = Self.safe(String(whole.dropLast(ending.count))) ?? "attachment-\(number)"
    return unused(stem, ending: trimmed.isEmpty ? "" : ".\(trimmed)", number: 2)
  }

  /// Assigns the name, or the name with the first unused number, starting with `number`.
  private mutating func unused(_ stem: String, ending: String, number: Int64) -> String {
    var name = stem + ending
    let wanted = Self.hash(name)
    while folders[Self.hash(name)] != nil || !taken.insert(Self.hash(name)).inserted {
      let number = numbers[wanted, default: number]
      numbers[wanted] = number + 1
      name = "\(stem)-\(number)\(ending)"
    }
    return name
  }

  private static func hash(_ path: String) -> Int { path.uppercased().hashValue }

  /// Returns whether the extension is usual for a text file. It must have up to eight letters and digits, start with a
  /// letter, and have letters in a single case.
  private static func isEnding(_ ending: Substring) -> Bool {
    let bytes = ending.utf8
    let isLower = bytes.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    let isUpper = bytes.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }
    return (1...8).contains(bytes.count) && (isLower || isUpper) && bytes.first! >= 0x41
  }

  /// Returns whether the name is safe without changes, and isn't an index's name.
  private static func isName(_ name: String) -> Bool {
    safe(replacingUnsafe(name))?.utf8.elementsEqual(name.utf8) == true
      && name.uppercased() != DirectorySource.indexName.uppercased()
  }

  /// The maximum length of a name in bytes, before its number and extension are added. It's well below the usual file
  /// system limit, which is 255 bytes.
  private static let longest = 180
  /// The maximum length of an attachment file's extension in bytes, including the dot.
  private static let longestEnding = 17

  /// Returns the beginning of a file name. It's never empty, and isn't a path, a hidden name or a device.
  static func stem(title: String?, id: Int64) -> String {
    safe(replacingUnsafe(title ?? "")) ?? "document-\(id)"
  }

  private static func replacingUnsafe(_ name: String) -> String {
    String(String.UnicodeScalarView(name.unicodeScalars.map { isSafe($0) ? $0 : "_" }))
  }

  /// Returns a short name that isn't hidden or a device, or `nil` if the name would be empty.
  private static func safe(_ stem: String) -> String? {
    var short = ""
    var count = 0
    for character in stem {
      count += character.utf8.count
      if count > longest { break }
      short.append(character)
    }
    let trimmed = short.trimming([".", " "])
    if trimmed.isEmpty { return nil }
    // Test the part before the first dot, because Windows recognizes devices by it.
    let base = trimmed.prefix { $0 != "." }
    return isDevice(String(base).trimming([" "])) ? base + "_" + trimmed.dropFirst(base.count) : trimmed
  }

  /// Returns `false` for characters with a special meaning in paths, terminals or other systems.
  private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "/", "\\", ":", "*", "?", "\"", "<", ">", "|": false
    // These are line and paragraph separators, bidirectional controls, and an invisible mark.
    case "\u{2028}", "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{200E}", "\u{200F}",
      "\u{61C}", "\u{FEFF}":
      false
    default: scalar.properties.generalCategory != .control
    }
  }

  /// Returns whether Windows treats the name as a device.
  private static func isDevice(_ name: String) -> Bool {
    let name = name.uppercased()
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"].contains(name) { return true }
    return name.count == 4 && (name.hasPrefix("COM") || name.hasPrefix("LPT")) && name.last!.isNumber
  }
}

extension String {
  /// The path without the extension of its last component.
  var withoutExtension: String {
    guard let dot = lastIndex(of: "."), !self[dot...].contains("/"), dot > startIndex, self[index(before: dot)] != "/"
    else { return self }
    return String(self[..<dot])
  }
}

extension StringProtocol {
  fileprivate func trimming(_ characters: Set<Character>) -> String {
    var rest = self[...]
    while let first = rest.first, characters.contains(first) { rest.removeFirst() }
    while let last = rest.last, characters.contains(last) { rest.removeLast() }
    return String(rest)
  }
}
