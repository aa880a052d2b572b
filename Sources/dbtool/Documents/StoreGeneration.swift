internal import Coffer
internal import CofferEngine
internal import CofferFoundation

/// The generation of a store's file, proved with a key, or otherwise read from its rows.
struct StoreGeneration: CustomStringConvertible {
  /// The state's generation, or the newest row's generation if it isn't proved.
  let generation: UInt64
  let isProved: Bool
  private let pin: StorePin

  /// Opens the file with the key if possible, without changing the file.
  ///
  /// - Throws: An error if the file can't be read without a key.
  init(of path: String, key: StoreKey?, _ options: OpenOptions) throws {
    let url = URL(filePath: path)
    var options = options
    options.pin = nil
    options.leavesFileUnchanged = true
    if let key, let store = try? DocumentStore.open(at: url, key: key, options: options) {
      defer { try? store.close() }
      pin = store.pin
      if let proved = try? store.read({ $0.generation }) {
        (generation, isProved) = (proved, true)
        return
      }
    } else {
      pin = try DocumentStore.info(at: url, wait: options.wait).pin
    }
    (generation, isProved) = (try DocumentStore.newestRevision(at: url, wait: options.wait), false)
  }

  var description: String {
    isProved ? "generation \(generation)" : "generation \(generation) or later, not proved without a key"
  }

  /// Returns the warnings to print before this file replaces another file.
  func warnings(replacing old: StoreGeneration) -> [String] {
    guard pin.storeID == old.pin.storeID else { return ["is another store than the one that it replaces"] }
    var warnings: [String] = []
    if pin.rootGeneration < old.pin.rootGeneration {
      warnings.append("is from before a rekey: it opens with the keys of that time, old keys included")
    } else if (pin.rootGeneration, pin.phase) < (old.pin.rootGeneration, old.pin.phase) {
      warnings.append("is from before the end of a rekey, or before a promotion")
    }
    if isProved == old.isProved, generation < old.generation {
      warnings.append("is older: generation \(generation), and the store that it replaces has \(old.generation)")
    }
    return warnings
  }
}
