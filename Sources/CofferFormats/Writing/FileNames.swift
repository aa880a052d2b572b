/// Names for files that any system takes, made from titles that may be anything.
enum FileNames {
  /// The longest name without what makes it unique, in bytes; well below the 255 that file systems allow.
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
    return isDevice(trimmed) ? trimmed + "_" : trimmed
  }

  /// False for what a path, a shell's listing or another system takes for something else.
  private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "/", "\\", ":", "*", "?", "\"", "<", ">", "|": false
    // Line and paragraph separators, and what turns the direction of writing.
    case "\u{2028}", "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": false
    default: scalar.properties.generalCategory != .control
    }
  }

  /// Names that Windows takes for devices, whatever follows a dot.
  private static func isDevice(_ name: String) -> Bool {
    let stem = name.prefix { $0 != "." }.uppercased()
    if ["CON", "PRN", "AUX", "NUL"].contains(stem) { return true }
    return stem.count == 4 && (stem.hasPrefix("COM") || stem.hasPrefix("LPT")) && stem.last!.isNumber
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
