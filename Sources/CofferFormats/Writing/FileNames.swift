/// Makes file names that are valid on any system from arbitrary titles, unique in one directory.
struct FileNames: Sendable {
  /// Assigned names, in the form in which case-insensitive systems compare them; as hashes, since a collision only adds a
  /// number.
  private var taken: Set<Int> = []

  /// The name for a document's file; the id follows the title if another file has that name.
  mutating func name(title: String?, id: Int64, ending: String) -> String {
    let stem = Self.stem(title: title, id: id)
    for name in ["\(stem)\(ending)", "\(stem)-\(id)\(ending)"] where taken.insert(name.uppercased().hashValue).inserted
    {
      return name
    }
    return "document-\(id)-\(id)\(ending)"
  }

  /// The longest name without its number, in bytes; well below the 255 of file systems.
  private static let longest = 180

  /// The beginning of a file name: never empty, no path, not hidden, no device.
  static func stem(title: String?, id: Int64) -> String {
    var stem = String(String.UnicodeScalarView((title ?? "").unicodeScalars.map { isSafe($0) ? $0 : "_" }))
    if stem.lowercased().hasSuffix(".txt") { stem.removeLast(4) }
    var short = ""
    var count = 0
    for character in stem {
      count += character.utf8.count
      if count > longest { break }
      short.append(character)
    }
    let trimmed = short.trimming([".", " "])
    if trimmed.isEmpty { return "document-\(id)" }
    // Windows takes such a name for a device, whatever follows its first dot.
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
  fileprivate func trimming(_ characters: Set<Character>) -> String {
    var rest = self[...]
    while let first = rest.first, characters.contains(first) { rest.removeFirst() }
    while let last = rest.last, characters.contains(last) { rest.removeLast() }
    return String(rest)
  }
}
