public import CofferEngine
internal import CofferRecords

/// The result of copying documents to a new store, by `copy`, `makeEditableCopy` or `salvage`.
public struct CopyReport: Sendable {
  /// The number of documents in the new store.
  public internal(set) var documents = 0
  /// The number of attachments in the new store.
  public internal(set) var attachments = 0
  /// The number of selected documents. For a salvage, the number of documents at the store's last write, or `nil` if
  /// the store's state is lost.
  public internal(set) var expected: Int?
  /// The number of documents without a parent in the new store because their parent wasn't copied.
  public internal(set) var parentsDropped = 0
  /// The damaged documents with known IDs that a salvage omitted, sorted by ID. Other copies stop at a damaged
  /// document.
  public internal(set) var leftOut: [Verdict.Damage] = []
  /// The attachments that a salvage omitted because a part of their content is missing or damaged, sorted by ID. Other
  /// copies stop at a damaged attachment.
  public internal(set) var leftOutAttachments: [Verdict.DamagedAttachment] = []
  /// The collections whose names are lost. In the new store, they're named by number.
  public internal(set) var namedByNumber: [CollectionID] = []
  /// A Boolean value that indicates whether the documents match the set hash of the store's state. `nil` if the state
  /// is lost or if only a part of the store was selected.
  public internal(set) var setMatches: Bool?
  /// Other problems that a salvage found in the store.
  public internal(set) var problems: [String] = []
  /// The new store's ID.
  public let storeID: String
  /// The new store's pin. The recipient should compare it before trusting the store.
  public let pin: StorePin
  /// A Boolean value that indicates whether the new store may use published test keys.
  public let isTest: Bool

  /// Creates a report for a transaction that writes the new store.
  init(_ target: StoreTransaction) {
    let header = target.keys.session.header
    storeID = Hexadecimal.text(header.storeID)
    pin = StorePin(header)
    isTest = header.isTest
  }

  /// A Boolean value that indicates whether all selected data was copied, including collection names.
  public var isComplete: Bool {
    leftOut.isEmpty && leftOutAttachments.isEmpty && namedByNumber.isEmpty && setMatches != false
      && documents == expected
  }
}
