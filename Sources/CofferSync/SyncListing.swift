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
  /// The devices whose subfolders can't be read.
  private var hidden: Set<UniqueID> = []
  /// The files and subfolders that can't be read, by their paths, each with its device if that's known, and the error.
  private(set) var unreadable: [String: (device: UniqueID?, error: StoreError)] = [:]

  init(_ directory: any SyncDirectory, _ keys: SyncKeys) {
    (self.directory, self.keys) = (directory, keys)
  }

  /// Returns the names in a device's subfolder that can be names of its files.
  func names(of device: UniqueID) throws(StoreError) -> Set<String> {
    if let known = names[device] { return known }
    let found = try names(in: try keys.subfolder(of: device), of: device)
    if found == nil { hidden.insert(device) }
    names[device] = Set(found ?? [])
    return names[device]!
  }

  /// Returns the names in a subfolder that can be names of a device's files, in ascending order, or `nil` after noting
  /// that the subfolder can't be read.
  func names(in subfolder: String, of device: UniqueID? = nil) throws(StoreError) -> [String]? {
    do throws(StoreError) {
      return try directory.files(in: subfolder).map(\.name).filter(SyncKeys.isName)
    } catch {
      try note(error, at: subfolder, of: device)
      return nil
    }
  }

  /// Adds the name of a published file.
  func add(_ name: String, of device: UniqueID) { names[device]?.insert(name) }

  /// Returns whether a device's file is there, or `true` if the device's subfolder can't be read.
  func contains(_ file: SyncMemory.File, of device: UniqueID) throws(StoreError) -> Bool {
    let names = try names(of: device)
    if hidden.contains(device) { return true }
    return names.contains(try keys.name(of: file, of: device))
  }

  /// Returns a device's complete files in ascending order, without files that the lines contain and earlier files.
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
    let file = try open(name, in: try keys.subfolder(of: device), keys, of: device)
    guard let file, file.header.device == device, try keys.name(of: file.file, of: device) == name else { return nil }
    return file
  }

  /// Opens a file, or returns `nil` if it isn't a whole file of a device, or after noting that it can't be read.
  func open(
    _ name: String, in subfolder: String, _ keys: SyncKeys, of device: UniqueID? = nil
  ) throws(StoreError) -> SyncFile? {
    do throws(StoreError) {
      return try SyncFile(name, in: subfolder, of: directory, keys)
    } catch {
      try note(error, at: "\(subfolder)/\(name)", of: device)
      return nil
    }
  }

  private func note(_ error: StoreError, at path: String, of device: UniqueID?) throws(StoreError) {
    guard error.code == .readOnly || error.code == .ioFailure else { throw error }
    unreadable[path] = (device ?? unreadable[path]?.device, error)
  }

  /// The number of files before the known files that a folder can still contain.
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
    // A device's first line records the first file that can show that the device was copied.
    guard first > 1, first < .max else { return known }
    for sequence in (first - min(first - 1, Self.earlierFiles))..<first {
      known.beginnings.insert(try keys.beginning(sequence, of: device))
    }
    return known
  }
}
