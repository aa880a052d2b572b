package import Foundation

/// The test data outside of the package.
package enum SharedCorpora {
  /// The folder in `COFFER_CORPORA`, or by default `../shared/corpora` next to the package. It may be missing.
  package static let folder: URL = {
    if let given = ProcessInfo.processInfo.environment["COFFER_CORPORA"] { return URL(filePath: given) }
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    return root.appending(path: "shared/corpora")
  }()

  /// The folder, or `nil` if it's missing.
  package static let existingFolder: URL? = FileManager.default.fileExists(atPath: folder.path) ? folder : nil
}
