public import CofferCopies
public import CofferDocuments
internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// What one run of a folder's sync did, and what it found.
public struct FolderSyncReport: Sendable, Hashable {
  /// The documents that this device published, without those that a snapshot repeats.
  public internal(set) var publishedDocuments = 0
  /// The bytes that this device wrote into the folder.
  public internal(set) var publishedBytes = 0
  /// What was taken from other devices, in order.
  public internal(set) var taken: [Taken] = []
  /// What needs a person's attention.
  public internal(set) var problems: [Problem] = []
  /// A Boolean value that indicates whether this device took a new identity, because its file was restored or copied.
  public internal(set) var isNewDevice = false

  /// One file of another device.
  public struct Taken: Sendable, Hashable {
    /// The device that wrote it.
    public let device: SyncDevice.ID
    /// What the device is called.
    public let label: String
    /// What changed in this store.
    public let report: MergeReport
  }

  /// Something that a carrier or a copied device did to the folder.
  public struct Problem: Sendable, Hashable {
    /// The kinds of problems.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      /// A file that others have, or that a later file builds on, isn't in the folder yet, or can't be read. It may
      /// still come.
      case waiting
      /// A file that was in the folder isn't anymore: the carrier put an older state back, or lost it.
      case rolledBack
      /// A device has two histories: it was copied or put back, and both copies went on.
      case forked
      /// A file isn't what its device wrote: it was cut, or parts were exchanged.
      case damaged
      /// A device that was removed from the folder has published a file that nobody takes, or this device was removed, or
      /// several devices removed others at the same time.
      case removed
      /// A file can't be merged yet: the devices' apps have different versions, the policy leaves its conflicts to a
      /// person, or a merged document or the store's memory of the folder would be too large.
      case refused
    }

    /// What kind of problem it is.
    public let kind: Kind
    /// The device whose file it concerns, or zeros if that isn't known.
    public let device: SyncDevice.ID
    /// What the device is called, or an empty text.
    public let label: String
    /// The file's number among those of its device.
    public let number: UInt64
    /// The file's path.
    public let path: String
    /// What happened, and what to do about it.
    public let advice: String
  }
}

/// A device that syncs by a folder.
public struct SyncDevice: Sendable, Hashable, Identifiable {
  /// The identity of a device, which it keeps until its file is restored or copied.
  public struct ID: Sendable, Hashable, CustomStringConvertible {
    let uid: UniqueID

    /// The first eight of its 32 hexadecimal digits.
    public var description: String { String(Hexadecimal.text(uid.bytes).prefix(8)) }
  }

  /// The device's identity.
  public let id: ID
  /// What people call it.
  public let label: String
  /// A Boolean value that indicates whether it's this store.
  public let isThisStore: Bool
  /// The date of its last file that this store has, or `nil` if there is none.
  public let lastDate: Timestamp?
  /// The number of its last file that this store has.
  public let fileCount: UInt64
  /// A Boolean value that indicates whether it was removed from the folder.
  public let isRemoved: Bool
}

/// What `sync status` shows of a folder.
public struct FolderSyncStatus: Sendable, Hashable {
  /// All known devices, this one first.
  public let devices: [SyncDevice]
  /// Problems that the last look at the folder shows.
  public let problems: [FolderSyncReport.Problem]
  /// Documents that changed on two devices at once, each with the document that the other version became, until one of
  /// both is moved or deleted.
  public let otherVersions: [OtherVersion]
  /// A Boolean value that indicates whether the store has changes that aren't in the folder yet.
  public let hasUnpublishedChanges: Bool
}
