internal import ArgumentParser
internal import Coffer

/// A place in a collection's order, as named by `--to`.
enum Destination: ExpressibleByArgument, Equatable {
  case top, bottom
  /// The document's new place, counted from 1.
  case place(Int)
  case before(Int64)
  case after(Int64)

  init?(argument: String) {
    func id(behind prefix: String) -> Int64? {
      argument.hasPrefix(prefix) ? Int64(argument.dropFirst(prefix.count)).flatMap { $0 >= 1 ? $0 : nil } : nil
    }
    if argument == "top" {
      self = .top
    } else if argument == "bottom" {
      self = .bottom
    } else if let id = id(behind: "before:") {
      self = .before(id)
    } else if let id = id(behind: "after:") {
      self = .after(id)
    } else if let place = Int(argument), place >= 1 {
      self = .place(place)
    } else {
      return nil
    }
  }

  static let help = ArgumentHelp(
    "The new place: top, bottom, a number in the order from 1, or next to another document.",
    valueName: "top|bottom|n|before:id|after:id")

  /// Returns the placement of a moving document. Every named document must be in the same collection.
  func placement(
    of header: DocumentHeader, in scope: borrowing some StoreReading & ~Copyable
  ) throws -> Placement {
    guard case .place(let place) = self else { return try placement(in: header.collection, scope) }
    let collection = try Self.collection(header.collection, scope)
    let other = try scope.header(of: try Self.id(at: place, in: collection, scope))
    // Account for the removal of the document, because it moves the following documents up.
    let isBehind = (header.position, header.id) < (other.position, other.id)
    return isBehind ? .after(other.id) : .before(other.id)
  }

  /// Returns the placement of a document that is new in the collection.
  func placement(
    in collection: CollectionID, _ scope: borrowing some StoreReading & ~Copyable
  ) throws -> Placement {
    switch self {
    case .top: return .top
    case .bottom: return .bottom
    case .before(let id): return .before(try Self.neighbour(id, in: collection, scope))
    case .after(let id): return .after(try Self.neighbour(id, in: collection, scope))
    case .place(let place):
      let collection = try Self.collection(collection, scope)
      let count = try scope.count(in: collection)
      if place == count + 1 { return .bottom }
      return .before(try Self.id(at: place, in: collection, scope))
    }
  }

  private static func neighbour(
    _ id: Int64, in collection: CollectionID, _ scope: borrowing some StoreReading & ~Copyable
  ) throws -> DocumentID {
    let header = try scope.header(of: DocumentID(id))
    guard header.collection == collection else {
      throw Failure.usage("document \(id) is in another collection")
    }
    return header.id
  }

  private static func collection(
    _ id: CollectionID, _ scope: borrowing some StoreReading & ~Copyable
  ) throws -> DocumentCollection {
    guard let name = try Collections.names(in: scope)[id] else {
      throw Failure(.damaged, kind: "damaged", "collection \(id) is gone, but documents of it are there")
    }
    return DocumentCollection(name)
  }

  private static func id(
    at place: Int, in collection: DocumentCollection, _ scope: borrowing some StoreReading & ~Copyable
  ) throws -> DocumentID {
    let count = try scope.count(in: collection)
    guard place <= count else {
      throw Failure.usage("there is no place \(place)", hint: "the collection has \(counted(count, "document"))")
    }
    return try scope.id(at: place - 1, in: collection)
  }
}
