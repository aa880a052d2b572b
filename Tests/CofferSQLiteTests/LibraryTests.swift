import Testing

@testable import CofferSQLite

@Suite struct LibraryTests {
  @Test(arguments: [
    (3_006_023, false), (3_007_000, true), (3_040_001, true), (3_044_005, true), (3_044_006, false),
    (3_044_009, false), (3_045_000, true), (3_050_006, true), (3_050_007, false), (3_051_000, true),
    (3_051_002, true), (3_051_003, false), (3_052_000, false), (4_000_000, false),
  ])
  func detectsWALResetBugByVersion(version: Int32, isThere: Bool) {
    #expect(Database.hasWALResetBug(versionNumber: version) == isThere)
  }

  @Test func versionsAgree() throws {
    let parts = Database.libraryVersion.split(separator: ".").compactMap { Int32($0) }
    #expect(Database.libraryVersionNumber == parts[0] * 1_000_000 + parts[1] * 1000 + parts[2])
    #expect(try emptyDatabase().firstValue("SELECT sqlite_version()")?.text == Database.libraryVersion)
  }

  @Test func openDatabaseKeepsMemoryStatistics() throws {
    let database = try emptyDatabase()
    #expect(!Database.disableMemoryStatistics())
    withExtendedLifetime(database) {}
  }
}
