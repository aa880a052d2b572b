import Coffer
import CofferTestSupport
import Foundation
import Testing

@testable import CofferStoreTestSupport

/// Ordinary weeks with two or three devices that exchange their changes each evening.
///
/// A merge must have exactly the conflicts that two people made, and leave equal stores.
struct MergeWeekTests {
  @Test(arguments: HistorySeeds.first(2)) func weekHasOnlyRealConflicts(_ seed: UInt64) throws {
    try Week(seed).run()
  }

  @Test(.slow, arguments: HistorySeeds.first(5).dropFirst(2)) func weeksHaveOnlyRealConflicts(_ seed: UInt64) throws {
    try Week(seed).run()
  }
}

private final class Week {
  /// A part of a document, or the whole document for a deletion.
  private enum Part: Hashable {
    case text, title, place, whole
    case member(String)
  }

  private static let notes: DocumentCollection = "notes"
  private let seed: UInt64
  private var random: Pseudorandom
  private let place: Workplace
  private var files: [URL] = []
  private var stores: [DocumentStore] = []
  /// The parts that each device has changed since the last exchange.
  private var changes: [[String: Set<Part>]] = []
  /// What happened once this week beside the edits.
  private let event: Int
  private var keys: [StoreKey]
  private var written = 0

  init(_ seed: UInt64) throws {
    self.seed = seed
    random = Pseudorandom(seed: seed &+ 7000)
    event = Int(seed % 6)
    let test = try TestStore()
    place = test.place
    files = [test.url]
    stores = [test.store]
    try test.store.write { writer in
      for number in 0..<40 { _ = try writer.insert(Self.document("n-\(number)", number), into: Self.notes) }
    }
    for device in 1..<(event == 3 ? 3 : 2) {
      files.append(place.file("device\(device).coffer"))
      stores.append(
        try DocumentStore.openEditableCopy(
          of: files[0], at: files[device], key: .published("primary"), options: .testing))
    }
    keys = stores.map { _ in .published("primary") }
    changes = stores.map { _ in [:] }
  }

  private static func document(_ key: String, _ number: Int) -> Document {
    Document(
      title: "Note \(number)", text: "Text \(number)", key: DocumentKey(key), attributes: ["stars": .number(0)])
  }

  func run() throws {
    for day in 0..<7 {
      for device in stores.indices {
        // The third device is at home, and has its turn at the weekend.
        for _ in 0..<(device == 2 ? 1 : 4 + random.number(below: 8)) { try edit(device) }
      }
      if day == 3 { try happen() }
      try exchange(0, 1)
      if stores.count == 3, day == 6 {
        try exchange(0, 2)
        try exchange(1, 2)
      }
    }
    for store in stores { #expect(try store.verify().isSound, "\(self.day)") }
  }

  private var day: String { "seed \(seed), event \(event)" }

  // MARK: Edits

  private func edit(_ device: Int) throws {
    written += 1
    let text = "device \(device), edit \(written)"
    var changed: (key: String, part: Part)?
    let kind = random.number(below: 12)
    let number = random.number(below: 1000)
    try stores[device].write { writer in
      let headers = try writer.headers(in: Self.notes).filter { $0.key != nil }
      let header = headers[number % headers.count]
      let key = try #require(header.key?.text)
      switch kind {
      case 0, 1:
        _ = try writer.insert(
          Document(title: text, text: text, key: DocumentKey("d\(device)-\(written)")), into: Self.notes,
          at: number % 2 == 0 ? .bottom : .before(header.id))
      case 2:
        try writer.delete(header.id)
        changed = (key, .whole)
      case 3:
        try writer.move(header.id, to: .top)
        changed = (key, .place)
      case 4:
        try writer.update(header.id) { $0.title = text }
        changed = (key, .title)
      case 5...8:
        let name = ["stars", "tag"][number % 2]
        try writer.update(header.id) { $0.attributes[name] = .string(text) }
        changed = (key, .member(name))
      default:
        try writer.update(header.id) { $0.text = text }
        changed = (key, .text)
      }
    }
    if let changed { changes[device][changed.key, default: []].insert(changed.part) }
  }

  /// An event of the week, on the second device.
  private func happen() throws {
    switch event {
    case 1:
      try stores[1].rekey(to: [.published("next")]) { _ in }
      keys[1] = .published("next")
    case 2:
      // Yesterday's backup takes the place of a lost file. Today's edits on the device are gone.
      try exchange(0, 1)
      let backup = place.file("backup.coffer")
      try stores[1].backup(to: backup)
      for _ in 0..<5 { try edit(1) }
      try stores[1].close()
      _ = try DocumentStore.restore(at: files[1], from: backup, replacing: true)
      changes[1] = [:]
      try open(1)
    case 4:
      for device in stores.indices {
        try stores[device].close()
        try open(device)
      }
    case 5:
      // More commits than the state lists.
      for number in 0..<400 {
        try stores[1].write { _ = try $0.insert(Document(text: "\(number)"), into: "log") }
      }
    default: break
    }
  }

  private func open(_ device: Int) throws {
    stores[device] = try DocumentStore.open(at: files[device], key: keys[device], options: .testing)
  }

  // MARK: Exchange

  private func exchange(_ one: Int, _ other: Int) throws {
    let real = conflicts(changes[one], changes[other])
    if stores.count == 2 {
      let report = try stores[one].merge(stores[other], options: dryRun)
      let keys = try report.conflicts.map { try key(of: $0, one, other) }
      #expect(Set(keys) == real, "\(day): \(keys) \(real)")
    }
    #expect(try stores[one].merge(stores[other], policy: .both).isMerged, "\(day)")
    let back = try stores[other].merge(stores[one])
    #expect(back.isMerged && back.conflicts.isEmpty, "\(day): \(back.conflicts)")
    #expect(try contents(one) == contents(other), "\(day)")
    for device in [one, other] { changes[device] = [:] }
  }

  private var dryRun: MergeOptions {
    var options = MergeOptions()
    options.isDryRun = true
    return options
  }

  /// The documents of which both devices changed one part, or which one deleted and the other edited.
  private func conflicts(_ one: [String: Set<Part>], _ other: [String: Set<Part>]) -> Set<String> {
    Set(
      one.compactMap { key, parts in
        guard let others = other[key] else { return nil }
        if parts.contains(.whole), others.contains(.whole) { return nil }
        if parts.contains(.whole) || others.contains(.whole) { return key }
        return parts.isDisjoint(with: others) ? nil : key
      })
  }

  private func key(of entry: MergeReport.Entry, _ one: Int, _ other: Int) throws -> String? {
    if let id = entry.id { return try stores[one].read { try $0.header(of: id).key?.text } }
    let id = try #require(entry.otherID)
    return try stores[other].read { try $0.header(of: id).key?.text }
  }

  /// Everything that a reader sees, in order.
  private func contents(_ device: Int) throws -> [String: [String]] {
    try stores[device].read { reader in
      var contents: [String: [String]] = [:]
      for collection in try reader.collections() {
        var documents: [String] = []
        try reader.forEach(in: collection.handle) { document in
          let header = document.header
          documents.append(
            "\(header.key?.text ?? "-") \(header.title ?? "-") \(document.text) \(String(decoding: header.attributes.canonicalJSON, as: UTF8.self))"
          )
        }
        contents[collection.name] = documents
      }
      return contents
    }
  }
}
