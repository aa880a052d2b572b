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

  // MARK: Libraries that can't be used

  private func fault(
    _ versionNumber: Int32 = Database.minimumVersionNumber, isThreadSafe: Bool = true,
    with options: Set<String> = ["ENABLE_FTS5"]
  ) -> String? {
    Database.libraryFault(versionNumber: versionNumber, isThreadSafe: isThreadSafe, hasOption: options.contains)
  }

  @Test func acceptsLinkedAndOldestLibrary() {
    #expect(Database.libraryFault == nil && fault() == nil && fault(4_000_000) == nil)
  }

  @Test(arguments: [3_039_999, 3_037_000, 3_008_000, 2_000_000] as [Int32])
  func namesOlderVersion(_ number: Int32) {
    #expect(fault(number)?.contains("3.40.0 or later is required") == true)
  }

  @Test func namesCompileOptions() {
    #expect(fault(isThreadSafe: false)?.contains("THREADSAFE=0") == true)
    #expect(fault(with: [])?.contains("without ENABLE_FTS5") == true)
    for option in ["TEMP_STORE=0", "OMIT_JSON"] {
      #expect(fault(with: ["ENABLE_FTS5", option])?.contains(option) == true)
    }
  }

  @Test func openDatabaseKeepsMemoryStatistics() throws {
    let database = try emptyDatabase()
    #expect(!Database.disableMemoryStatistics())
    withExtendedLifetime(database) {}
  }
}
