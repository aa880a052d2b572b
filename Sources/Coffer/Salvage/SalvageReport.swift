internal import CofferRecords

/// What was salvaged, and what was not.
public struct SalvageReport: Sendable {
  /// Documents in the new store.
  public internal(set) var documents = 0
  /// How many there were when the store was last written; nil where no state is left to tell.
  public internal(set) var expected: Int?
  /// Documents that stayed behind, as far as their numbers can still be found, by rising number.
  public internal(set) var left: [DamagedDocument] = []
  /// Collections whose name is lost: in the new store they are named by their number.
  public internal(set) var namedByNumber: [CollectionID] = []
  /// Whether what was found is exactly what was written; nil where no state is left to tell.
  public internal(set) var setMatches: Bool?
  /// What else is wrong with the store.
  public internal(set) var problems: [String] = []
  /// The new store's.
  public internal(set) var storeID = ""
  public internal(set) var pin = ""
  /// Whether the new store's keys may be published ones.
  public internal(set) var isTest = false

  /// Whether everything that was written is in the new store, names of collections included.
  public var isComplete: Bool { left.isEmpty && namedByNumber.isEmpty && setMatches == true }
}
