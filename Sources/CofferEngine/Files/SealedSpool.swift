internal import CofferPlatform
internal import CofferRecords
internal import CofferSealing

/// A queue of bytes between a reader and a writer of different speed, kept in memory first and then sealed in a file
/// without a name.
///
/// The file is in `TMPDIR`, or in `/tmp` if it isn't set. The key exists only in this process's memory, and the file
/// system frees the file with its descriptor, so a killed process doesn't leave readable data.
package final class SealedSpool {
  /// The number of bytes in a piece. Each sealed piece is bound to its position by its number.
  package static let pieceSize = 256 << 10

  private let piecesInMemory: Int
  /// The first pieces, of which `taken` were already returned.
  private var pieces: [[UInt8]] = []
  private var taken = 0
  /// The pieces that follow `pieces`.
  private var file: SpoolFile?
  /// The last bytes, which don't fill a piece.
  private var tail: [UInt8] = []
  /// The number of waiting bytes.
  package private(set) var count = 0

  /// - Parameter memory: The number of bytes to keep in memory before creating the file.
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
    // Pieces in memory are taken first, so while the file contains a piece, every later piece must go to the file.
    if pieces.count - taken < piecesInMemory, file?.isEmpty ?? true {
      pieces.append(tail)
      tail = []
    } else {
      if file == nil { file = try SpoolFile() }
      try file?.append(tail)
      tail.removeAll(keepingCapacity: true)
    }
  }

  /// Removes and returns the first piece, or the remaining bytes.
  ///
  /// - Returns: An empty array if the queue is empty.
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

  /// Calls a closure with the waiting bytes in order, piece by piece, and leaves them in the queue.
  package func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    for piece in pieces[taken...] { try piece.withUnsafeBytes { try body($0) } }
    if let file {
      for number in file.waiting { try file.piece(number).withUnsafeBytes { try body($0) } }
    }
    if !tail.isEmpty { try tail.withUnsafeBytes { try body($0) } }
  }

  /// The file's descriptor, for tests.
  package var descriptor: Int32? { file?.descriptor }
}

private final class SpoolFile {
  private static let sealedSize = SealedSpool.pieceSize + XAESKey.overhead

  let descriptor: Int32
  private let folder: String
  private let key: XAESKey
  /// The numbers of the waiting pieces, and the number of the file's first piece. Numbers aren't reused.
  private(set) var waiting = 0..<0
  private var base = 0

  var isEmpty: Bool { waiting.isEmpty }

  init() throws(StoreError) {
    folder = TemporaryFolder.path
    key = try translatingErrors { () throws(SealingError) in try XAESKey(Secret.random(byteCount: XAESKey.byteCount)) }
    descriptor = Self.open(in: folder)
    guard descriptor >= 0 else { throw Self.failure(folder, errno) }
  }

  deinit {
    close(descriptor)
  }

  func append(_ piece: [UInt8]) throws(StoreError) {
    if waiting.isEmpty { base = waiting.lowerBound }
    let number = waiting.upperBound
    let sealed = try translatingErrors { () throws(SealingError) in
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
    let piece = try piece(waiting.lowerBound)
    waiting = waiting.lowerBound + 1..<waiting.upperBound
    return piece
  }

  func piece(_ number: Int) throws(StoreError) -> [UInt8] {
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
    return try translatingErrors { () throws(SealingError) in
      try key.open(sealed, authenticating: Self.place(number))
    }
  }

  private static func place(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) }
  }

  /// Opens a file without a name. If the file system doesn't support that, removes the name immediately.
  private static func open(in folder: String) -> Int32 {
    if let unnamed = UnnamedFile.open(in: folder) { return unnamed }
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
      "\(folder) can't hold the waiting data: \(String(cString: strerror(number)))",
      hint: "name a folder with more room in TMPDIR")
  }
}
