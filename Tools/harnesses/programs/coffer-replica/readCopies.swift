internal import Coffer
internal import CofferReplication
internal import Foundation

/// Reads every document of each copy in turn, as an app would: it keeps one store open until the next copy is there.
///
/// Prints `read GENERATION DOCUMENTS`.
func readCopies(in folder: String, key: String, seconds: Double) async throws {
  let url = ReplicaFolder(at: URL(filePath: folder)).current
  var options = OpenOptions()
  options.allowsTestKeys = true
  options.isReadOnly = true
  let end = Date().addingTimeInterval(seconds)
  while Date() < end {
    let store = try await DocumentStore.open(at: url, key: .keyFile(URL(filePath: key)), options: options)
    var lastGeneration: UInt64 = 0
    while !store.isSuperseded, Date() < end {
      let (generation, documents) = try await store.read { reader -> (UInt64, Int) in
        var documents = 0
        for collection in try reader.collections() {
          try reader.forEach(in: DocumentCollection(collection.name)) { _ in documents += 1 }
        }
        return (reader.generation, documents)
      }
      guard generation >= lastGeneration else {
        say("error generation \(generation) after \(lastGeneration)")
        exit(1)
      }
      lastGeneration = generation
      say("read \(generation) \(documents)")
      try await Task.sleep(for: .milliseconds(20))
    }
    try await store.close()
  }
}
