public import CofferCopies
public import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The result of one exchange with a folder, and the problems found.
public struct FolderSyncReport: Sendable, Hashable {
  /// The number of documents that this device published, without documents that a snapshot repeats.
  public internal(set) var publishedDocuments = 0
  /// The number of bytes that this device wrote to the folder.
  public internal(set) var publishedBytes = 0
  /// The merged files of other devices, in order.
  public internal(set) var taken: [Taken] = []
  /// The problems that need attention.
  public internal(set) var problems: [Problem] = []
  /// A Boolean value that indicates whether this device took a new identity, because its file was restored or copied.
  public internal(set) var isNewDevice = false

  /// A merged file of another device.
  public struct Taken: Sendable, Hashable {
    /// The device that wrote the file.
    public let device: SyncDevice.ID
    /// The device's name.
    public let label: String
    /// The changes to this store.
    public let report: MergeReport
  }

  /// A problem with a file or device in the folder.
  public struct Problem: Sendable, Hashable {
    /// The kind of a problem.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      /// A file that other devices have, or that a later file requires, isn't in the folder yet, or can't be read. It
      /// may still arrive.
      case waiting
      /// A file is no longer in the folder, because the carrier restored an older state or lost the file.
      case rolledBack
      /// A device has two histories, because it was copied or restored, and both copies continued.
      case forked
      /// A file differs from the file that its device wrote, because it was truncated, or parts were replaced.
      case damaged
      /// A removed device has published a file, which other devices don't merge, or this device was removed, or several
      /// devices removed others at the same time.
      case removed
      /// A file can't be merged yet, because the devices' apps have different versions, the policy leaves its conflicts
      /// to a person, or a merged document or the store's memory of the folder would be too large.
      case refused
    }

    /// The kind of problem.
    public let kind: Kind
    /// The device that wrote the file, or zeros if it's unknown.
    public let device: SyncDevice.ID
    /// The device's name, or an empty string.
    public let label: String
    /// The file's number among its device's files.
    public let number: UInt64
    /// The file's path.
    public let path: String
    /// The explanation, with advice on what to do.
    public let advice: String
  }
}

/// A device that syncs through a folder.
public struct SyncDevice: Sendable, Hashable, Identifiable {
  /// A device's identity, which doesn't change until the device's store file is restored or copied.
  public struct ID: Sendable, Hashable, CustomStringConvertible {
    let uid: UniqueID

    /// The first eight of the identity's 32 hexadecimal digits.
    public var description: String { String(Hexadecimal.text(uid.bytes).prefix(8)) }
  }

  /// The device's identity.
  public let id: ID
  /// The device's name.
  public let label: String
  /// A Boolean value that indicates whether the device is this store.
  public let isThisStore: Bool
  /// The date of the device's last file that this store includes, or `nil` if it doesn't include any.
  public let lastDate: Timestamp?
  /// The number of the device's last file that this store includes.
  public let fileCount: UInt64
  /// A Boolean value that indicates whether the device was removed from the folder.
  public let isRemoved: Bool
}

/// A folder's status, as shown by `sync status`.
public struct FolderSyncStatus: Sendable, Hashable {
  /// All known devices, starting with this device. Only listed devices get a new secret when a device is removed.
  public let devices: [SyncDevice]
  /// The problems found in the folder.
  public let problems: [FolderSyncReport.Problem]
  /// The documents that changed on two devices at once, with the documents that contain the other versions, until one
  /// of both is moved or deleted.
  public let otherVersions: [OtherVersion]
  /// A Boolean value that indicates whether the store has changes that aren't in the folder yet.
  public let hasUnpublishedChanges: Bool
}
