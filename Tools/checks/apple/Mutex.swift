// The mutex of the module Synchronization, which Embedded Swift doesn't have on Apple's systems.

struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
  init(_ value: consuming sending Value) { fatalError() }

  func withLock<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result
  ) throws(E) -> sending Result {
    fatalError()
  }
}
