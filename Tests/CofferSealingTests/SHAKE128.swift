/// SHAKE-128 (FIPS 202) for the accumulated vectors, with unlimited output after absorbing.
struct SHAKE128 {
  private static let rate = 168
  private var state = [UInt64](repeating: 0, count: 25)
  private var position = 0
  private var isSqueezing = false

  init(_ message: [UInt8] = []) {
    absorb(message)
  }

  mutating func absorb(_ message: some Sequence<UInt8>) {
    precondition(!isSqueezing)
    for byte in message {
      mix(byte)
      position += 1
      if position == Self.rate { permute() }
    }
  }

  mutating func squeeze(_ count: Int) -> [UInt8] {
    if !isSqueezing {
      mix(0x1F)
      position = Self.rate - 1
      mix(0x80)
      permute()
      isSqueezing = true
    }
    return (0..<count).map { _ in
      if position == Self.rate { permute() }
      defer { position += 1 }
      return UInt8(truncatingIfNeeded: state[position / 8] >> UInt64(position % 8 * 8))
    }
  }

  private mutating func mix(_ byte: UInt8) {
    state[position / 8] ^= UInt64(byte) << UInt64(position % 8 * 8)
  }

  /// Applies Keccak-f[1600]. The standard's linear feedback register generates the round constants.
  private mutating func permute() {
    position = 0
    var register: UInt8 = 1
    for _ in 0..<24 {
      var columns = [UInt64](repeating: 0, count: 5)
      for lane in 0..<25 { columns[lane % 5] ^= state[lane] }
      for x in 0..<5 {
        let mixed = columns[(x + 4) % 5] ^ Self.rotate(columns[(x + 1) % 5], 1)
        for y in 0..<5 { state[x + 5 * y] ^= mixed }
      }
      var (x, y) = (1, 0)
      var lane = state[1]
      for step in 0..<24 {
        (x, y) = (y, (2 * x + 3 * y) % 5)
        let next = state[x + 5 * y]
        state[x + 5 * y] = Self.rotate(lane, ((step + 1) * (step + 2) / 2) % 64)
        lane = next
      }
      for y in 0..<5 {
        let row = Array(state[(5 * y)..<(5 * y + 5)])
        for x in 0..<5 { state[x + 5 * y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]) }
      }
      for exponent in 0..<7 {
        if register & 1 == 1 { state[0] ^= 1 << UInt64((1 << exponent) - 1) }
        register = (register << 1) ^ ((register >> 7) * 0x71)
      }
    }
  }

  private static func rotate(_ value: UInt64, _ count: Int) -> UInt64 {
    count == 0 ? value : (value << UInt64(count)) | (value >> UInt64(64 - count))
  }
}
