internal import Coffer
internal import CofferTerminal

extension Browser {
  /// Closes the store, clears the screen, and replaces the program by a new one that doesn't have its memory.
  ///
  /// Strings of titles and texts, and their copies in the heap and on stacks, can't be erased one by one. If the new
  /// program can't start, this one ends.
  func lock(_ reason: String) {
    guard let store else { return }
    let locked = LockedBrowser(reason: reason, place: currentPlace)
    (watch, probe, self.store) = (nil, nil, nil)
    try? store.close()
    screen.leave()
    isDone = true
    do {
      try program.restart(locked)
    } catch {
      failedRestart = error
    }
  }

  func takeWhileLocked(_ key: TerminalKey) throws {
    switch key {
    case .character("q"), .character("Q"), .control("c"): isDone = true
    case .control("z"): try suspend()
    case .control("l"): canvas.forget()
    case .enter:
      let store = try screen.asking(program.reopen)
      self.store = store
      watch = ChangeWatch(store)
      seenCommits = 0
      message = nil
      lastKeySeconds = Self.seconds
      canvas.forget()
      let place = place
      self.place = nil
      attempt {
        try loadCollections()
        if let place, try goBack(to: place) { return }
        if collections.count == 1 { try openCollection() }
      }
    default: break
    }
  }

  private var currentPlace: Place? {
    guard let collection = list?.collection ?? markedCollection else { return nil }
    return Place(
      collection: collection.id, list: list.map { ($0.order, $0.isDescending, $0.search) }, document: markedID,
      pane: pane, textPlace: text?.place, hit: text?.hit)
  }

  /// Restores a place, and returns whether its collection exists.
  private func goBack(to place: Place) throws -> Bool {
    guard let index = collections.firstIndex(where: { $0.id == place.collection }) else { return false }
    collectionLines.mark(index, of: collections.count)
    guard let former = place.list else { return true }
    try openCollection(by: former.order, descending: former.isDescending, finding: former.search)
    guard let id = place.document, let list, let index = list.ids.firstIndex(of: id) else { return true }
    documentLines.mark(index, of: list.ids.count)
    pane = place.pane
    openMarked()
    if let textPlace = place.textPlace { text?.place = textPlace }
    if let hit = place.hit, text?.shown.hits.indices.contains(hit) == true { text?.hit = hit }
    return true
  }

  /// Stops the process, as Ctrl-Z does, until the shell continues it.
  func suspend() throws {
    try screen.suspend()
    canvas.forget()
  }
}
