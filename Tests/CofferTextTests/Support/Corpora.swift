import CofferTestSupport
import Foundation

/// The shared test data.
enum Corpora {
  static var root: URL { SharedCorpora.folder }
  static let areAbsent = SharedCorpora.areAbsent

  static func has(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appendingPathComponent(name).path)
  }

  static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: root.appendingPathComponent(name)))
  }
}
