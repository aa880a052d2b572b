package import CofferRecords

/// Whether a transaction must end before its work is done, because its store is suspended or closed.
///
/// A transaction that the store's suspension interrupted doesn't continue when the store is resumed, because statements
/// may have failed in between.
package struct TransactionStop: Sendable {
  private let session: Session
  private let isWriter: Bool
  private let pauseMark: UInt64

  init(of session: Session, isWriter: Bool) {
    self.session = session
    self.isWriter = isWriter
    pauseMark = session.pauseMark
  }

  /// Whether the transaction must end. Closing the store ends read transactions, and waits for write transactions.
  package var isPending: Bool { session.isPaused(since: pauseMark) || !isWriter && session.isClosing }

  /// The error that the transaction ends with, or `nil` if it may continue.
  package var error: StoreError? {
    guard isPending else { return nil }
    return session.isPaused(since: pauseMark) ? .storeSuspended : .storeClosed
  }

  /// - Throws: `suspended` or `closed` if the transaction must end.
  @inline(__always)
  package func check() throws(StoreError) {
    if isPending { throw error ?? .storeClosed }
  }

  /// Runs work of the transaction, and throws `suspended` or `closed` for a statement that was interrupted.
  package func naming<R>(_ work: () throws -> R) throws -> R {
    do {
      return try work()
    } catch let error as StoreError where error.code == .cancelled {
      throw self.error ?? error
    }
  }

  /// Runs work of the engine in the transaction, and throws `suspended` or `closed` for a statement that was
  /// interrupted.
  func namingStoreErrors<R>(_ work: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try work()
    } catch {
      throw error.code == .cancelled ? self.error ?? error : error
    }
  }
}
