import CofferSQLite
import CofferSealing
import Testing

@testable import Coffer
@testable import CofferRecords

/// Missing memory is not reported as damage of the store; Tools/harnesses/out-of-memory makes memory fail.
struct WantOfMemoryTests {
  private static let damage = StoreError.damagedDocument(7, "its text is not the one that was written")

  @Test func cipherWithoutMemoryIsNoDamage() {
    #expect(StoreError.unopened(SealingError(.systemFailure, "no memory"), Self.damage).code == .systemFailure)
    #expect(StoreError.unopened(SealingError(.notAuthentic, "not authentic"), Self.damage) == Self.damage)
    #expect(StoreError.unopened(SealingError(.malformed, "another length"), Self.damage).documentID == DocumentID(7))
  }

  @Test func onlyErrorsOfTheFileAreFindingsOfVerify() {
    for code in [StoreError.Code.systemFailure, .locked, .cancelled, .keyChanged, .closed] {
      #expect(StoreError(code, "").isPassing)
    }
    for code in [StoreError.Code.damaged, .rolledBack, .ioFailure] { #expect(!StoreError(code, "").isPassing) }
  }
}
