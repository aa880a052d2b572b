internal import CCofferSQLite
internal import CofferPlatform
internal import Synchronization

/// A VFS whose only files are databases with their pages in a ``PageStorage``.
///
/// Such a database is used by a single connection, so it doesn't need locks. Other files are refused, so journals must
/// be in memory, and there aren't any temporary files.
enum PagedVFS {
  /// The storages of databases that are being opened, by file name.
  private static let opening = Mutex<Opening>(Opening())

  private struct Opening: @unchecked Sendable {
    // The thread that opens a database also removes its storage.
    var storages: [String: any PageStorage] = [:]
    var next = 0
  }

  /// Runs `open` with the name and the VFS of a database with these pages.
  static func opening<R>(
    _ storage: any PageStorage, _ open: (_ name: String, _ vfs: String) throws(SQLiteError) -> R
  ) throws(SQLiteError) -> R {
    let vfs = try registration.registeredName()
    let lent = Lent(storage: storage)
    let file = opening.withLock { opening in
      opening.next += 1
      let file = "pages-\(opening.next)"
      opening.storages[file] = lent.storage
      return file
    }
    defer { opening.withLock { _ = $0.storages.removeValue(forKey: file) } }
    return try open(file, vfs)
  }

  private struct Lent: @unchecked Sendable {
    // The thread that opens the database is the storage's only user.
    let storage: any PageStorage
  }

  // MARK: The VFS

  // Time, sleep and randomness are the system's.
  private static let registration = VFSRegistration("coffer-pages") { vfs in
    vfs.szOsFile = Int32(MemoryLayout<coffer_sqlite_paged_file>.size)
    vfs.xOpen = { _, name, file, flags, openedFlags in
      PagedVFS.open(name, file!, flags, openedFlags)
    }
    vfs.xDelete = { _, _, _ in IOFailure.delete }
    vfs.xAccess = { _, _, _, answer in
      answer?.pointee = 0
      return SQLITE_OK
    }
    vfs.xFullPathname = { _, name, count, result in
      guard let name, let result, strlen(name) < count else { return SQLITE_CANTOPEN }
      strcpy(result, name)
      return SQLITE_OK
    }
  }

  private static func open(
    _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: Int32,
    _ openedFlags: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    // SQLite closes any file with methods.
    file.pointee.pMethods = nil
    guard flags & SQLITE_OPEN_MAIN_DB != 0, let name else { return SQLITE_CANTOPEN }
    let token = String(cString: name)
    let lent = opening.withLock { opening in opening.storages[token].map { Lent(storage: $0) } }
    guard let storage = lent?.storage else { return SQLITE_CANTOPEN }
    let memory = UnsafeMutableRawPointer(file).assumingMemoryBound(to: coffer_sqlite_paged_file.self)
    memory.pointee.owner = Unmanaged.passRetained(PagedFile(storage)).toOpaque()
    memory.pointee.base.pMethods = UnsafePointer(methods)
    openedFlags?.pointee = flags
    return SQLITE_OK
  }

  // Never changed after initialization and never freed, because connections refer to it.
  nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: sqlite3_io_methods())
    methods.pointee.iVersion = 1
    methods.pointee.xClose = { file in
      let memory = UnsafeMutableRawPointer(file!).assumingMemoryBound(to: coffer_sqlite_paged_file.self)
      Unmanaged<PagedFile>.fromOpaque(memory.pointee.owner).release()
      return SQLITE_OK
    }
    methods.pointee.xRead = { file, bytes, count, offset in
      owner(file!).read(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
    }
    methods.pointee.xWrite = { file, bytes, count, offset in
      owner(file!).write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
    }
    methods.pointee.xTruncate = { file, size in owner(file!).truncate(to: Int(size)) }
    methods.pointee.xFileSize = { file, size in
      let storage = owner(file!).storage
      size!.pointee = sqlite3_int64(storage.pageCount * storage.pageSize)
      return SQLITE_OK
    }
    methods.pointee.xSync = { _, _ in SQLITE_OK }
    methods.pointee.xLock = { _, _ in SQLITE_OK }
    methods.pointee.xUnlock = { _, _ in SQLITE_OK }
    methods.pointee.xCheckReservedLock = { _, answer in
      answer?.pointee = 0
      return SQLITE_OK
    }
    methods.pointee.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
    methods.pointee.xSectorSize = { _ in 512 }
    methods.pointee.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE | SQLITE_IOCAP_SAFE_APPEND }
    return methods
  }()

  private static func owner(_ file: UnsafeMutablePointer<sqlite3_file>) -> PagedFile {
    let memory = UnsafeMutableRawPointer(file).assumingMemoryBound(to: coffer_sqlite_paged_file.self)
    return Unmanaged<PagedFile>.fromOpaque(memory.pointee.owner).takeUnretainedValue()
  }
}

/// SQLite's extended codes, which aren't available as constants in Swift.
private enum IOFailure {
  static let read = SQLITE_IOERR | 1 << 8
  static let shortRead = SQLITE_IOERR | 2 << 8
  static let write = SQLITE_IOERR | 3 << 8
  static let truncate = SQLITE_IOERR | 6 << 8
  static let delete = SQLITE_IOERR | 10 << 8
}

/// An open database in a ``PageStorage``, which converts SQLite's offsets to pages.
private final class PagedFile {
  let storage: any PageStorage
  private let pageSize: Int
  /// The buffer for partial page reads.
  private var scratch: UnsafeMutableRawBufferPointer?

  init(_ storage: any PageStorage) {
    self.storage = storage
    pageSize = storage.pageSize
  }

  deinit {
    scratch?.deallocate()
  }

  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
    let (page, start) = (offset / pageSize, offset % pageSize)
    // SQLite doesn't read across the end of a page.
    guard start + bytes.count <= pageSize else { return IOFailure.read }
    guard page < storage.pageCount else {
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      return IOFailure.shortRead
    }
    do {
      guard bytes.count < pageSize else {
        try storage.read(page, into: bytes)
        return SQLITE_OK
      }
      let whole = scratch ?? .allocate(byteCount: pageSize, alignment: 16)
      scratch = whole
      try storage.read(page, into: whole)
      bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: whole[start..<start + bytes.count]))
      return SQLITE_OK
    } catch {
      return IOFailure.read
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    guard offset % pageSize == 0, bytes.count == pageSize else { return IOFailure.write }
    do {
      try storage.write(offset / pageSize, bytes)
      return SQLITE_OK
    } catch {
      return IOFailure.write
    }
  }

  func truncate(to size: Int) -> Int32 {
    guard size % pageSize == 0 else { return IOFailure.truncate }
    do {
      try storage.truncate(to: size / pageSize)
      return SQLITE_OK
    } catch {
      return IOFailure.truncate
    }
  }
}
