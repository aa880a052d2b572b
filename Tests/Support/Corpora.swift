// A release build, which runs simulated histories, has no Testing.
#if canImport(Testing)
  package import Foundation
  package import Testing

  /// The test data outside of the package.
  package enum Corpora {
    /// The folder in `COFFER_CORPORA`, or by default `../shared/corpora` next to the package. Parts of it may be missing.
    package static let folder: URL = {
      if let given = ProcessInfo.processInfo.environment["COFFER_CORPORA"] { return URL(filePath: given) }
      var root = URL(filePath: #filePath)
      for _ in 0..<4 { root.deleteLastPathComponent() }
      return root.appending(path: "shared/corpora")
    }()

    package static func path(_ name: String) -> String { folder.appending(path: name).path() }

    package static func bytes(_ name: String) throws -> [UInt8] {
      [UInt8](try Data(contentsOf: URL(filePath: path(name))))
    }

    package static func names(in directory: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: path(directory)).sorted()
    }
  }

  extension Trait where Self == ConditionTrait {
    /// Skips a test unless the corpora have these files or folders.
    package static func corpora(_ names: String...) -> Self {
      let missing = names.filter { !FileManager.default.fileExists(atPath: Corpora.path($0)) }
      return .enabled(if: missing.isEmpty, "\(missing.joined(separator: ", ")) is missing: set COFFER_CORPORA")
    }
  }
#endif
