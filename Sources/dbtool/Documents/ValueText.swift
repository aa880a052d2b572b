internal import Coffer
internal import CofferDocuments

/// Checks on the JSON text of a stored value.
enum ValueText {
  /// Refuses text that isn't JSON for a value, because the app that stored the value couldn't read it.
  ///
  /// - Throws: `not-json` with the position in the text.
  static func require(_ text: String, for id: DocumentID) throws {
    var text = text
    let fault: JSONError? = text.withUTF8 { bytes in
      do throws(JSONError) {
        var scanner = JSONScanner(UnsafeRawBufferPointer(bytes))
        _ = try scanner.scanDocument()
        return nil
      } catch {
        return error
      }
    }
    guard let fault else { return }
    throw Failure(
      .undecodable, kind: "not-json", "document \(id) holds a value, and the new text isn't JSON: \(fault)",
      hint: "rm deletes the value, and put stores a text")
  }
}
