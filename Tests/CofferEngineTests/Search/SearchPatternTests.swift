import Coffer
import CofferRecords
import Testing

@testable import CofferStoreTestSupport

/// Pattern errors in the public API. CofferPatternsTests covers matching.
struct SearchPatternTests {
  @Test func rejectsEmptyText() throws {
    for differences in [[], .case, .composition, .diacritics] as [SearchPattern.Differences] {
      let error = try #require(throws: StoreError.self) { try SearchPattern.text("", ignoring: differences) }
      #expect(error.code == .invalidArgument && error.message == "there is nothing to look for")
    }
  }

  @Test func reportsPositionOfInvalidExpression() throws {
    let error = try #require(throws: StoreError.self) { try SearchPattern.regularExpression("geheim[") }
    #expect(error.code == .invalidArgument)
    #expect(error.message == "the regular expression can't be read at character 7: a [ without its ]")
  }

  /// The repetitions of nothing aren't written out.
  @Test(arguments: ["((((){1000}){1000}){1000}){1000}", "((((x{0}){1000}){1000}){1000}){1000}y"])
  func compilesRepetitionsOfNothing(pattern: String) throws {
    _ = try SearchPattern.regularExpression(pattern)
  }

  @Test func rejectsOversizedPattern() throws {
    let error = try #require(throws: StoreError.self) {
      try SearchPattern.regularExpression("((a{100}){100}){100}")
    }
    #expect(error.code == .tooLarge)
    #expect(error.message == "the pattern is too large: its counted repetitions are written out")
  }
}
