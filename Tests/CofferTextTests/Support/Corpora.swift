import Foundation

/// The shared test data in `COFFER_CORPORA`, or by default in `../shared/corpora` next to the package.
enum Corpora {
  static let root: URL = {
    if let path = ProcessInfo.processInfo.environment["COFFER_CORPORA"] { return URL(fileURLWithPath: path) }
    var package = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { package.deleteLastPathComponent() }
    return package.deletingLastPathComponent().appendingPathComponent("shared/corpora")
  }()

  static func has(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appendingPathComponent(name).path)
  }

  static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: root.appendingPathComponent(name)))
  }
}
