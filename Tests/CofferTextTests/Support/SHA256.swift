/// Returns the SHA-256 digest (FIPS 180-4) in hexadecimal form, to compare it with other tools' digests.
func sha256(_ message: [UInt8]) -> String {
  let primes = (2...).lazy.filter { number in !(2..<number).contains { number.isMultiple(of: $0) } }.prefix(64)
  // The constants are the first 32 fraction bits of the primes' square and cube roots.
  var hash = primes.prefix(8).map { fraction(Double($0).squareRoot()) }
  let constants = primes.map { fraction(cubeRoot(Double($0))) }
  var padded = message + [0x80]
  padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
  padded += (0..<8).map { UInt8(truncatingIfNeeded: (message.count * 8) >> (56 - 8 * $0)) }
  for start in stride(from: 0, to: padded.count, by: 64) {
    var words = (0..<16).map { word in
      (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(padded[start + 4 * word + $1]) }
    }
    for index in 16..<64 {
      let (old, new) = (words[index - 15], words[index - 2])
      let first = rotated(old, 7) ^ rotated(old, 18) ^ old >> 3
      let second = rotated(new, 17) ^ rotated(new, 19) ^ new >> 10
      words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
    }
    var state = hash
    for index in 0..<64 {
      let (a, b, c, e) = (state[0], state[1], state[2], state[4])
      let choice = e & state[5] ^ ~e & state[6]
      let first =
        state[7] &+ (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) &+ choice &+ constants[index]
        &+ words[index]
      let second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) &+ (a & b ^ a & c ^ b & c)
      state = [first &+ second, a, b, c, state[3] &+ first, e, state[5], state[6]]
    }
    for index in 0..<8 { hash[index] &+= state[index] }
  }
  return hash.map { word in
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }.joined()
}

private func rotated(_ word: UInt32, _ places: UInt32) -> UInt32 {
  word >> places | word << (32 - places)
}

private func fraction(_ number: Double) -> UInt32 {
  UInt32((number - number.rounded(.down)) * 0x1p32)
}

private func cubeRoot(_ number: Double) -> Double {
  var root = number
  for _ in 0..<100 { root = (2 * root + number / (root * root)) / 3 }
  return root
}
