internal import CofferPatterns
internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

// Stored values: their strings are searched, each by itself.

extension DocumentMatcher {
  /// Memory of an unescaped string that is kept for the next one.
  private static let keptMemory = 8 << 20

  /// Whether a string of a JSON value holds the pattern; nil if the text is no JSON value.
  ///
  /// - Parameter looksAtStrings: looks at strings that are values; otherwise at names of members only.
  func valueMatches(_ json: UnsafeRawBufferPointer, strings looksAtStrings: Bool) -> Bool? {
    if matcher.isLocal, !Self.hasEscapes(json), !matcher.matches(json) { return false }
    do throws(JSONError) {
      var walk = JSONStringWalk(json, withNames: fields.contains(.memberNames))
      var isFound = false
      // A match counts only if all of the text is JSON.
      while let string = try walk.nextString() {
        if !isFound, string.isName || looksAtStrings {
          isFound = matcher.matches(bytes(of: string, walk.scanner, json))
        }
      }
      return isFound
    } catch {
      return nil
    }
  }

  /// The strings of a JSON value that hold the pattern; nil if the text is no JSON value.
  func matchesInValue(_ json: UnsafeRawBufferPointer, strings looksAtStrings: Bool) -> [ValueMatch]? {
    do throws(JSONError) {
      var walk = JSONStringWalk(json, withNames: fields.contains(.memberNames))
      var matches: [ValueMatch] = []
      var left = Self.maximumRanges
      var budget = PatternMatcher.budget(for: json.count)
      while let string = try walk.nextString() {
        guard left > 0, string.isName || looksAtStrings else { continue }
        let bytes = bytes(of: string, walk.scanner, json)
        guard matcher.matches(bytes) else { continue }
        guard let ranges = matcher.ranges(in: bytes, limit: left, budget: &budget) else {
          (matches, left) = ([], 0)
          continue
        }
        left -= ranges.count
        matches.append(
          ValueMatch(path: walk.path, isMemberName: string.isName, ranges: ranges, place: string.token.range))
      }
      return matches
    } catch {
      return nil
    }
  }

  /// The string's UTF-8: in place, or in memory that is valid until the next call.
  private func bytes(
    of string: JSONStringWalk.Found, _ scanner: JSONScanner, _ json: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer {
    let token = string.token
    guard token.hasEscapes else { return UnsafeRawBufferPointer(rebasing: json[token.range]) }
    unescaped.shrink(above: max(Self.keptMemory, token.range.count))
    let memory = unescaped.room(token.range.count)
    return UnsafeRawBufferPointer(rebasing: memory[..<scanner.copyValue(of: token, to: memory)])
  }

  private static func hasEscapes(_ json: UnsafeRawBufferPointer) -> Bool {
    guard let base = json.baseAddress else { return false }
    return memchr(base, Int32(UInt8(ascii: "\\")), json.count) != nil
  }
}
