/// Code pages to UTF-8 and back, by the tables of ``CodePage``.
enum CodePageWalk {
  /// - Parameter table: ``CodePage/decodingTable``.
  @inline(never)
  static func decode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, table: [UInt32]
  ) -> Walk {
    var walk = Walk()
    guard let source = input.baseAddress, let target = output.baseAddress else { return walk }
    precondition(table.count == 256, "internal error: a code page without its table")
    table.withUnsafeBufferPointer { table in
      let lastWord = input.count &- 8
      let lastRoom = output.count &- 8
      while walk.consumed < input.count {
        if walk.consumed <= lastWord, walk.written <= lastRoom {
          let word = source.word(at: walk.consumed)
          if word & 0x8080_8080_8080_8080 == 0 {
            target.put(word, at: walk.written)
            walk.consumed &+= 8
            walk.written &+= 8
            continue
          }
        }
        let entry = table[Int(source.load(fromByteOffset: walk.consumed, as: UInt8.self))]
        let length = Int(entry >> 24)
        let room = output.count &- walk.written
        if length == 0 {
          walk.stop = .fault(.undefinedByte, length: 1)
          return
        }
        if room >= 4 {
          target.put(entry, at: walk.written)
        } else if room >= length {
          for index in 0..<length {
            target.put(UInt8(truncatingIfNeeded: entry >> UInt32(8 * index)), at: walk.written &+ index)
          }
        } else {
          walk.stop = .outputFull
          return
        }
        walk.consumed &+= 1
        walk.written &+= length
      }
    }
    return walk
  }

  /// - Parameter table: ``CodePage/encodingTable``.
  @inline(never)
  static func encode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, table: [UInt8]
  ) -> Walk {
    var walk = Walk()
    guard let source = input.baseAddress, let target = output.baseAddress else { return walk }
    table.withUnsafeBufferPointer { table in
      while walk.consumed < input.count {
        switch UTF8Scalar.read(source + walk.consumed, available: input.count &- walk.consumed) {
        case .character(let scalar, let length):
          let byte = scalar < 0x10000 ? table[Int(scalar)] : 0
          guard byte != 0 || scalar == 0 else {
            walk.stop = .fault(.unencodable, length: length)
            return
          }
          guard walk.written < output.count else {
            walk.stop = .outputFull
            return
          }
          target.put(byte, at: walk.written)
          walk.consumed &+= length
          walk.written &+= 1
        case .incomplete:
          walk.stop = .incompleteTail
          return
        case .fault(let fault, let length):
          walk.stop = .fault(fault, length: length)
          return
        }
      }
    }
    return walk
  }
}
