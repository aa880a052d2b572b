import Coffer
import CofferEngine
import Foundation
import Testing

/// The published stores and attacks of format 3, created by a writer that doesn't share code with the library.
enum Vectors {
  static let folder = PublishedKeys.folder.deletingLastPathComponent().appending(path: "Tests/Fixtures/format-3")
  static let storeNames: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return files.filter { $0.hasSuffix(".coffer") }.map { String($0.dropLast(7)) }.sorted()
  }()

  static func json(_ name: String) throws -> JSON { try JSON(file: folder.appending(path: "\(name).json")) }

  /// The archive of attacked stores, which is unpacked only once.
  private static let unpacked: Result<Workplace, any Error> = Result {
    let place = try Workplace()
    let tar = Process()
    tar.executableURL = URL(filePath: "/usr/bin/env")
    tar.arguments = ["tar", "-xJf", folder.appending(path: "attacks.tar.xz").path, "-C", place.url.path]
    try tar.run()
    tar.waitUntilExit()
    return place
  }

  static func attackedStore(_ name: String) throws -> URL {
    let found = FileManager.default.enumerator(at: try unpacked.get().url, includingPropertiesForKeys: nil)?
      .compactMap { $0 as? URL }.first { $0.lastPathComponent == "\(name).coffer" }
    return try #require(found)
  }
}

/// An untyped JSON value.
struct JSON {
  let value: Any?

  init(_ value: Any?) {
    self.value = value is NSNull ? nil : value
  }

  init(file: URL) throws {
    self.init(try JSONSerialization.jsonObject(with: Data(contentsOf: file), options: .fragmentsAllowed))
  }

  subscript(_ name: String) -> JSON { JSON((value as? [String: Any])?[name]) }
  var string: String? { value as? String }
  var int: Int64? { (value as? NSNumber)?.int64Value }
  var array: [JSON] { (value as? [Any] ?? []).map { JSON($0) } }
  var object: [String: JSON] { (value as? [String: Any] ?? [:]).mapValues { JSON($0) } }
  /// A single string or several accepted alternatives.
  var strings: [String] { string.map { [$0] } ?? array.compactMap(\.string) }
}

/// A temporary directory, which is removed when the test ends.
final class Workplace: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "coffer-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  /// The sorted file names.
  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? ["unreadable"] }

  func file(_ name: String) -> URL { url.appending(path: name) }

  func copy(_ original: URL, as name: String? = nil) throws -> URL {
    let copy = file(name ?? original.lastPathComponent)
    try FileManager.default.copyItem(at: original, to: copy)
    return copy
  }
}

extension Secret {
  static func text(_ text: String) -> Secret {
    Array(text.utf8).withUnsafeBytes { Secret(copying: $0) }
  }
}

extension StoreKey {
  /// Returns the key for a kind and a secret from the test material.
  static func named(_ kind: String, _ text: String) -> StoreKey {
    kind.contains("passphrase") ? .passphrase { .text(text) } : .keyMaterial { .text(text) }
  }
}

extension OpenOptions {
  static var testing: OpenOptions {
    var options = OpenOptions()
    options.allowsTestKeys = true
    return options
  }
}
