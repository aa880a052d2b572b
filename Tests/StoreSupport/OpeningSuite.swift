import Coffer
import CofferRecords
import CofferSQLite
import Foundation
import Testing

/// Tests of a single file that must not change when opening is refused.
protocol OpeningSuite {
  var place: Workplace { get }
  var url: URL { get }
}

extension OpeningSuite {
  func expectRefused(
    _ code: StoreError.Code, key: StoreKey = .published("primary"), options: OpenOptions = .testing,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try? Data(contentsOf: url)
    let names = try FileManager.default.contentsOfDirectory(atPath: place.url.path)
    expect(code, location: location) { _ = try DocumentStore.open(at: url, key: key, options: options) }
    let after = try? Data(contentsOf: url)
    #expect(after == before, sourceLocation: location)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.url.path) == names, sourceLocation: location)
  }

  func makeStore(
    keys: [StoreKey] = [.published("primary")], recipients: [Recipient] = [], documents: Int = 3, _ edit: String? = nil
  ) throws {
    let test = try TestStore(keys: keys, recipients: recipients)
    try test.store.write { writer in
      for number in 0..<documents {
        try writer.insert(Document(title: "\(number)", text: String(repeating: "x", count: 2000)), into: test.notes)
      }
    }
    try test.store.close()
    if let edit {
      let database = try test.raw()
      try database.execute(edit)
      try database.close()
    }
    try FileManager.default.moveItem(at: test.url, to: url)
  }
}
