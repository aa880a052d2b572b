internal import CofferEngine
package import CofferRecords
package import CofferSync

/// A folder in memory: what one device sees of the folder that a carrier keeps alike everywhere.
package final class SimulatedFolder: SyncDirectory {
  package let path: String
  /// The files by the names of their subfolders.
  package var contents: [String: [String: [UInt8]]] = [:]
  /// The complete files without a name.
  private var pending: [String: [String: [UInt8]]] = [:]
  /// The number of writing calls until one fails, or `nil` for no failure.
  package var callsUntilFailure: Int?
  package private(set) var writtenBytes = 0
  /// Called once, before the next file gets its name.
  package var willPublish: (() -> Void)?
  /// The subfolders, and the files by their paths, that can't be read.
  package var unreadable: Set<String> = []
  /// The number of bytes that each file seems to have, or `nil` for its own.
  package var seemingByteCount: Int?

  package init(_ path: String) {
    self.path = path
  }

  private func failIfDue() throws(StoreError) {
    guard let calls = callsUntilFailure else { return }
    callsUntilFailure = calls - 1
    if calls <= 0 {
      callsUntilFailure = nil
      throw StoreError(.ioFailure, "\(path): the simulated folder failed")
    }
  }

  private func requireReadable(_ name: String) throws(StoreError) {
    guard unreadable.contains(name) else { return }
    throw StoreError(.readOnly, "\(path)/\(name): the simulated folder doesn't let this user read it")
  }

  package func subfolders() throws(StoreError) -> [String]? { contents.keys.sorted() }

  package func files(in subfolder: String) throws(StoreError) -> [SyncDirectoryFile] {
    try requireReadable(subfolder)
    return (contents[subfolder] ?? [:]).sorted { $0.key < $1.key }
      .map { SyncDirectoryFile(name: $0.key, byteCount: seemingByteCount ?? $0.value.count) }
  }

  package func open(_ name: String, in subfolder: String) throws(StoreError) -> (any SyncFileBytes)? {
    try requireReadable("\(subfolder)/\(name)")
    return contents[subfolder]?[name].map { Reading($0) }
  }

  package func create(in subfolder: String) throws(StoreError) -> any SyncNewFile {
    try failIfDue()
    return Writing(self, subfolder)
  }

  package func publish(_ pending: String, as name: String, in subfolder: String) throws(StoreError) -> Bool {
    try failIfDue()
    let act = willPublish
    willPublish = nil
    act?()
    guard contents[subfolder]?[name] == nil, let bytes = self.pending[subfolder]?.removeValue(forKey: pending) else {
      return false
    }
    contents[subfolder, default: [:]][name] = bytes
    writtenBytes += bytes.count
    return true
  }

  package func removeUnfinished(except kept: String, in subfolder: String) throws(StoreError) {
    try failIfDue()
    pending[subfolder] = pending[subfolder]?.filter { $0.key == kept }
  }

  package func remove(_ name: String, in subfolder: String) throws(StoreError) {
    try failIfDue()
    contents[subfolder]?[name] = nil
  }

  private final class Reading: SyncFileBytes {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(_ count: Int, at offset: Int) throws(StoreError) -> [UInt8] {
      Array(bytes[min(offset, bytes.count)..<min(offset + count, bytes.count)])
    }
  }

  private final class Writing: SyncNewFile {
    private let folder: SimulatedFolder
    private let subfolder: String
    private var bytes: [UInt8] = []

    init(_ folder: SimulatedFolder, _ subfolder: String) {
      (self.folder, self.subfolder) = (folder, subfolder)
    }

    func write(_ new: [UInt8], at offset: Int) throws(StoreError) {
      try folder.failIfDue()
      if bytes.count < offset + new.count {
        bytes += [UInt8](repeating: 0, count: offset + new.count - bytes.count)
      }
      bytes.replaceSubrange(offset..<offset + new.count, with: new)
    }

    func finish(as pending: String) throws(StoreError) {
      try folder.failIfDue()
      folder.pending[subfolder, default: [:]][pending] = bytes
    }

    func discard() {}
  }
}
