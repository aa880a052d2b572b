internal import CofferPlatform

/// The number of this thread's current transactions, in any store.
///
/// A nested transaction doesn't wait for a free reader, because threads that each hold a reader of one store, and wait
/// for a reader of another store, would wait for each other.
enum ThreadScopes {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    guard pthread_key_create(&key, nil) == 0 else { preconditionFailure("no thread-local storage is left") }
    return key
  }()

  static var count: Int { Int(bitPattern: pthread_getspecific(key)) }

  static func begin() { pthread_setspecific(key, UnsafeRawPointer(bitPattern: count + 1)) }

  static func end() { pthread_setspecific(key, UnsafeRawPointer(bitPattern: count - 1)) }
}
