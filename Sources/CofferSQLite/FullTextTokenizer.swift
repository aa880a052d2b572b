internal import CCofferSQLite

/// A tokenizer for FTS5, which divides texts and queries into tokens. Each of a connection's full-text tables has its
/// own tokenizer.
package protocol FullTextTokenizer: AnyObject {
  /// Calls `give` with each token and its range in the UTF-8 text, until `give` returns `false`.
  func tokenize(
    _ text: UnsafeRawBufferPointer, _ give: (_ token: UnsafeRawBufferPointer, _ place: Range<Int>) -> Bool)
}

extension Database {
  /// Registers a tokenizer for this connection.
  ///
  /// - Parameter make: Returns a tokenizer for the arguments in a table's declaration, or `nil` for invalid arguments.
  package func addTokenizer(
    named name: String, _ make: @escaping ([String]) -> (any FullTextTokenizer)?
  ) throws(SQLiteError) {
    var calls = fts5_tokenizer(
      xCreate: { context, arguments, count, result in
        let maker = Unmanaged<TokenizerMaker>.fromOpaque(context!).takeUnretainedValue()
        let arguments = (0..<Int(count)).map { String(cString: arguments![$0]!) }
        guard let tokenizer = maker.make(arguments) else { return SQLITE_ERROR }
        result!.pointee = OpaquePointer(Unmanaged.passRetained(TokenizerOwner(tokenizer)).toOpaque())
        return SQLITE_OK
      },
      xDelete: { Unmanaged<TokenizerOwner>.fromOpaque(UnsafeRawPointer($0!)).release() },
      xTokenize: { owner, context, _, text, count, give in
        let owner = Unmanaged<TokenizerOwner>.fromOpaque(UnsafeRawPointer(owner!)).takeUnretainedValue()
        var status = SQLITE_OK
        owner.tokenizer.tokenize(UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : Int(count))) {
          token, place in
          status = give!(
            context, 0, token.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(token.count),
            Int32(place.lowerBound), Int32(place.upperBound))
          return status == SQLITE_OK
        }
        return status
      })
    let status = coffer_sqlite_add_tokenizer(
      try connection.open(), name, Unmanaged.passRetained(TokenizerMaker(make)).toOpaque(), &calls
    ) { Unmanaged<TokenizerMaker>.fromOpaque($0!).release() }
    guard status == SQLITE_OK else {
      throw SQLiteError(.notAllowed, "this SQLite has no full-text search (FTS5)")
    }
  }
}

private final class TokenizerMaker {
  let make: ([String]) -> (any FullTextTokenizer)?

  init(_ make: @escaping ([String]) -> (any FullTextTokenizer)?) { self.make = make }
}

/// A reference for the pointer that FTS5 holds.
private final class TokenizerOwner {
  let tokenizer: any FullTextTokenizer

  init(_ tokenizer: any FullTextTokenizer) { self.tokenizer = tokenizer }
}
