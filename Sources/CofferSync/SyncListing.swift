internal import CofferEngine
internal import CofferRecords

/// The folder's files as one run finds them.
final class SyncListing {
  /// A file of a device, whose header is proved.
  struct Entry {
    let file: SyncMemory.File
    let previous: SyncMemory.File
    let kind: SyncFileHeader.Kind
    let name: String
  }

  private let directory: any SyncDirectory
  private let keys: SyncKeys
  private var names: [UniqueID: Set<String>] = [:]
  private var entries: [UniqueID: [Entry]] = [:]
  /// The files that can't be read, each with the error.
  private(set) var unreadable: [(device: UniqueID, name: String, error: StoreError)] = []

  init(_ directory: any SyncDirectory, _ keys: SyncKeys) {
    (self.directory, self.keys) = (directory, keys)
  }

  /// Returns the names in a device's subfolder that can be names of its files.
  func names(of device: UniqueID) throws(StoreError) -> Set<String> {
    if let known = names[device] { return known }
    let files = try directory.files(in: try keys.subfolder(of: device))
    let found = Set(files.lazy.map(\.name).filter(SyncKeys.isName))
    names[device] = found
    return found
  }

  /// Adds the name of a file that this run published.
  func add(_ name: String, of device: UniqueID) { names[device]?.insert(name) }

  func contains(_ file: SyncMemory.File, of device: UniqueID) throws(StoreError) -> Bool {
    try names(of: device).contains(try keys.name(of: file, of: device))
  }

  /// Returns a device's complete files in ascending order, without those that the lines know or that are before them.
  func newFiles(of device: UniqueID, beyond lines: [SyncMemory.Line]) throws(StoreError) -> [Entry] {
    if let known = entries[device] { return known }
    var found: [Entry] = []
    let names = try names(of: device)
    if !names.isEmpty {
      let known = try knownNames(of: device, lines)
      for name in names where !known.names.contains(name) && !known.beginnings.contains(String(name.prefix(32))) {
        guard let file = try open(name, of: device) else { continue }
        let previous = SyncMemory.File(sequence: file.file.sequence - 1, hash: file.header.previous)
        found.append(Entry(file: file.file, previous: previous, kind: file.header.kind, name: name))
      }
      found.sort { ($0.file.sequence, $0.name) < ($1.file.sequence, $1.name) }
    }
    entries[device] = found
    return found
  }

  /// Opens a device's file, or returns `nil` if the device hasn't written a whole file with this name, or after noting
  /// that the file can't be read.
  func open(_ name: String, of device: UniqueID) throws(StoreError) -> SyncFile? {
    do throws(StoreError) {
      let file = try SyncFile(name, in: try keys.subfolder(of: device), of: directory, keys)
      guard let file, file.header.device == device, try keys.name(of: file.file, of: device) == name else { return nil }
      return file
    } catch {
      guard error.code == .readOnly || error.code == .ioFailure else { throw error }
      unreadable.append((device, name, error))
      return nil
    }
  }

  /// The number of files before the known ones that a folder can still have.
  private static let earlierFiles: UInt64 = 128

  private func knownNames(
    of device: UniqueID, _ lines: [SyncMemory.Line]
  ) throws(StoreError) -> (names: Set<String>, beginnings: Set<String>) {
    var known: (names: Set<String>, beginnings: Set<String>) = ([], [])
    var first = UInt64.max
    for line in lines {
      for publication in line.publications where publication.file.sequence > 0 {
        known.names.insert(try keys.name(of: publication.file, of: device))
      }
      first = min(first, line.publications.first?.file.sequence ?? 0)
    }
    // A device's first line remembers from where on a file can show that the device was copied.
    guard first > 1, first < .max else { return known }
    for sequence in (first - min(first - 1, Self.earlierFiles))..<first {
      known.beginnings.insert(try keys.beginning(sequence, of: device))
    }
    return known
  }
}
