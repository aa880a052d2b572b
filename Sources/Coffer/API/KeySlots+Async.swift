// The same names and parameters, run on a separate thread: a derivation of scrypt takes 0.4 s, and runs to its end. A
// cancelled call may have made its change: list() tells.

extension KeySlots {
  /// `list` for async code.
  public func list() async throws -> [KeySlot] {
    try await offCooperativePool { try self.list() }
  }

  /// `add` for async code. Cancelled, it may have added the slot.
  @discardableResult
  public func add(_ key: NewKey, label: String = "") async throws -> Int {
    try await offCooperativePool { try self.add(key, label: label) }
  }

  /// `remove` for async code. Cancelled, it may have removed the slot.
  public func remove(slot: Int) async throws {
    try await offCooperativePool { try self.remove(slot: slot) }
  }

  /// `replace` for async code. Cancelled, it may have replaced the slot.
  @discardableResult
  public func replace(slot: Int? = nil, with key: NewKey, label: String? = nil) async throws -> Int {
    try await offCooperativePool { try self.replace(slot: slot, with: key, label: label) }
  }

  /// `changePassphrase` for async code. Cancelled, it may have replaced the slot.
  @discardableResult
  public func changePassphrase(_ ask: @escaping @Sendable () throws -> Secret) async throws -> Int {
    try await offCooperativePool { try self.changePassphrase(ask) }
  }
}
