internal import CofferRecords
internal import CofferSealing
internal import Synchronization

/// Bytes that are written once and can be read any number of times, kept in memory first and then sealed in a file
/// without a name.
package final class SealedContents: Sendable {
  private struct State {
    /// The first pieces.
    var pieces: [[UInt8]] = []
    /// The pieces that follow.
    var file: SealedFile?
    var filePieces = 0
    /// The last bytes, which don't fill a piece.
    var tail: [UInt8] = []
  }

  private static let pieceSize = 256 << 10

  private let state: Mutex<State>
  private let piecesInMemory: Int
  private let content: String

  /// - Parameters:
  ///   - content: What the bytes are, for errors.
  ///   - memory: The number of bytes to keep in memory before creating the file.
  package init(of content: String, memory: Int = 512 << 10) {
    self.content = content
    piecesInMemory = memory / Self.pieceSize
    state = Mutex(State())
  }

  /// The number of bytes.
  package var count: Int {
    state.withLock { ($0.pieces.count + $0.filePieces) * Self.pieceSize + $0.tail.count }
  }

  /// Adds bytes at the end.
  ///
  /// - Throws: `diskFull`, `ioFailure`.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = rest.prefix(Self.pieceSize - state.tail.count)
        state.tail.append(contentsOf: part)
        rest = rest.dropFirst(part.count)
        guard state.tail.count == Self.pieceSize else { continue }
        if state.pieces.count < piecesInMemory {
          state.pieces.append(state.tail)
          state.tail = []
        } else {
          try write(&state)
        }
      }
    }
  }

  private func write(_ state: inout State) throws(StoreError) {
    if state.file == nil {
      state.file = try SealedFile(
        pieceSize: Self.pieceSize, holding: content, hint: "name a folder with more room in TMPDIR")
    }
    try state.file!.write(state.tail, number: state.filePieces, at: state.filePieces)
    state.filePieces += 1
    state.tail.removeAll(keepingCapacity: true)
  }

  /// Calls a closure with the parts of a range, in order.
  package func forEachPart(
    of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    var start = range.lowerBound
    while start < range.upperBound {
      let (index, offset) = start.quotientAndRemainder(dividingBy: Self.pieceSize)
      let piece = try piece(index)
      let end = min(piece.count, offset + range.upperBound - start)
      precondition(offset < end, "internal error: a range outside the contents")
      try piece.withBytes { bytes throws(StoreError) in
        try body(UnsafeRawBufferPointer(rebasing: bytes[offset..<end]))
      }
      start += end - offset
    }
  }

  private func piece(_ index: Int) throws(StoreError) -> [UInt8] {
    try state.withLock { state throws(StoreError) in
      if index < state.pieces.count { return state.pieces[index] }
      let number = index - state.pieces.count
      guard number < state.filePieces else { return state.tail }
      return try state.file!.read(number: number, at: number)
    }
  }

  /// The file's descriptor, for tests.
  package var descriptor: Int32? { state.withLock { $0.file?.descriptor } }
}
