extension Sandbox {
  /// Adds documents to `s.coffer` and deletes most of them again, so that the list of commits in the store's state no
  /// longer reaches back to earlier ones. Each deletion of many single ids fills most of the list.
  ///
  /// - Parameter first: The next id that the store gives.
  func fillCommitList(from first: Int) throws {
    try write("many.ndjson", String(repeating: "{\"text\":\"a\"}\n", count: 5400))
    try succeed("import", "s.coffer", "many.ndjson")
    for ids in [stride(from: first, to: first + 5400, by: 2), stride(from: first + 1, to: first + 5400, by: 4)] {
      try succeed(["rm", "s.coffer", "-f"] + ids.map { "\($0)" })
    }
  }
}
