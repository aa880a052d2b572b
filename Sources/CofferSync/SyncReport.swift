public import CofferCopies
public import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// The results and problems of one sync run.
public struct FolderSyncReport: Sendable, Hashable {
  /// The number of documents that this device published, without documents that a snapshot repeats.
  public internal(set) var publishedDocuments = 0
  /// The number of bytes that this device wrote to the folder.
  public internal(set) var publishedBytes = 0
  /// The files taken from other devices, in order.
  public internal(set) var taken: [Taken] = []
  /// The problems that need a person's attention.
  public internal(set) var problems: [Problem] = []
  /// A Boolean value that indicates whether this device took a new identity, because its file was restored or copied.
  public internal(set) var isNewDevice = false

  /// One file of another device.
  public struct Taken: Sendable, Hashable {
    /// The device that wrote the file.
    public let device: SyncDevice.ID
    /// The device's name.
    public let label: String
    /// The changes in this store.
    public let report: MergeReport
  }

  /// A problem that a carrier or a copied device caused in the folder.
  public struct Problem: Sendable, Hashable {
    /// The kinds of problems.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      /// A file that others have, or that a later file builds on, isn't in the folder yet, or can't be read. It may
      /// still come.
      case waiting
      /// A file disappeared from the folder, because the carrier restored an older state or lost the file.
      case rolledBack
      /// A device has two histories, because it was copied or restored, and both copies continued.
      case forked
      /// A file differs from what its device wrote, because it was truncated or parts were exchanged.
      case damaged
      /// A removed device published a file that other devices don't take, or this device was removed, or several devices
      /// removed others at the same time.
      case removed
      /// A file can't be merged yet, because the devices' apps have different versions, the policy leaves its conflicts to
      /// a person, or a merged document or the store's memory of the folder would be too large.
      case refused
    }

    /// The kind of problem.
    public let kind: Kind
    /// The device whose file it concerns, or zeros if the device is unknown.
    public let device: SyncDevice.ID
    /// The device's name, or an empty text.
    public let label: String
    /// The file's number among its device's files.
    public let number: UInt64
    /// The file's path.
    public let path: String
    /// A description of the problem with instructions.
    public let advice: String
  }
}

/// A device that syncs through a folder.
public struct SyncDevice: Sendable, Hashable, Identifiable {
  /// The identity of a device, which it keeps until its file is restored or copied.
  public struct ID: Sendable, Hashable, CustomStringConvertible {
    let uid: UniqueID

    /// The first eight of its 32 hexadecimal digits.
    public var description: String { String(Hexadecimal.text(uid.bytes).prefix(8)) }
  }

  /// The device's identity.
  public let id: ID
  /// The device's name for people.
  public let label: String
  /// A Boolean value that indicates whether it's this store.
  public let isThisStore: Bool
  /// The date of its last file in this store, or `nil` if this store doesn't have its files.
  public let lastDate: Timestamp?
  /// The number of its last file in this store.
  public let fileCount: UInt64
  /// A Boolean value that indicates whether it was removed from the folder.
  public let isRemoved: Bool
}

/// The status of a folder, as shown by `sync status`.
public struct FolderSyncStatus: Sendable, Hashable {
  /// All known devices, starting with this device.
  public let devices: [SyncDevice]
  /// The problems found during the last check of the folder.
  public let problems: [FolderSyncReport.Problem]
  /// Documents that changed on two devices at the same time, each with the document of the other version, until one of
  /// the two is moved or deleted.
  public let otherVersions: [OtherVersion]
  /// A Boolean value that indicates whether the store has changes that aren't in the folder yet.
  public let hasUnpublishedChanges: Bool
}
