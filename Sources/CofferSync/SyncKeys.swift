internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The keys of one folder, which follow from the family key of the stores that sync by it and from the folder's secret
/// (Sync-Format, "Keys").
final class SyncKeys {
  static let secretByteCount = 32

  let folder: UniqueID
  let files: XAESKey
  private let names: HMACKey

  init(family: Secret, folder: UniqueID, secret: [UInt8]) throws(StoreError) {
    self.folder = folder
    (files, names) = try translatingErrors { () throws(SealingError) in
      func derive(_ label: StaticString) throws(SealingError) -> Secret {
        var info = ByteBuilder()
        info.append(label: label)
        return try hkdf(family, salt: folder.bytes + secret, info: info.bytes)
      }
      return (try XAESKey(derive("coffer3/sync-files")), try HMACKey(derive("coffer3/sync-names")))
    }
  }

  // MARK: Names

  /// Returns the name of a device's subfolder, which doesn't reveal the device.
  func subfolder(of device: UniqueID) throws(StoreError) -> String {
    try name(PreAuthenticationEncoding("coffer3/sync-device").adding(device.bytes).bytes)
  }

  /// Returns the prefix of the names of a device's files with a number. A device's copies can use the same number for
  /// several files.
  func beginning(_ sequence: UInt64, of device: UniqueID) throws(StoreError) -> String {
    try name(PreAuthenticationEncoding("coffer3/sync-file").adding(device.bytes).adding(sequence).bytes)
  }

  /// Returns the name of a device's file.
  func name(of file: SyncMemory.File, of device: UniqueID) throws(StoreError) -> String {
    let encoding = PreAuthenticationEncoding("coffer3/sync-name").adding(device.bytes).adding(file.sequence)
    return try beginning(file.sequence, of: device) + name(encoding.adding(file.hash).bytes).prefix(8)
  }

  /// Returns whether a file can be one of a device's, judging by its name.
  static func isName(_ name: String) -> Bool { isHexadecimal(name, count: 40) }

  /// Returns whether a folder can be a device's, judging by its name.
  static func isSubfolder(_ name: String) -> Bool { isHexadecimal(name, count: 32) }

  private static func isHexadecimal(_ name: String, count: Int) -> Bool {
    name.utf8.count == count && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  private func name(_ bytes: [UInt8]) throws(StoreError) -> String {
    let code = try translatingErrors { () throws(SealingError) in try names.authenticate(bytes) }
    return Hexadecimal.text(Array(code.prefix(16)))
  }
}
