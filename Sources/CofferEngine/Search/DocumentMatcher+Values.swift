internal import CofferPatterns
internal import CofferPlatform
internal import CofferSealing

// Searches each string of a stored value separately.

extension DocumentMatcher {
  /// The maximum number of bytes kept to unescape the next string.
  private static let keptMemory = 8 << 20

  /// Returns whether a string of a JSON value matches, or `nil` if the text isn't a JSON value.
  ///
  /// - Parameter searchesStrings: Whether to search string values. Otherwise, only member names are searched.
  func valueMatches(_ json: UnsafeRawBufferPointer, strings searchesStrings: Bool) -> Bool? {
    if matcher.isLocal, !Self.hasEscapes(json), !matcher.matches(json) { return false }
    do throws(JSONError) {
      var walk = JSONStringWalk(json, withNames: fields.contains(.memberNames))
      var isFound = false
      // Continue to the end, because a match counts only if the whole text is JSON.
      while let string = try walk.nextString() {
        if !isFound, string.isName || searchesStrings {
          isFound = matcher.matches(bytes(of: string, walk.scanner, json))
        }
      }
      return isFound
    } catch {
      return nil
    }
  }

  /// Returns the matching strings of a JSON value, or `nil` if the text isn't a JSON value.
  func matchesInValue(_ json: UnsafeRawBufferPointer, strings searchesStrings: Bool) -> [SearchMatch.Value]? {
    do throws(JSONError) {
      var walk = JSONStringWalk(json, withNames: fields.contains(.memberNames))
      var matches: [SearchMatch.Value] = []
      var left = Self.maximumRanges
      var budget = PatternMatcher.budget(for: json.count)
      while let string = try walk.nextString() {
        guard left > 0, string.isName || searchesStrings else { continue }
        let bytes = bytes(of: string, walk.scanner, json)
        guard matcher.matches(bytes) else { continue }
        guard let ranges = matcher.ranges(in: bytes, limit: left, budget: &budget) else {
          (matches, left) = ([], 0)
          continue
        }
        left -= ranges.count
        matches.append(
          SearchMatch.Value(path: walk.path, isMemberName: string.isName, ranges: ranges, place: string.token.range))
      }
      return matches
    } catch {
      return nil
    }
  }

  /// Returns the string's UTF-8, either in place or in memory that remains valid until the next call.
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
