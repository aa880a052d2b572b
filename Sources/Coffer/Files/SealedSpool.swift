internal import CofferRecords
internal import CofferSealing

#if canImport(Glibc)
  internal import Glibc
#endif

/// A queue of bytes that wait for a slow reader: in memory first, then sealed in a file without a name.
///
/// The file is in `TMPDIR`, else `/tmp`. Its key exists in this process's memory alone, and the file system frees it
/// with its descriptor, so that a killed process leaves nothing that can be read.
package final class SealedSpool {
  /// Bytes in a sealed piece. Each piece is bound to its place by its number.
  package static let pieceSize = 256 << 10

  private let piecesInMemory: Int
  /// The first pieces; of these, `taken` no longer wait.
  private var pieces: [[UInt8]] = []
  private var taken = 0
  /// The pieces behind those in memory.
  private var file: SpoolFile?
  /// The last bytes, less than a piece.
  private var tail: [UInt8] = []
  /// The number of bytes that wait.
  package private(set) var count = 0

  /// - Parameter memory: the bytes to keep in memory before the file is made.
  package init(memory: Int = 8 << 20) {
    piecesInMemory = memory / Self.pieceSize
  }

  package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(Self.pieceSize - tail.count)
      tail.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
      count += part.count
      if tail.count == Self.pieceSize { try keepTail() }
    }
  }

  private func keepTail() throws(StoreError) {
    // Pieces in memory are taken first: while the file holds a piece, every later piece goes to the file too.
    if pieces.count - taken < piecesInMemory, file?.isEmpty ?? true {
      pieces.append(tail)
      tail = []
    } else {
      if file == nil { file = try SpoolFile() }
      try file?.append(tail)
      tail.removeAll(keepingCapacity: true)
    }
  }

  /// Takes the first bytes: a piece, or the last ones.
  ///
  /// - Returns: nothing if none wait.
  package func takePiece() throws(StoreError) -> [UInt8] {
    var piece: [UInt8] = []
    if taken < pieces.count {
      swap(&piece, &pieces[taken])
      taken += 1
      if taken == pieces.count { (pieces, taken) = ([], 0) }
    } else if let file, !file.isEmpty {
      piece = try file.takePiece()
    } else {
      swap(&piece, &tail)
    }
    count -= piece.count
    return piece
  }

  /// The file's descriptor, for tests.
  package var descriptor: Int32? { file?.descriptor }
}

/// The sealed pieces of a spool.
private final class SpoolFile {
  private static let sealedSize = SealedSpool.pieceSize + XAESKey.overhead

  let descriptor: Int32
  private let folder: String
  private let key: XAESKey
  /// The numbers of the pieces that wait, and of the one at the file's beginning. No number comes twice.
  private var waiting = 0..<0
  private var base = 0

  var isEmpty: Bool { waiting.isEmpty }

  init() throws(StoreError) {
    folder = TemporaryFolder.path
    key = try sealing { () throws(SealingError) in try XAESKey(Secret.random(byteCount: XAESKey.byteCount)) }
    descriptor = Self.open(in: folder)
    guard descriptor >= 0 else { throw Self.failure(folder, errno) }
  }

  deinit {
    close(descriptor)
  }

  func append(_ piece: [UInt8]) throws(StoreError) {
    if waiting.isEmpty { base = waiting.lowerBound }
    let number = waiting.upperBound
    let sealed = try sealing { () throws(SealingError) in
      try key.seal(piece, authenticating: Self.place(number))
    }
    var done = 0
    while done < sealed.count {
      let written = sealed.withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress! + done, $0.count - done, off_t((number - base) * Self.sealedSize + done))
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw Self.failure(folder, errno) }
      done += written
    }
    waiting = waiting.lowerBound..<number + 1
  }

  func takePiece() throws(StoreError) -> [UInt8] {
    let number = waiting.lowerBound
    var sealed = [UInt8](repeating: 0, count: Self.sealedSize)
    var done = 0
    while done < sealed.count {
      let got = sealed.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress! + done, $0.count - done, off_t((number - base) * Self.sealedSize + done))
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { throw Self.failure(folder, got < 0 ? errno : EIO) }
      done += got
    }
    waiting = number + 1..<waiting.upperBound
    return try sealing { () throws(SealingError) in
      try key.open(sealed, authenticating: Self.place(number))
    }
  }

  private static func place(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) }
  }

  /// A file without a name; where the file system has none, its name is removed at once.
  private static func open(in folder: String) -> Int32 {
    // O_TMPFILE of linux/fcntl.h, which Swift does not import.
    let unnamed = Glibc.open(folder, 0o20_000_000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600)
    guard unnamed < 0 else { return unnamed }
    var template = Array("\(folder)/coffer-XXXXXX".utf8CString)
    let named = mkstemp(&template)
    guard named >= 0 else { return named }
    _ = fcntl(named, F_SETFD, FD_CLOEXEC)
    unlink(template)
    return named
  }

  private static func failure(_ folder: String, _ number: Int32) -> StoreError {
    let isFull = number == ENOSPC || number == EDQUOT || number == EFBIG
    return StoreError(
      isFull ? .diskFull : .ioFailure,
      "\(folder) can't hold the output that waits for its reader: \(String(cString: strerror(number)))",
      hint: "write to a file, or name a folder with more room in TMPDIR")
  }
}
