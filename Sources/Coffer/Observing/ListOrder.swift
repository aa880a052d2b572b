internal import CofferDocuments
internal import CofferEngine

/// An observed list's IDs in order, with an index lookup by ID.
///
/// Labels increase along the list, so a binary search finds a row's index. Row positions aren't used as labels, because
/// rows can be repositioned to make space without being reported as changed.
struct ListOrder {
  private struct Entry {
    var label: Int64
    let id: DocumentID
  }

  /// The distance between two labels after all rows are relabeled.
  private static let gap: Int64 = 1 << 32

  private var entries: [Entry] = []
  private var labels: [DocumentID: Int64] = [:]

  init(_ ids: [DocumentID] = []) {
    entries = ids.map { Entry(label: 0, id: $0) }
    label()
  }

  var count: Int { entries.count }

  var ids: [DocumentID] { entries.map(\.id) }

  subscript(index: Int) -> DocumentID { entries[index].id }

  func index(of id: DocumentID) -> Int? {
    guard let label = labels[id] else { return nil }
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].label < label { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Removes and places rows.
  ///
  /// - Parameters:
  ///   - gone: Indexes in the old list, in ascending order.
  ///   - placed: Indexes in the new list, in ascending order.
  mutating func change(removing gone: [Int], placing placed: [(index: Int, id: DocumentID)]) {
    guard !gone.isEmpty || !placed.isEmpty else { return }
    for index in gone { labels[entries[index].id] = nil }
    var result: [Entry] = []
    result.reserveCapacity(entries.count - gone.count + placed.count)
    var isLabelled = true
    var next = 0
    var kept = 0
    var last = 0
    for (place, placement) in placed.enumerated() {
      copy(upTo: placement.index, &kept, gone, &next, into: &result)
      // Adjacent placed rows share the label range up to the next unmoved row.
      if last <= place {
        last = place + 1
        while last < placed.count, placed[last].index == placed[last - 1].index + 1 { last += 1 }
      }
      let shares = Int64(last - place + 1)
      let high = following(kept, gone, next)?.label
      let low = result.last?.label ?? (high ?? 0) - shares * Self.gap
      let step = high.map { ($0 - low) / shares } ?? Self.gap
      if step == 0 { isLabelled = false }
      result.append(Entry(label: low + step, id: placement.id))
      labels[placement.id] = low + step
    }
    copy(upTo: .max, &kept, gone, &next, into: &result)
    entries = result
    if !isLabelled { label() }
  }

  /// Copies unmoved rows until the result has `count` rows.
  private func copy(
    upTo count: Int, _ kept: inout Int, _ gone: [Int], _ next: inout Int, into result: inout [Entry]
  ) {
    while result.count < count, kept < entries.count {
      if next < gone.count, gone[next] == kept {
        next += 1
        kept += 1
        continue
      }
      let staying = (next < gone.count ? gone[next] : entries.count) - kept
      let end = kept + min(staying, count - result.count)
      result.append(contentsOf: entries[kept..<end])
      kept = end
    }
  }

  private func following(_ kept: Int, _ gone: [Int], _ next: Int) -> Entry? {
    var (index, next) = (kept, next)
    while next < gone.count, gone[next] == index {
      index += 1
      next += 1
    }
    return index < entries.count ? entries[index] : nil
  }

  private mutating func label() {
    labels.removeAll(keepingCapacity: true)
    labels.reserveCapacity(entries.count)
    for index in entries.indices {
      entries[index].label = Int64(index) * Self.gap
      labels[entries[index].id] = entries[index].label
    }
  }
}
