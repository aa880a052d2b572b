import Coffer
import CofferSyncSimulation

@testable import CofferEngine
@testable import CofferStoreTestSupport

extension OpenOptions {
  /// The options of simulated devices.
  static var simulated: OpenOptions {
    var options = OpenOptions.testing
    options.creation.isTest = true
    return options
  }
}

extension SimulatedDevice {
  /// Makes the store that others join.
  convenience init(first name: String, in place: Workplace, options: OpenOptions = .simulated) throws {
    try self.init(first: name, in: place.url, key: .published("primary"), options: options)
  }

  /// Makes a store that joins by a folder, which by default is a copy of another device's.
  convenience init(
    joining name: String, by device: SimulatedDevice, folder: SimulatedFolder? = nil, in place: Workplace,
    options: OpenOptions? = nil
  ) throws {
    let copy = SimulatedFolder(name)
    copy.merge(device.folder)
    try self.init(
      joining: name, folder: folder ?? copy, device.invitation(), in: place.url, key: .published("primary"),
      options: options ?? device.options)
  }

  func write(_ text: String) throws {
    try store.write { tx in _ = try tx.insert(Document(title: text, text: text), into: "notes") }
  }
}

extension SimulatedFolder {
  /// Adds the files of another device's view.
  func merge(_ other: SimulatedFolder) {
    for (subfolder, files) in other.contents {
      contents[subfolder, default: [:]].merge(files) { current, _ in current }
    }
  }
}

/// Returns the texts of a device's documents.
func texts(_ device: SimulatedDevice) throws -> Set<String> {
  try device.store.read { reader in
    Set(try reader.headers(in: "notes").map { try reader.text(of: $0.id) })
  }
}
