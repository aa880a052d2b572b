internal import CofferRecords

/// A queue of bytes for a slow reader, kept in memory first and then sealed in a file without a name.
///
/// The file is a ``SealedFile``, so a killed process doesn't leave readable data.
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

  /// The file's descriptor, for tests.
  package var descriptor: Int32? { file?.descriptor }
}

/// The waiting pieces in a file, which starts again from its beginning when it's empty.
private final class SpoolFile {
  private let file: SealedFile
  /// The numbers of the waiting pieces, and the number of the file's first piece. Numbers aren't reused.
  private var waiting = 0..<0
  private var base = 0

  var isEmpty: Bool { waiting.isEmpty }
  var descriptor: Int32 { file.descriptor }

  init() throws(StoreError) {
    file = try SealedFile(
      pieceSize: SealedSpool.pieceSize, holding: "the output that waits for its reader",
      hint: "write to a file, or name a folder with more room in TMPDIR")
  }

  func append(_ piece: [UInt8]) throws(StoreError) {
    if waiting.isEmpty { base = waiting.lowerBound }
    let number = waiting.upperBound
    try file.write(piece, number: number, at: number - base)
    waiting = waiting.lowerBound..<number + 1
  }

  func takePiece() throws(StoreError) -> [UInt8] {
    let number = waiting.lowerBound
    let piece = try file.read(number: number, at: number - base)
    waiting = number + 1..<waiting.upperBound
    return piece
  }
}
