internal import CofferPlatform
package import CofferRecords

/// Whether a transaction must end before its work is done, because its store is suspended or closed, or because a child
/// of a fork has only a copy of it.
///
/// A transaction that the store's suspension interrupted doesn't continue when the store is resumed, because statements
/// may have failed in between.
package struct TransactionStop: Sendable {
  private let session: Session
  private let isWriter: Bool
  private let pauseMark: UInt64
  private let forks = coffer_fork_generation()

  init(of session: Session, isWriter: Bool) {
    self.session = session
    self.isWriter = isWriter
    pauseMark = session.pauseMark
  }

  /// Whether the transaction must end. Closing the store ends read transactions, and waits for write transactions.
  package var isPending: Bool {
    session.isPaused(since: pauseMark) || !isWriter && session.isClosing || isOfParent
  }

  /// Whether the transaction belongs to the parent of this process. A child must not end it, because both share the
  /// lock and the files.
  var isOfParent: Bool { forks != coffer_fork_generation() }

  /// The error that the transaction ends with, or `nil` if it may continue.
  package var error: StoreError? {
    guard isPending else { return nil }
    if isOfParent { return ConnectionPool.openedByParent }
    return session.isPaused(since: pauseMark) ? .storeSuspended : .storeClosed
  }

  /// - Throws: `suspended` or `closed` if the transaction must end, or `misuse` in the child of a fork.
  @inline(__always)
  package func check() throws(StoreError) {
    if isPending { throw error ?? .storeClosed }
  }

  /// Runs work of the transaction, and throws `suspended` or `closed` for an interrupted statement.
  package func naming<R>(_ work: () throws -> R) throws -> R {
    do {
      return try work()
    } catch let error as StoreError where error.code == .cancelled {
      throw self.error ?? error
    }
  }

  /// Runs work of the engine in the transaction, and throws `suspended` or `closed` for an interrupted statement.
  func namingStoreErrors<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      throw error.code == .cancelled ? self.error ?? error : error
    }
  }
}
