import CofferDocuments
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    "", "2026-11-21", "2026-11-21T14:35:00", "2026-11-21T14:35:00+1", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx", " 2026-01-01T00:00:00Z",
    "26-01-01T00:00:00Z", "2026-1-1T00:00:00Z", "+292278994-08-17T07:12:55.808Z", "+999999999-01-01T00:00:00Z",
    "-292275055-05-16T16:47:04.191Z", "+1000000000-01-01T00:00:00Z",
  ])
  func rejectsInvalidTimestamps(text: String) {
    #expect(Timestamp(iso8601: text) == nil)
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00.000Z", 0), ("2026-11-21T14:35:00.123Z", 1_795_271_700_123),
      ("1969-12-31T23:59:59.999Z", -1), ("2024-02-29T12:00:00.000Z", 1_709_208_000_000),
      ("+010000-01-01T00:00:00.000Z", 253_402_300_800_000), ("-000001-12-31T00:00:00.000Z", -62_167_305_600_000),
      ("+292278994-08-17T07:12:55.807Z", .max), ("-292275055-05-16T16:47:04.192Z", .min),
    ] as [(String, Int64)])
  func roundTripsTimestamps(text: String, milliseconds: Int64) {
    #expect(Timestamp(millisecondsSince1970: milliseconds).description == text)
    #expect(Timestamp(iso8601: text)?.millisecondsSince1970 == milliseconds)
  }

  @Test func appliesZonesAndFractions() {
    #expect(Timestamp(iso8601: "1970-01-01T02:00:00+02:00")?.millisecondsSince1970 == 0)
    #expect(Timestamp(iso8601: "1969-12-31T19:00:00.5-05:00")?.millisecondsSince1970 == 500)
    #expect(Timestamp(iso8601: "1970-01-01 00:00:00.1239z")?.millisecondsSince1970 == 123)
  }
}
