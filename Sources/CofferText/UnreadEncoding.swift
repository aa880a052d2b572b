/// An unsupported encoding, detected by the appearance of its bytes. Errors name the encoding and the command that
/// converts it.
public enum UnreadEncoding: String, CaseIterable, Hashable, Sendable {
  /// UTF-32 with a byte order mark.
  case utf32 = "UTF-32"
  case utf32LittleEndian = "UTF-32LE"
  case utf32BigEndian = "UTF-32BE"
  case eucJP = "EUC-JP"
  case shiftJIS = "SHIFT_JIS"
  case eucKR = "EUC-KR"
  case gb18030 = "GB18030"
  case big5 = "BIG5"

  /// The next step, which is a command that converts the text to UTF-8.
  public var advice: String { "looks like \(rawValue): iconv -f \(rawValue) -t UTF-8" }

  /// Detects the encoding of a text, which may end inside a character.
  ///
  /// Every character must be in the encoding, and most of its multibyte characters must be frequent. Texts in code
  /// pages contain single bytes beyond ASCII between letters, or words of only such bytes, which don't match frequent
  /// characters.
  init?(lookOf bytes: UnsafeRawBufferPointer) {
    let double: [UnreadEncoding] = [.eucJP, .shiftJIS, .eucKR, .gb18030, .big5]
    let candidates = double.compactMap { encoding in encoding.share(in: bytes).map { (encoding, share: $0) } }
    guard let best = candidates.map(\.share).max(), best >= 0.75,
      let first = candidates.first(where: { $0.share > best - 0.02 })
    else { return nil }
    self = first.0
  }

  /// Detects UTF-32 without a byte order mark. The bytes must be complete units from the beginning, each of which is a
  /// character.
  init?(wideLookOf bytes: UnsafeRawBufferPointer, isWhole: Bool) {
    let units = bytes.count / 4
    guard isWhole, units >= 2 else { return nil }
    func isCharacter(_ unit: Int, _ order: UnreadEncoding) -> Bool {
      let word = bytes.loadUnaligned(fromByteOffset: 4 * unit, as: UInt32.self)
      let value = order == .utf32LittleEndian ? UInt32(littleEndian: word) : UInt32(bigEndian: word)
      return value > 0 && Unicode.Scalar(value) != nil
    }
    let orders: [UnreadEncoding] = [.utf32LittleEndian, .utf32BigEndian]
    guard let order = orders.first(where: { order in (0..<units).allSatisfy { isCharacter($0, order) } }) else {
      return nil
    }
    self = order
  }

  /// Returns the share of two-byte characters that are frequent in this encoding, or `nil` if the bytes aren't in this
  /// encoding or could also be in a code page.
  private func share(in bytes: UnsafeRawBufferPointer) -> Double? {
    var (all, frequent, kana, together, low) = (0, 0, 0, 0, 0)
    var isBehindLong = false
    var index = 0
    while index < bytes.count {
      let lead = bytes[index]
      guard lead >= 0x80 else {
        isBehindLong = false
        index += 1
        continue
      }
      guard let length = length(bytes, index) else { return nil }
      // The text may be truncated.
      guard index + length <= bytes.count else { break }
      if length > 1 {
        let trail = bytes[index + 1]
        all += 1
        if isFrequent(lead, trail) { frequent += 1 }
        if [0xA4, 0xA5, 0x8E].contains(lead) { kana += 1 }
        let isAlone = trail >= 0x80 && !bytes.holdsLetter(at: index - 1) && !bytes.holdsLetter(at: index + length)
        if isBehindLong || isAlone { together += 1 }
        low += (lead < 0xC0 ? 1 : 0) + (trail < 0xC0 ? 1 : 0)
      }
      isBehindLong = length > 1
      index += length
    }
    // In a code page, letters beyond ASCII are single or form words, and their bytes are at least C0.
    guard all > 0, together * 3 >= all, low * 12 >= all, self != .eucJP || kana * 10 >= all else { return nil }
    return Double(frequent) / Double(all)
  }

  /// Returns the length in bytes of the character that begins here with a byte from 80, or `nil` if it isn't a
  /// character. The character may end beyond the bytes.
  private func length(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Int? {
    let lead = bytes[index]
    guard index + 1 < bytes.count else { return 2 }
    let trail = bytes[index + 1]
    let isHigh = (0xA1...0xFE).contains(trail)
    switch self {
    case .utf32, .utf32LittleEndian, .utf32BigEndian: return nil
    case .eucJP:
      if lead == 0x8E { return (0xA1...0xDF).contains(trail) ? 2 : nil }
      if lead == 0x8F { return isHigh ? 3 : nil }
      return (0xA1...0xFE).contains(lead) && isHigh ? 2 : nil
    case .eucKR: return (0xA1...0xFE).contains(lead) && isHigh ? 2 : nil
    case .shiftJIS:
      if (0xA1...0xDF).contains(lead) { return 1 }
      let isLead = (0x81...0x9F).contains(lead) || (0xE0...0xFC).contains(lead)
      return isLead && (0x40...0xFC).contains(trail) && trail != 0x7F ? 2 : nil
    case .gb18030:
      guard (0x81...0xFE).contains(lead) else { return nil }
      if (0x30...0x39).contains(trail) { return 4 }
      return (0x40...0xFE).contains(trail) && trail != 0x7F ? 2 : nil
    case .big5:
      return (0xA1...0xF9).contains(lead) && ((0x40...0x7E).contains(trail) || isHigh) ? 2 : nil
    }
  }

  /// Returns whether a two-byte character is in the rows of punctuation, syllables and frequent characters.
  private func isFrequent(_ lead: UInt8, _ trail: UInt8) -> Bool {
    switch self {
    case .utf32, .utf32LittleEndian, .utf32BigEndian: false
    case .eucJP: [0xA1, 0xA3, 0xA4, 0xA5, 0x8E].contains(lead) || (0xB0...0xCF).contains(lead)
    case .shiftJIS: (0x81...0x83).contains(lead) || (0x88...0x98).contains(lead)
    case .eucKR: lead == 0xA1 || lead == 0xA3 || (0xB0...0xC8).contains(lead)
    case .gb18030:
      (0x81...0xA0).contains(lead) && trail >= 0x80
        || trail >= 0xA1 && ([0xA1, 0xA3].contains(lead) || (0xB0...0xD7).contains(lead))
    case .big5: (0xA1...0xC6).contains(lead)
    }
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func holdsLetter(at index: Int) -> Bool {
    indices.contains(index) && (0x61...0x7A).contains(self[index] | 0x20) && self[index] < 0x80
  }
}
