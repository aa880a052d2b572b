internal import CofferDocuments

/// Makes file names that are valid on any system from arbitrary titles and keys, unique in one directory.
struct FileNames: Sendable {
  /// Assigned paths, in the form in which case-insensitive systems compare them; as hashes, since a collision only adds a
  /// number.
  private var taken: Set<Int> = []
  /// Assigned folders: the bytes of each path, by the same hash.
  private var folders: [Int: [UInt8]] = [:]

  /// - Parameter reserved: a name that is never assigned.
  init(reserving reserved: String? = nil) {
    if let reserved { taken.insert(Self.hash(reserved)) }
  }

  /// The name for a document's file; the id follows the title if another file has that name.
  mutating func name(title: String?, id: Int64, ending: String) -> String {
    let stem = Self.stem(title: title, id: id)
    for name in ["\(stem)\(ending)", "\(stem)-\(id)\(ending)"] {
      let hash = Self.hash(name)
      if folders[hash] == nil, taken.insert(hash).inserted { return name }
    }
    return "document-\(id)-\(id)\(ending)"
  }

  /// The same with the ending of the title if it has one, such as `.md`, otherwise `.txt`.
  mutating func name(title: String?, id: Int64) -> String {
    guard let title, let dot = title.lastIndex(of: "."), dot > title.startIndex,
      Self.isEnding(title[dot...].dropFirst())
    else { return name(title: title, id: id, ending: ".txt") }
    return name(title: String(title[..<dot]), id: id, ending: String(title[dot...]))
  }

  /// The path that a key is: it has several components, or is the title as well, and each component is a name that is
  /// safe as it is.
  ///
  /// - Returns: nil if the key is no path, or clashes with a path that is assigned.
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

  /// The folder for the attachments of a document, beside its text.
  ///
  /// - Parameter stem: The path of the text without its extension.
  mutating func folder(beside stem: String, id: DocumentID) -> String {
    unused(stem, ending: ".files", number: id.rawValue)
  }

  /// The name for the file of an attachment, with the extension of the attachment's name.
  ///
  /// - Parameter number: The attachment's number among those of its document, for a name of which nothing can stay.
  mutating func name(ofAttachment name: String, number: Int) -> String {
    let whole = Self.replacingUnsafe(name)
    let dot = whole.lastIndex(of: ".").flatMap { $0 > whole.startIndex ? $0 : nil } ?? whole.endIndex
    // A long extension is a part of the name.
    let ending = whole[dot...].utf8.count <= Self.longestEnding ? whole[dot...] : ""
    let trimmed = ending.trimming([".", " "])
    let stem = Self.safe(String(whole.dropLast(ending.count))) ?? "attachment-\(number)"
    return unused(stem, ending: trimmed.isEmpty ? "" : ".\(trimmed)", number: 2)
  }

  /// Assigns the name, or the name with a number from `number` on.
  private mutating func unused(_ stem: String, ending: String, number: Int64) -> String {
    var name = stem + ending
    var number = number
    while folders[Self.hash(name)] != nil || !taken.insert(Self.hash(name)).inserted {
      name = "\(stem)-\(number)\(ending)"
      number += 1
    }
    return name
  }

  private static func hash(_ path: String) -> Int { path.uppercased().hashValue }

  /// True for what usually follows the dot of a text file's name: a few letters of one case, or digits behind them.
  private static func isEnding(_ ending: Substring) -> Bool {
    let bytes = ending.utf8
    let isLower = bytes.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    let isUpper = bytes.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }
    return (1...8).contains(bytes.count) && (isLower || isUpper) && bytes.first! >= 0x41
  }

  /// True for a name that stays as it is, and is not that of an index.
  private static func isName(_ name: String) -> Bool {
    safe(replacingUnsafe(name))?.utf8.elementsEqual(name.utf8) == true
      && name.uppercased() != DirectorySource.indexName.uppercased()
  }

  /// The longest name without its number, in bytes; well below the 255 of file systems.
  private static let longest = 180
  /// The longest extension of an attachment's file in bytes, with its dot.
  private static let longestEnding = 17

  /// The beginning of a file name: never empty, no path, not hidden, no device.
  static func stem(title: String?, id: Int64) -> String {
    safe(replacingUnsafe(title ?? "")) ?? "document-\(id)"
  }

  private static func replacingUnsafe(_ name: String) -> String {
    String(String.UnicodeScalarView(name.unicodeScalars.map { isSafe($0) ? $0 : "_" }))
  }

  /// A short name that is neither hidden nor a device; nil if nothing remains.
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
    // Windows takes a name for a device by the part before its first dot.
    let base = trimmed.prefix { $0 != "." }
    return isDevice(String(base).trimming([" "])) ? base + "_" + trimmed.dropFirst(base.count) : trimmed
  }

  /// False for characters with a special meaning in paths, terminals or other systems.
  private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "/", "\\", ":", "*", "?", "\"", "<", ">", "|": false
    // Line and paragraph separators, bidirectional controls, and an invisible mark.
    case "\u{2028}", "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{200E}", "\u{200F}",
      "\u{61C}", "\u{FEFF}":
      false
    default: scalar.properties.generalCategory != .control
    }
  }

  /// Names that Windows takes for devices.
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
