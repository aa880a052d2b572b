/// Transcodes code pages to UTF-8 and back, using ``CodePage`` tables.
enum CodePageTranscoder {
  /// - Parameter table: The ``CodePage/decodingTable``.
  @inline(never)
  static func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, table: [UInt32]
  ) -> TranscodingProgress {
    var progress = TranscodingProgress()
    guard let source = input.baseAddress, let target = output.baseAddress else { return progress }
    precondition(table.count == 256, "internal error: a code page without its table")
    table.withUnsafeBufferPointer { table in
      let lastWord = input.count &- 8
      let lastRoom = output.count &- 8
      while progress.consumed < input.count {
        if progress.consumed <= lastWord, progress.written <= lastRoom {
          let word = source.word(at: progress.consumed)
          if word & 0x8080_8080_8080_8080 == 0 {
            target.put(word, at: progress.written)
            progress.consumed &+= 8
            progress.written &+= 8
            continue
          }
        }
        let entry = table[Int(source.load(fromByteOffset: progress.consumed, as: UInt8.self))]
        let length = Int(entry >> 24)
        let room = output.count &- progress.written
        if length == 0 {
          progress.stop = .fault(.undefinedByte, length: 1)
          return
        }
        if room >= 4 {
          target.put(entry, at: progress.written)
        } else if room >= length {
          for index in 0..<length {
            target.put(UInt8(truncatingIfNeeded: entry >> UInt32(8 * index)), at: progress.written &+ index)
          }
        } else {
          progress.stop = .outputFull
          return
        }
        progress.consumed &+= 1
        progress.written &+= length
      }
    }
    return progress
  }

  /// - Parameter table: The ``CodePage/encodingTable``.
  @inline(never)
  static func encode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, table: [UInt8]
  ) -> TranscodingProgress {
    var progress = TranscodingProgress()
    guard let source = input.baseAddress, let target = output.baseAddress else { return progress }
    table.withUnsafeBufferPointer { table in
      while progress.consumed < input.count {
        switch UTF8Scalar.read(source + progress.consumed, available: input.count &- progress.consumed) {
        case .character(let scalar, let length):
          let byte = scalar < 0x10000 ? table[Int(scalar)] : 0
          guard byte != 0 || scalar == 0 else {
            progress.stop = .fault(.unencodable, length: length)
            return
          }
          guard progress.written < output.count else {
            progress.stop = .outputFull
            return
          }
          target.put(byte, at: progress.written)
          progress.consumed &+= length
          progress.written &+= 1
        case .incomplete:
          progress.stop = .incompleteTail
          return
        case .fault(let fault, let length):
          progress.stop = .fault(fault, length: length)
          return
        }
      }
    }
    return progress
  }
}
