/// A generator of file names from attachment names. The names are unique in a folder, and follow the rules for exported
/// folders.
package struct AttachmentFileNames: Sendable {
  private var names = FileNames()

  package init() {}

  /// Returns a name that's valid on any system, with the extension of the attachment's name.
  ///
  /// - Parameter number: The attachment's number, which replaces a name without usable characters.
  package mutating func name(for name: String, number: Int64) -> String {
    names.name(ofAttachment: name, number: Int(number))
  }
}
