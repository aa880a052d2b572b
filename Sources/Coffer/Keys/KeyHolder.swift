/// Root key source of an open store, for the first unlocking and for the next when another process has changed the key.
struct KeyHolder: Sendable {
  /// Asks for the key again; no secret.
  var key: StoreKey
  /// The slot that opened.
  var slot: UInt32
}
