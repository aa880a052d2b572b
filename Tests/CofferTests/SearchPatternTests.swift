import Coffer
import Testing

@testable import CofferRecords

/// Errors of patterns as apps see them; CofferPatternsTests covers what patterns match.
struct SearchPatternTests {
  @Test func emptyTextIsAnInvalidArgument() throws {
    for differences in [[], .case, .composition, .diacritics] as [TextDifferences] {
      let error = try #require(throws: StoreError.self) { try SearchPattern.text("", ignoring: differences) }
      #expect(error.code == .invalidArgument && error.message == "there is nothing to look for")
    }
  }

  @Test func invalidExpressionIsAnInvalidArgumentWithThePlace() throws {
    let error = try #require(throws: StoreError.self) { try SearchPattern.regularExpression("geheim[") }
    #expect(error.code == .invalidArgument)
    #expect(error.message == "the regular expression can't be read at character 7: a [ without its ]")
  }

  @Test func patternThatGrowsTooLargeIsReportedAsTooLarge() throws {
    let error = try #require(throws: StoreError.self) {
      try SearchPattern.regularExpression("((a{100}){100}){100}")
    }
    #expect(error.code == .tooLarge)
    #expect(error.message == "the pattern is too large: its counted repetitions are written out")
  }
}
