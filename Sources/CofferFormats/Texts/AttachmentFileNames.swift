/// Makes file names from the names of attachments, unique in one folder, by the rule of a folder's export.
package struct AttachmentFileNames: Sendable {
  private var names = FileNames()

  package init() {}

  /// Returns a name that is valid on any system, with the ending of the attachment's name.
  ///
  /// - Parameter number: The attachment's number, for a name of which nothing can stay.
  package mutating func name(for name: String, number: Int64) -> String {
    names.name(ofAttachment: name, number: Int(number))
  }
}
