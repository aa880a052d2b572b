// A release build, which runs simulated histories, has no Testing.
#if canImport(Testing)
  package import Foundation
  package import Testing

  /// The test data outside of the package.
  package enum SharedCorpora {
    /// The folder in `COFFER_CORPORA`, or by default `../shared/corpora` next to the package. It may be missing.
    package static let folder: URL = {
      if let given = ProcessInfo.processInfo.environment["COFFER_CORPORA"] { return URL(filePath: given) }
      var root = URL(filePath: #filePath)
      for _ in 0..<4 { root.deleteLastPathComponent() }
      return root.appending(path: "shared/corpora")
    }()

    /// The reason to skip a test that needs them.
    package static let areAbsent: Comment = "the corpora are absent: set COFFER_CORPORA"

    /// The folder, or `nil` if it's missing.
    package static let existingFolder: URL? = FileManager.default.fileExists(atPath: folder.path) ? folder : nil
  }
#endif
