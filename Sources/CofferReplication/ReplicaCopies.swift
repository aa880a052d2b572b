internal import Coffer
internal import CofferEngine
internal import CofferPlatform
internal import CofferRecords
internal import CofferSealing

/// The numbered copies in a folder, and the link to the current copy.
struct ReplicaCopies {
  private let folder: String
  /// The numbers of all copies in ascending order.
  private let numbers: [UInt64]
  /// The newest copy's name.
  let latest: String?
  /// Whether the link points to the newest copy.
  let isLinked: Bool

  /// Lists the copies, and deletes unfinished copies of killed processes. Call this while holding the folder's lock.
  ///
  /// - Throws: `alreadyExists` if the link wasn't made by an adoption, or `ioFailure`.
  init(_ folder: String) throws(StoreError) {
    self.folder = folder
    var numbers: [UInt64] = []
    guard let names = FolderNames.of(folder) else { throw StagedFile.failure(folder) }
    for name in names {
      if let number = Self.number(of: name) {
        numbers.append(number)
      } else if Self.isUnfinished(name) {
        unlink(folder + "/" + name)
      }
    }
    self.numbers = numbers.sorted()
    let link = folder + "/" + ReplicaFolder.linkName
    let target = try Self.target(of: link)
    latest = self.numbers.last.map(Self.name)
    isLinked = target == latest
    guard let target, let number = Self.number(of: target), let newest = self.numbers.last else {
      guard target == nil else { throw Self.foreign(link, "names a copy that is not there") }
      return
    }
    guard self.numbers.contains(number) else { throw Self.foreign(link, "names \(target), which is not there") }
    // If a process is killed between the two steps, the link still points to the previous copy.
    guard number == newest || number == self.numbers.dropLast().last else {
      throw Self.foreign(link, "names \(target), and \(Self.name(newest)) is newer")
    }
  }

  /// - Throws: `noNumberLeft`.
  var nextName: String {
    get throws(StoreError) {
      let name = Self.name((numbers.last ?? 0) + 1)
      guard Self.number(of: name) != nil else {
        throw StoreError(.noNumberLeft, "\(folder) has the last copy that can be numbered", hint: "use a new folder")
      }
      return name
    }
  }

  /// Atomically points the link to a copy and makes the change durable.
  func switchLink(to name: String) throws(StoreError) {
    let link = folder + "/" + ReplicaFolder.linkName
    let mark = try translatingErrors { () throws(SealingError) in try SystemRandom.bytes(8) }
    let temporary = folder + "/." + ReplicaFolder.linkName + "." + Hexadecimal.text(mark) + ".new"
    guard symlink(name, temporary) == 0 else { throw StagedFile.failure(temporary) }
    guard rename(temporary, link) == 0 else {
      let failure = StagedFile.failure(link)
      unlink(temporary)
      throw failure
    }
    try Durability.confirmName(of: link)
  }

  /// Deletes the oldest copies after a new copy is added. Copies that can't be deleted are retried next time.
  func removeOldest(keeping count: Int) {
    for number in numbers.dropLast(count - 1) {
      for suffix in ["", "-journal"] { unlink(folder + "/" + Self.name(number) + suffix) }
    }
  }

  // MARK: Names

  static func name(_ number: UInt64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, ReplicaFolder.digits - digits.count)) + digits + ReplicaFolder.ending
  }

  static func number(of name: String) -> UInt64? {
    guard name.hasSuffix(ReplicaFolder.ending) else { return nil }
    let digits = name.dropLast(ReplicaFolder.ending.count)
    guard digits.utf8.count == ReplicaFolder.digits, let number = UInt64(digits), number > 0, Self.name(number) == name
    else { return nil }
    return number
  }

  /// Returns whether this is a temporary name `.NAME.<16 hex digits>.new` for a copy or link, as created by
  /// ``StagedFile`` and ``switchLink(to:)``, optionally with a suffix for SQLite's files.
  private static func isUnfinished(_ name: String) -> Bool {
    var name = Substring(name)
    for suffix in ["-journal", "-wal", "-shm"] where name.hasSuffix(suffix) { name = name.dropLast(suffix.count) }
    guard name.hasPrefix("."), name.hasSuffix(".new") else { return false }
    let parts = name.dropFirst().dropLast(".new".count)
    guard let dot = parts.lastIndex(of: "."), parts[parts.index(after: dot)...].utf8.count == 16,
      parts[parts.index(after: dot)...].allSatisfy(\.isHexDigit)
    else { return false }
    let target = String(parts[..<dot])
    return target == ReplicaFolder.linkName || number(of: target) != nil
  }

  private static func target(of link: String) throws(StoreError) -> String? {
    var status = stat()
    guard lstat(link, &status) == 0 else {
      guard errno == ENOENT else { throw StagedFile.failure(link) }
      return nil
    }
    guard status.st_mode & S_IFMT == S_IFLNK else { throw foreign(link, "is no link") }
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = bytes.withUnsafeMutableBytes { buffer in
      readlink(link, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    guard count >= 0 else { throw StagedFile.failure(link) }
    let target = String(decoding: bytes[..<count], as: UTF8.self)
    guard number(of: target) != nil else { throw foreign(link, "names \(LocalHTTP.excerpt(target))") }
    return target
  }

  private static func foreign(_ link: String, _ reason: String) -> StoreError {
    StoreError(
      .alreadyExists, "\(link) \(reason): it was changed by hand, so that nothing was adopted",
      hint: "delete it, and the next adoption makes it again")
  }
}

/// A folder's lock, which allows only one process at a time to adopt.
struct FolderLock {
  private static let pause: UInt32 = 50_000

  private let descriptor: Int32

  /// - Throws: `locked` if another process holds the lock longer than `wait`, or `ioFailure`.
  init(_ folder: String, wait: Duration) throws(StoreError) {
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      guard errno != ENOENT else {
        throw StoreError(.ioFailure, "there is no folder \(folder)", hint: "make it first")
      }
      throw StagedFile.failure(folder)
    }
    let deadline = ContinuousClock.now + wait
    do throws(StoreError) {
      while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        guard errno == EWOULDBLOCK || errno == EINTR else { throw StagedFile.failure(folder) }
        guard ContinuousClock.now < deadline else {
          throw StoreError(
            .locked, "\(folder): another process adopts copies here", hint: "one is enough: end the other")
        }
        try Cancellation.checkCurrent()
        usleep(Self.pause)
      }
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Releases the lock explicitly, because a forked child holds a copy of the descriptor until it executes a program.
  func end() {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
