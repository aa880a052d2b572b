@testable internal import CofferRecords
@testable internal import CofferSealing

/// The ring of a state: an accepted ring is written again byte for byte, and its generations can be read.
func readRing(_ input: [UInt8]) {
  var slices = Slices(input)
  let generation = 2 + UInt64(slices.byte())
  let known = UInt64(slices.byte())
  var bytes = Array(slices.all().prefix(ChangeRing.greatestByteCount))
  bytes += [UInt8](repeating: 0, count: ChangeRing.greatestByteCount - bytes.count)
  let read = bytes.withUnsafeBytes { ChangeRing(known: known, bytes: $0, generation: generation) }
  guard let ring = read else { return }
  var written = [UInt8](repeating: 1, count: ChangeRing.greatestByteCount)
  written.withUnsafeMutableBytes { ring.write(to: $0) }
  precondition(written == bytes, "a ring that is written in another way than it was read")
  guard let changes = ring.changes(after: known - 1) else { fatalError("a ring does not reach back to its beginning") }
  precondition(changes.count == Int(generation + 1 - known), "a ring of another number of generations")
  var copy = ChangeRing(after: known - 1)
  for (generation, changes) in changes {
    guard let mark = ring.mark(of: generation - 1) else { fatalError("a generation without a mark") }
    _ = mark.withUnsafeBytes { copy.append(generation, markBefore: $0, changes) }
  }
  precondition(copy == ring, "a ring that is another one when its changes are added again")
}

/// A spare copy of header and slots: an accepted copy is written again byte for byte.
func readSpareCopy(_ input: [UInt8]) {
  guard let copy = input.withUnsafeBytes({ HeaderCopy(spare: $0) }) else { return }
  let slots = copy.slots.map(\.slot)
  // A writer sorts slots, and numbers them once.
  guard slots == Set(slots).sorted() else { return }
  precondition(copy.header.spareCopy(slots: copy.slots) == input, "a spare copy that no writer makes")
}
