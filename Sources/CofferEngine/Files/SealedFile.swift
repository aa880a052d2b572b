internal import CofferPlatform
internal import CofferRecords
internal import CofferSealing

/// A temporary file without a name, which consists of sealed pieces of one size.
///
/// The file is in `TMPDIR`, or in `/tmp` if it isn't set. The key exists only in this process's memory, and the file
/// system frees the file with its descriptor, so a killed process doesn't leave readable data. Use it on one thread at a
/// time.
final class SealedFile {
  let descriptor: Int32
  private let folder: String
  private let key: XAESKey
  private let sealedSize: Int
  /// The file's contents and what to do if writing fails, for errors.
  private let content: String
  private let hint: ErrorHint

  /// - Parameters:
  ///   - content: What the file holds, for errors.
  ///   - hint: What to do if the file can't be written.
  init(pieceSize: Int, holding content: String, hint: ErrorHint) throws(StoreError) {
    folder = TemporaryFolder.path
    (self.content, self.hint) = (content, hint)
    sealedSize = pieceSize + XAESKey.overhead
    key = try translatingErrors { () throws(SealingError) in try XAESKey(Secret.random(byteCount: XAESKey.byteCount)) }
    descriptor = UnnamedFile.openScratch(in: folder)
    guard descriptor >= 0 else { throw failure(errno) }
  }

  deinit {
    close(descriptor)
  }

  /// Writes a piece.
  ///
  /// - Parameters:
  ///   - number: The piece's number, which no other piece had. The piece is bound to it.
  ///   - place: The piece's place in the file.
  func write(_ piece: [UInt8], number: Int, at place: Int) throws(StoreError) {
    let sealed = try translatingErrors { () throws(SealingError) in
      try key.seal(piece, authenticating: Self.binding(number))
    }
    let isWritten = sealed.withUnsafeBytes { FileBytes.writeAll($0, to: descriptor, at: place * sealedSize) }
    guard isWritten else { throw failure(errno) }
  }

  /// Reads and opens a piece.
  func read(number: Int, at place: Int) throws(StoreError) -> [UInt8] {
    var sealed = [UInt8](repeating: 0, count: sealedSize)
    let count = sealed.withUnsafeMutableBytes { FileBytes.fill($0, from: descriptor, at: place * sealedSize) }
    guard count == sealed.count else { throw failure(count < 0 ? errno : EIO) }
    return try translatingErrors { () throws(SealingError) in
      try key.open(sealed, authenticating: Self.binding(number))
    }
  }

  private static func binding(_ number: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(number).littleEndian) { Array($0) }
  }

  private func failure(_ number: Int32) -> StoreError {
    let isFull = number == ENOSPC || number == EDQUOT || number == EFBIG
    return StoreError(
      isFull ? .diskFull : .ioFailure, "\(folder) can't hold \(content): \(String(cString: strerror(number)))",
      hint: hint)
  }
}
