import Coffer
import CofferRecords
import CofferSQLite
import CofferSealing
import Testing

@testable import CofferStoreTestSupport

/// Memory shortages aren't reported as damage. Tools/harnesses/out-of-memory makes allocations fail.
struct WantOfMemoryTests {
  private static let damage = StoreError.damagedDocument(7, "its text is not the one that was written")

  @Test func distinguishesMissingMemoryFromDamage() {
    #expect(StoreError.unopened(SealingError(.systemFailure, "no memory"), Self.damage).code == .systemFailure)
    #expect(StoreError.unopened(SealingError(.notAuthentic, "not authentic"), Self.damage) == Self.damage)
    #expect(StoreError.unopened(SealingError(.malformed, "another length"), Self.damage).documentID == DocumentID(7))
  }

  @Test func distinguishesTransientErrorsFromFindings() {
    for code in [StoreError.Code.systemFailure, .locked, .cancelled, .keyChanged, .closed] {
      #expect(StoreError(code, "").isTransient)
    }
    for code in [StoreError.Code.damaged, .rolledBack, .ioFailure] { #expect(!StoreError(code, "").isTransient) }
  }
}
