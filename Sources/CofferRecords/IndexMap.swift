package import CofferSealing

/// The expected tags of an index's pages, which consist of a list of recent changes, and map pages for the other pages
/// (Index-Format, "Root").
///
/// The root seals the changes and the map pages' tags.
package struct IndexMap: Sendable, Equatable {
  /// A page with the first 8 bytes of its tag as a big-endian number.
  package struct Change: Sendable, Equatable {
    package let page: UInt32
    package let tag: UInt64
  }

  /// The maximum number of changes in a root.
  package static let maximumChanges = 512
  /// The number of changes that remain in the root when others move to map pages.
  private static let keptChanges = maximumChanges / 2
  package static let entryByteCount = 8

  /// The tag of a sealed page, as two big-endian numbers.
  package struct Tag: Sendable, Equatable {
    package let high: UInt64
    package let low: UInt64

    /// - Parameter bytes: At least 16 bytes, of which the last 16 are the tag.
    package init(endOf bytes: UnsafeRawBufferPointer) {
      func number(_ distance: Int) -> UInt64 {
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - distance, as: UInt64.self))
      }
      (high, low) = (number(16), number(8))
    }
  }

  /// The tags of the map pages.
  package private(set) var tags: [Tag] = []
  /// The first half of the tag of each changed page. Up to ``maximumChanges``, except while a transaction writes pages.
  package private(set) var changes: [UInt32: UInt64] = [:]

  package init() {}

  /// Returns the number of entries in a map page.
  package static func entryCount(pageSize: UInt32) -> Int {
    (Int(pageSize) - IndexPages.reservedBytes) / entryByteCount
  }

  // MARK: Encoding

  package func write(to builder: inout ByteBuilder) {
    builder.append(UInt32(tags.count))
    for tag in tags {
      builder.append(tag.high)
      builder.append(tag.low)
    }
    builder.append(UInt32(changes.count))
    for (page, tag) in changes.sorted(by: { $0.key < $1.key }) {
      builder.append(page)
      builder.append(tag)
    }
  }

  /// Reads a map, or returns `nil` for invalid bytes.
  package init?(_ reader: inout ByteReader, pageSize: UInt32, pageCount: UInt32) {
    let entries = Self.entryCount(pageSize: pageSize)
    guard let count: UInt32 = reader.integer(), Int(count) <= (Int(pageCount) + entries - 1) / entries else {
      return nil
    }
    for _ in 0..<count {
      guard let tag = reader.bytes(XAESKey.tagCount) else { return nil }
      tags.append(Tag(endOf: tag))
    }
    guard let count: UInt32 = reader.integer(), count <= Self.maximumChanges else { return nil }
    var last: UInt32?
    for _ in 0..<count {
      guard let page: UInt32 = reader.integer(), let tag: UInt64 = reader.integer(), page < pageCount,
        last.map({ page > $0 }) ?? true
      else { return nil }
      changes[page] = tag
      last = page
    }
    // Every page has an expected tag, so the bytes of a root limit the pages and map pages.
    guard Int(pageCount) <= tags.count * entries + changes.count else { return nil }
  }

  // MARK: Changing

  package mutating func set(_ page: Int, to tag: UInt64) {
    changes[UInt32(page)] = tag
  }

  /// Removes all pages at and above a number.
  package mutating func truncate(to count: Int, entries: Int) {
    changes = changes.filter { $0.key < count }
    tags.removeLast(max(0, tags.count - (count + entries - 1) / entries))
  }

  package mutating func removeMapPages() {
    tags = []
  }

  /// Sets a map page's tag. The map page can be the next new page.
  package mutating func setTag(ofMapPage number: Int, to tag: Tag) {
    if number < tags.count { tags[number] = tag } else { tags.append(tag) }
  }

  /// Removes changes from the list if there are too many for a root, starting with the map page that has the most
  /// changes.
  ///
  /// - Returns: The removed changes by map page, in ascending order. The result includes the pages between the current
  ///   map pages and a new map page.
  package mutating func takeExcess(entries: Int) -> [(mapPage: Int, changes: [Change])] {
    guard changes.count > Self.maximumChanges else { return [] }
    var groups: [Int: [Change]] = [:]
    for (page, tag) in changes { groups[Int(page) / entries, default: []].append(Change(page: page, tag: tag)) }
    var left = changes.count
    var taken: [Int: [Change]] = [:]
    for (number, group) in groups.sorted(by: { ($1.value.count, $0.key) < ($0.value.count, $1.key) })
    where left > Self.keptChanges {
      taken[number] = group
      left -= group.count
    }
    for number in tags.count..<max(tags.count, (taken.keys.max() ?? 0) + 1) where taken[number] == nil {
      taken[number] = groups[number] ?? []
    }
    for change in taken.values.joined() { changes[change.page] = nil }
    return taken.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
