internal import Foundation

@testable internal import CofferSealing

/// A key file: the key line of an accepted file is written again as in the file.
func readKeyLine(_ input: [UInt8]) {
  let file = input.withUnsafeBytes { Secret(copying: $0) }
  if let line = try? KeyLine(parsing: file), let written = try? line.line() {
    let text = written.withUnsafeBytes { Array($0) }
    let digits = text.last == 0x0A ? text.dropLast() : text[...]
    precondition(Data(input).range(of: Data(digits)) != nil, "another line than the one in the file")
  }
  let recipient = try? KeyLine(recipient: String(decoding: input, as: UTF8.self))
  precondition(recipient.map { $0.kind == .recipient } ?? true, "a secret taken for a recipient")
}

/// A slot's parameters, and an attempt to open the slot with foreign keys.
func readSlot(_ input: [UInt8]) {
  var slices = Slices(input)
  let kind = UInt32(slices.byte() % 6)
  let isTest = slices.byte() & 1 != 0
  let wrapped = slices.part()
  var bytes = slices.all()
  if kind == 3, bytes.count == 64 { bytes.replaceSubrange(32..., with: identityRecipient) }
  guard let parameters = try? SlotParameters(kind: kind, bytes: bytes, isTest: isTest) else { return }
  precondition(parameters.kind == kind && parameters.bytes == bytes, "parameters that are not what was read")
  if case .passphrase = parameters { return }
  let slot = KeySlotRecord(slot: 1, kind: kind, label: "", parameters: bytes, wrapped: wrapped)
  let storeID = [UInt8](repeating: 7, count: 16)
  let answer = bytes.withUnsafeBytes { Secret(copying: $0) }
  var secrets: [SlotSecret] = [.line(key), .line(identity)]
  if case .external(_, let provider, _) = parameters { secrets.append(.answer(answer, provider: provider)) }
  for secret in secrets {
    guard let derived = try? slot.derivedKey(with: secret, parameters: parameters, storeID: storeID) else { continue }
    let root = try? slot.unwrap(with: derived, storeID: storeID, generation: 1)
    precondition(root == nil, "a slot opened that no writer made")
  }
}

private let key = line("0", .key)
private let identity = line("1", .identity)
private let identityRecipient: [UInt8] = (try? identity.recipientBytes()) ?? []

private func line(_ letter: Unicode.Scalar, _ kind: KeyLine.Kind) -> KeyLine {
  let bytes = [UInt8](repeating: UInt8(ascii: letter), count: 32)
  return KeyLine(kind: kind, isTest: true, secret: bytes.withUnsafeBytes { Secret(copying: $0) })
}

/// The plaintext of a seal: an accepted frame is the one that a writer makes for its data.
func readFrame(_ input: [UInt8]) {
  var slices = Slices(input)
  let choice = slices.byte()
  let isPadded = choice & 1 != 0
  let minimum = choice & 2 != 0 ? Frame.sealedTitleMinimum : Frame.standardMinimum
  let other = choice & 4 != 0 ? Frame.sealedTitleMinimum : nil
  let frame = slices.all()
  let range = frame.withUnsafeBytes {
    try? Frame.dataRange(of: $0, minimum: minimum, orMinimum: other, isPadded: isPadded)
  }
  guard let range else { return }
  let made = [minimum, other].compactMap { $0 }.map {
    Frame.around(Array(frame[range]), minimum: $0, isPadded: isPadded)
  }
  precondition(made.contains(frame), "a frame that no writer makes")
}
