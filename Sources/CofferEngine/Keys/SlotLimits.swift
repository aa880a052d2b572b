internal import CofferRecords
internal import CofferSealing

// Limits for writing slots, so readers accept the store.

extension SlotTarget {
  /// Verifies that all slots together don't need more scrypt work than readers accept.
  package static func checkWork(_ targets: [SlotTarget], beside slots: [KeySlotRecord] = [], isTest: Bool = false)
    throws(StoreError)
  {
    var work: UInt64 = 0
    for target in targets {
      if case .passphrase(_, let cost) = target { work += cost.work }
    }
    for slot in slots {
      guard case .passphrase(let cost, _)? = slot.usableParameters(isTest: isTest, isRaised: true) else { continue }
      work += cost.work
    }
    guard work <= ScryptCost.maximumTotalWork else {
      throw StoreError(
        .invalidArgument, "too many passphrase slots: opening would try scrypt more often than it may",
        hint: "give key files or recipients to some")
    }
  }
}

extension KeySlotRecord {
  package static func checkLabel(_ label: String) throws(StoreError) {
    guard label.utf8.count <= maximumLabel else {
      throw StoreError(.tooLarge, "a label has at most \(maximumLabel) bytes")
    }
  }
}
