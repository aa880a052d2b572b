package import CofferRecords
package import CofferSealing

/// A customer who can read the releases in a folder.
public struct ReleaseCustomer: Sendable, Hashable {
  /// The name, which is a part of the key file's name.
  public let name: String
  /// The recipient that each release's key is wrapped for.
  public let recipient: Recipient

  /// Creates a customer.
  ///
  /// - Parameters:
  ///   - name: The name, of 1 to 64 characters from a-z, 0-9 and -.
  ///   - recipient: The customer's recipient.
  /// - Throws: `invalidArgument` for a name that can't be a part of a file name.
  public init(name: String, recipient: Recipient) throws(StoreError) {
    try Self.check(name)
    (self.name, self.recipient) = (name, recipient)
  }

  /// Returns the name of a customer's key file for a release.
  package static func keyName(_ name: String, of release: Int64) throws(StoreError) -> String {
    try check(name)
    return "\(release).\(name).key"
  }

  private static func check(_ name: String) throws(StoreError) {
    let isAllowed = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
      default: false
      }
    }
    guard isAllowed, (1...64).contains(name.utf8.count) else {
      throw StoreError(.invalidArgument, "a customer's name has 1 to 64 of the characters a-z, 0-9 and -")
    }
  }
}

/// A customer's key file for a release, which is similar to a slot (FORMAT, "Release folders").
package struct ReleaseKeyFile {
  private static let title = "coffer-release-key-1"
  /// The slot kind for recipients, and the slot number.
  private static let (kind, slot): (UInt32, UInt32) = (3, 1)
  package static let maximumByteCount = 1 << 10
  /// The size of written files, which contain the title, and 64 and 48 bytes in hexadecimal digits after their names.
  package static let byteCount = title.utf8.count + 1 + "params \n".utf8.count + 128 + "wrapped \n".utf8.count + 96

  private let record: KeySlotRecord

  /// Creates a key file by wrapping a release's key.
  package init(_ key: Secret, of release: Release, for recipient: Recipient, isTest: Bool) throws(StoreError) {
    let target = try NewSlot(recipient).target(isTest: isTest)
    let root = Self.root(key, of: release)
    record = try translatingErrors { () throws(SealingError) in
      try KeySlotRecord.wrap(
        root, under: try KeySlotRecord.derive(for: target, storeID: root.storeID), slot: Self.slot, label: "")
    }
  }

  /// Returns a value that proves that a key belongs to a release.
  package static func commitment(_ key: Secret, of release: Release) throws(StoreError) -> [UInt8] {
    try translatingErrors { () throws(SealingError) in try root(key, of: release).commitment(phase: 1) }
  }

  private static func root(_ key: Secret, of release: Release) -> RootKey {
    RootKey(secret: key, storeID: release.dataSet, generation: UInt64(release.number))
  }

  package var text: String {
    "\(Self.title)\nparams \(Hexadecimal.text(record.parameters))\nwrapped \(Hexadecimal.text(record.wrapped))\n"
  }

  /// Creates a key file from a file's contents, or returns `nil` for other texts.
  package init?(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 4, lines[0] == Self.title, lines[3].isEmpty, lines[1].hasPrefix("params "),
      let parameters = Hexadecimal.bytes(lines[1].dropFirst(7)), lines[2].hasPrefix("wrapped "),
      let wrapped = Hexadecimal.bytes(lines[2].dropFirst(8))
    else { return nil }
    record = KeySlotRecord(slot: Self.slot, kind: Self.kind, label: "", parameters: parameters, wrapped: wrapped)
  }

  /// Returns whether the file is for a recipient, as far as it's visible without the recipient's identity.
  package func isWrapped(for recipient: Recipient, isTest: Bool) throws(StoreError) -> Bool {
    guard case .recipient(let key, _) = try NewSlot(recipient).target(isTest: isTest) else { return false }
    return try translatingErrors { () throws(SealingError) in
      guard try record.fault(isTest: isTest) == nil,
        case .recipient(_, key) = try SlotParameters(kind: record.kind, bytes: record.parameters, isTest: isTest)
      else { return false }
      return true
    }
  }

  /// Returns a release's key.
  ///
  /// - Parameter commitment: The key's commitment in the release's index.
  /// - Throws: `cannotUnlock` if the file is for another customer or release.
  package func open(
    with key: StoreKey, of release: Release, commitment: [UInt8], isTest: Bool, allowsTestKeys: Bool
  ) throws(StoreError) -> Secret {
    let features: StoreFormat.Incompatible = isTest ? [.test] : []
    let header = StoreHeader(
      format: StoreFormat.version, storeID: release.dataSet, incompatible: features.rawValue, readOnlyCompatible: 0,
      compatible: 0, titles: 0, rootGeneration: UInt64(release.number), phase: 1, commitment: commitment, keyring: [],
      mac: [])
    let unlocking = Unlocking(header: header, slots: [record], allowsTestKeys: allowsTestKeys)
    try unlocking.checkBounds()
    return try unlocking.unlock(with: key).root.secret
  }
}
