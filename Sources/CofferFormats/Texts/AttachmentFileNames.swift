/// Makes file names from the names of attachments, unique in one folder.
package struct AttachmentFileNames: Sendable {
  private var names = FileNames()

  package init() {}

  /// Returns a name that is valid on any system, with the ending of the attachment's name.
  ///
  /// - Parameter number: The attachment's number, which follows the name if another file has that name.
  package mutating func name(for name: String, number: Int64) -> String {
    let dot = name.lastIndex(of: ".").flatMap { $0 > name.startIndex && Self.isEnding(name[$0...]) ? $0 : nil }
    return names.name(
      title: String(name[..<(dot ?? name.endIndex)]), id: number, ending: String(name[(dot ?? name.endIndex)...]))
  }

  /// Whether a part of a name is a dot with up to 16 letters or digits.
  private static func isEnding(_ part: Substring) -> Bool {
    (2...17).contains(part.utf8.count)
      && part.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }
  }
}
