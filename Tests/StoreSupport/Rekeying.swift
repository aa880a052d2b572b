import Coffer
import Foundation

extension TestStore {
  /// Adds documents with keys, titles, parents and attributes to two collections, and deletes document 5.
  func fillForRekey(_ count: Int = 30) throws {
    try store.write { writer in
      try writer.create(DocumentCollection("folded"), titleRule: .derived, foldsKeys: true)
      for number in 1...count {
        try writer.insert(
          Document(
            title: "title \(number)", text: String(repeating: "\(number) ", count: number * 20),
            key: number.isMultiple(of: 2) ? DocumentKey("Key \(number)") : nil,
            attributes: ["n": .number(Double(number))],
            parent: number > 3 && number % 3 == 0 ? DocumentID(number - 3) : nil),
          into: DocumentCollection(number.isMultiple(of: 3) ? "folded" : "notes"), at: number % 2 == 0 ? .top : .bottom)
      }
      try writer.delete(5)
    }
  }
}

extension RekeyOptions {
  /// Options with seven documents per batch.
  static var batched: RekeyOptions {
    var options = RekeyOptions()
    options.batchSize = 7
    return options
  }

  static var keysOnly: RekeyOptions {
    var options = batched
    options.isKeysOnly = true
    return options
  }

  static var resuming: RekeyOptions {
    var options = batched
    options.isResuming = true
    return options
  }
}
