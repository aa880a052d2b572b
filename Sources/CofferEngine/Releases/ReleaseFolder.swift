internal import CofferPlatform
package import CofferRecords
internal import CofferSealing

/// A folder with the files that lead to a publisher's newest release, which anyone may carry (FORMAT, "Release folders").
package struct ReleaseFolder {
  package let path: String

  private static let partSize = 64 << 10

  package init(_ path: String) {
    self.path = path
  }

  package func place(_ name: String) -> String { "\(path)/\(name)" }

  // MARK: Reading

  /// Returns the index without verification, or `nil` if it's missing.
  ///
  /// - Throws: `notAsReleased` for a file that isn't an index.
  package func index() throws(StoreError) -> ReleaseIndex? {
    guard let bytes = try contents(ReleaseIndex.name, limit: ReleaseIndex.maximumByteCount) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self), let index = ReleaseIndex(text) else {
      throw .notAsReleased(
        "\(place(ReleaseIndex.name)) isn't the index of a release folder, or is cut",
        hint: "get it again; in the publisher's own folder, delete it, and publish again")
    }
    return index
  }

  /// Returns the contents of a small file, or `nil` if it's missing.
  ///
  /// - Throws: `tooLarge`.
  package func contents(_ name: String, limit: Int) throws(StoreError) -> [UInt8]? {
    guard let descriptor = try open(name) else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    try forEachPart(of: descriptor, name) { part throws(StoreError) in
      guard bytes.count + part.count <= limit else {
        throw StoreError(.tooLarge, "\(place(name)) has more than \(limit) bytes")
      }
      bytes += part
    }
    return bytes
  }

  /// Returns whether the folder has a file with the right length.
  package func has(_ update: ReleaseUpdate) -> Bool { has(update.name, byteCount: update.byteCount) }

  /// Returns whether the folder has a file with this name and length.
  package func has(_ name: String, byteCount: Int) -> Bool {
    var status = stat()
    return stat(place(name), &status) == 0 && status.st_mode & S_IFMT == S_IFREG && Int(status.st_size) == byteCount
  }

  /// Returns whether the folder has a key file for a recipient.
  package func hasKey(_ name: String, for recipient: Recipient, isTest: Bool) throws(StoreError) -> Bool {
    guard let bytes = try? contents(name, limit: ReleaseKeyFile.maximumByteCount),
      let text = String(validating: bytes, as: UTF8.self), let file = ReleaseKeyFile(text)
    else { return false }
    return try file.isWrapped(for: recipient, isTest: isTest)
  }

  /// Copies a file to a file that only this process can write, and compares the copy with the index.
  ///
  /// - Parameter folder: The folder for the copy, which doesn't have a name.
  /// - Throws: `notAsReleased` for other bytes, or `noSuchFile`.
  package func copy(_ update: ReleaseUpdate, in folder: String) throws(StoreError) -> PrivateCopy {
    guard let descriptor = try open(update.name) else {
      throw StoreError(
        .noSuchFile, "\(place(update.name)) is missing", hint: "get it from where the index comes from")
    }
    defer { close(descriptor) }
    let copy = try PrivateCopy(in: folder)
    let hasher = try ContentHasher()
    var left = update.byteCount
    try forEachPart(of: descriptor, update.name) { part throws(StoreError) in
      guard part.count <= left else { throw other(update) }
      left -= part.count
      hasher.update(part)
      try copy.append(part)
    }
    guard left == 0, try hasher.finish().bytes == update.digest else { throw other(update) }
    return copy
  }

  private func other(_ update: ReleaseUpdate) -> StoreError {
    StoreError(
      .notAsReleased, "\(place(update.name)) is cut, or isn't the file that its publisher signed",
      hint: "get it again from where the index comes from")
  }

  private func open(_ name: String) throws(StoreError) -> Int32? {
    let descriptor = CofferPlatform.open(place(name), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw StagedFile.failure(place(name)) }
      return nil
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw StoreError(.ioFailure, "\(place(name)) isn't a file")
    }
    return descriptor
  }

  private func forEachPart(
    of descriptor: Int32, _ name: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    let part = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.partSize, alignment: 16)
    defer { part.deallocate() }
    while true {
      let count = FileBytes.readSome(of: descriptor, into: part)
      guard count >= 0 else { throw StagedFile.failure(place(name)) }
      guard count > 0 else { return }
      try body(UnsafeRawBufferPointer(rebasing: part[..<count]))
    }
  }

  // MARK: Writing

  /// Runs work while no other program publishes to the folder, which is made if it's missing.
  ///
  /// - Throws: `locked`.
  package func locked<R>(_ work: () throws -> R) throws -> R {
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else { throw StagedFile.failure(path) }
    let descriptor = CofferPlatform.open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0)
    guard descriptor >= 0 else { throw StagedFile.failure(path) }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw StoreError(.locked, "\(path): another program publishes to the folder", hint: "try again when it's done")
    }
    return try work()
  }

  /// Returns the names of this folder's files, without the index and unknown files.
  package func names() throws(StoreError) -> [String] {
    guard let names = FolderNames.of(path) else { throw StagedFile.failure(path) }
    return names.filter { $0.wholeMatch(of: #/[0-9]+-[0-9]+\.update|[0-9]+\.[a-z0-9-]+\.key/#) != nil }
  }

  /// Requires a folder without an index to contain only the files of an interrupted publication.
  package func requireUnused() throws(StoreError) {
    let known = Set(try names())
    guard (FolderNames.of(path) ?? []).allSatisfy({ $0.hasPrefix(".") || known.contains($0) }) else {
      throw StoreError(
        .alreadyExists, "\(path): the folder isn't empty, and has no index of releases", hint: "name another folder")
    }
  }

  /// Writes a file under a temporary name, and gives it its name when it's complete. Replaces an older file.
  ///
  /// - Returns: The length, and the SHA-256.
  @discardableResult
  package func write(
    _ name: String, _ fill: (_ append: @escaping (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws -> Void
  ) throws -> (byteCount: Int, digest: [UInt8]) {
    let file = StagedFile(place(name), replacesExisting: true)
    try file.make()
    do {
      let hasher = try ContentHasher()
      let counter = Counter()
      try fill { bytes throws(StoreError) in
        hasher.update(bytes)
        counter.count += bytes.count
        try file.append(bytes)
      }
      // Everyone who carries the folder may read it.
      try file.allowReading()
      try file.sync()
      let digest = try hasher.finish().bytes
      // The other files don't publish a release without the index.
      if name == ReleaseIndex.name {
        try Cancellation.storing { () throws(StoreError) in try file.publish() }
      } else {
        try file.publish()
      }
      return (counter.count, digest)
    } catch {
      file.discard()
      throw error
    }
  }

  private final class Counter {
    var count = 0
  }

  package func write(_ name: String, text: String) throws {
    try write(name) { append in
      let bytes = Array(text.utf8)
      try bytes.withBytes { bytes throws(StoreError) in try append(bytes) }
    }
  }

  package func remove(_ name: String) throws(StoreError) {
    guard unlink(place(name)) == 0 || errno == ENOENT else { throw StagedFile.failure(place(name)) }
  }
}

/// A file without a name that only this process can write.
package final class PrivateCopy {
  private let descriptor: Int32
  private let folder: String
  private var count = 0

  fileprivate init(in folder: String) throws(StoreError) {
    descriptor = UnnamedFile.openScratch(in: folder)
    self.folder = folder
    guard descriptor >= 0 else { throw StagedFile.failure(folder) }
  }

  deinit { close(descriptor) }

  fileprivate func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    guard FileBytes.writeAll(bytes, to: descriptor, at: count) else { throw StagedFile.failure(folder) }
    count += bytes.count
  }

  /// Returns bytes at an offset, or fewer at the end.
  package func read(_ count: Int, at offset: Int) throws(StoreError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let got = bytes.withUnsafeMutableBytes { FileBytes.fill($0, from: descriptor, at: offset) }
    guard got >= 0 else { throw StagedFile.failure(folder) }
    bytes.removeLast(count - got)
    return bytes
  }
}
