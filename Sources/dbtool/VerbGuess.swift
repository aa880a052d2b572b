/// Guesses the intended verb or option for a word.
enum VerbGuess {
  /// Words of other programs, and the equivalent verbs.
  private static let others = [
    "init": "create", "new": "create", "fsck": "verify", "cat": "show", "get": "show", "dump": "show", "list": "ls",
    "rows": "ls", "find": "search", "grep": "search", "add": "put", "insert": "put", "upsert": "put", "delete": "rm",
    "remove": "rm", "forget": "rm", "tables": "collection list", "vacuum": "compact", "prune": "compact",
    "cp": "copy", "status": "info", "stats": "info", "clone": "copy", "check": "verify --keyless",
    "sort": "collection sort", "drop": "collection drop",
    "salvage": "copy --salvage", "anchor": "verify --save-anchor", "fork": "copy", "view": "show", "open": "browse",
    "passwd": "key passwd", "rename": "edit",
    "sql": "query",
  ]

  private static let othersOfKey = ["rm": "remove", "delete": "remove", "ls": "list", "change": "passwd"]

  /// - Parameter place: The words before it.
  /// - Returns: The verb, or `nil` if the word isn't another program's word or within two edits of a verb (one edit for
  ///   up to four letters).
  static func verb(for word: String, among verbs: [String], behind place: [String] = []) -> String? {
    if let meant = (place == ["key"] ? othersOfKey : place.isEmpty ? others : [:])[word] { return meant }
    let distances = verbs.map { (verb: $0, distance: distance(Array(word.utf8), Array($0.utf8))) }
    guard let nearest = distances.min(by: { $0.distance < $1.distance }),
      nearest.distance <= (word.utf8.count > 4 ? 2 : 1)
    else { return nil }
    return nearest.verb
  }

  /// Returns the options that begin with a word, or otherwise the options within two edits of it.
  static func options(for word: String, among options: [String]) -> [String] {
    let longer = options.filter { $0.hasPrefix(word) && word.count > 3 }
    return longer.isEmpty && word.count > 3
      ? options.filter { distance(Array(word.utf8), Array($0.utf8)) <= 2 } : longer
  }

  /// Returns the number of letters to insert, remove or replace.
  private static func distance(_ word: [UInt8], _ other: [UInt8]) -> Int {
    guard abs(word.count - other.count) <= 2 else { return .max }
    var row = Array(0...other.count)
    for (index, letter) in word.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for (place, wanted) in other.enumerated() {
        let replaced = diagonal + (letter == wanted ? 0 : 1)
        diagonal = row[place + 1]
        row[place + 1] = min(replaced, diagonal + 1, row[place] + 1)
      }
    }
    return row[other.count]
  }
}
