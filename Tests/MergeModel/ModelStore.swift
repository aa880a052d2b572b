/// A replica of a document store, reduced to what merging needs.
///
/// A copy of the value is a byte copy of the store: it has the same replica identity. It may be read and merged from,
/// but use `fork()` before writing to it.
public struct ModelStore {
  /// The source of identities, marks and the names of runs. Copies and forks share it.
  public let generator: SeededGenerator
  /// The common origin of all replicas. The identities of collections depend on it.
  public let origin: String
  public internal(set) var replica: ReplicaID
  /// The commits that the store descends from, its own included.
  public internal(set) var vector = VersionVector()
  public internal(set) var documents: [RecordID: ModelRecord] = [:]
  /// The collections. They are never removed; see `listedCollections`.
  public internal(set) var collections: [RecordID: ModelRecord] = [:]
  /// The deleted documents.
  public internal(set) var gone: [RecordID: Entry] = [:]
  /// The latest known commits of each replica.
  public internal(set) var marks: [ReplicaID: CommitMarks] = [:]
  /// Returns the identity of the copy that keeps a text which lost a conflict, from the document and the text's dot.
  var copyIdentity: @Sendable (RecordID, Dot) -> RecordID = { RecordID(copyOf: $0, losing: $1) }
  /// The latest position that this replica made, if any.
  var latestPosition: Position?

  /// Creates an empty store.
  public init(generator: SeededGenerator, origin: String = "origin") {
    self.generator = generator
    self.origin = origin
    replica = ReplicaID(rawValue: generator.next())
  }

  /// Returns a copy with a replica identity of its own.
  public func fork() -> ModelStore {
    var fork = self
    fork.replica = ReplicaID(rawValue: generator.next())
    fork.latestPosition = nil
    return fork
  }

  /// Begins a commit and returns its dot, which is greater than every dot that the store has seen.
  mutating func commit() -> Dot {
    let counter = vector.greatestCounter + 1
    vector[replica] = counter
    marks[replica, default: CommitMarks()].append(counter: counter, mark: generator.next())
    return Dot(counter: counter, replica: replica)
  }
}
