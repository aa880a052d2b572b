import CofferDocuments
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    "", " ", "2026", "2026-11", "2026-11-21T", "2026-11-21 ", "2026-11-21T14:35:00+1", "2026-02-29", "20260229",
    "2026-13-01", "2026-00-01", "2026-01-00", "2026-1-1", "26-01-01", "2026-0101", "202601-01", "2026/01/01",
    "2026-01-01T24:00:01Z", "2026-01-01T24:01Z", "2026-01-01T25Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z",
    "2026-01-01T00:00:60Z", "2026-01-01T12:30:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx",
    " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60", "2026-01-01T1:00Z",
    "2026-01-01T00:00:00 +", "1767225600", "-1", "+2026-01-01", "+00202601-01", "nan", "NaN", "inf", "1e9",
    "２０２６-０１-０１", "2026-01-01T00:00:00\u{0}", "+-0002026-01-01",
  ])
  func rejectsInvalidTimestamps(text: String) {
    #expect(Timestamp.parse(iso8601: text.utf8) == .notADate)
    #expect(Timestamp(iso8601: text) == nil)
  }

  @Test(arguments: [
    "+010000-01-01T00:00:00Z", "-000001-12-31T23:59:59Z", "+292278994-08-17T07:12:55.807Z",
    "-292275055-05-16T16:47:04.192Z", "+055840-11-08T22:13:20.000Z", "+99999999999999999999999-01-01",
    "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T24:00Z", "9999-12-31T23:59:60Z",
  ])
  func namesYearsBeyondRange(text: String) {
    #expect(Timestamp.parse(iso8601: text.utf8) == .outOfRange)
    #expect(Timestamp(iso8601: text) == nil)
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00.000Z", 0), ("2026-11-21T14:35:00.123Z", 1_795_271_700_123),
      ("1969-12-31T23:59:59.999Z", -1), ("2024-02-29T12:00:00.000Z", 1_709_208_000_000),
      ("0000-01-01T00:00:00.000Z", Timestamp.earliest.millisecondsSince1970),
      ("9999-12-31T23:59:59.999Z", Timestamp.latest.millisecondsSince1970),
    ] as [(String, Int64)])
  func roundTripsTimestamps(text: String, milliseconds: Int64) {
    #expect(Timestamp(millisecondsSince1970: milliseconds).description == text)
    #expect(Timestamp(iso8601: text)?.millisecondsSince1970 == milliseconds)
  }

  @Test(
    arguments: [
      ("+010000-01-01T00:00:00.000Z", 253_402_300_800_000), ("-000001-12-31T00:00:00.000Z", -62_167_305_600_000),
      ("+292278994-08-17T07:12:55.807Z", .max), ("-292275055-05-16T16:47:04.192Z", .min),
    ] as [(String, Int64)])
  func describesEveryTimestamp(text: String, milliseconds: Int64) {
    let date = Timestamp(millisecondsSince1970: milliseconds)
    #expect(date.description == text)
    #expect(!date.isStorable)
  }

  /// Each form is 2015-03-25T07:59:00Z, plus the given milliseconds.
  @Test(
    arguments: [
      ("2015-03-25T07:59:42Z", 42_000), ("2015-03-25T07:59:42+0000", 42_000), ("2015-03-25T07:59:42+00:00", 42_000),
      ("2015-03-25T07:59:42+00", 42_000), ("2015-03-25T07:59:42-00:00", 42_000), ("2015-03-25t07:59:42z", 42_000),
      ("2015-03-25 07:59:42", 42_000), ("2015-03-25T07:59:42", 42_000), ("2015-03-25 07:59:42 +0000", 42_000),
      ("2015-03-25 07:59:42 UTC", 42_000), ("2015-03-25T11:59:42+04", 42_000), ("2015-03-25T13:29:42+05:30", 42_000),
      ("2015-03-25T13:29:42+0530", 42_000), ("2015-03-24T21:59:42-10", 42_000), ("2015-03-25T07:59Z", 0),
      ("2015-03-25 07:59", 0), ("2015-03-25T07:59:42.5Z", 42_500), ("2015-03-25T07:59:42,123456789Z", 42_123),
      ("2015-03-25T07:59:42.9999", 42_999), ("20150325T075942Z", 42_000), ("20150325T075942.25+0000", 42_250),
      ("20150325T0759", 0), ("20150325T075942", 42_000), ("2015-03-25T08+01", 3_600_000 - 59 * 60_000 - 3_600_000),
      ("2015-03-25", -(7 * 60 + 59) * 60_000), ("20150325", -(7 * 60 + 59) * 60_000),
      ("2015-03-24T24:00:00Z", -(7 * 60 + 59) * 60_000), ("2015-03-24T23:59:60Z", -(7 * 60 + 59) * 60_000),
      ("2015-03-25T01:59:60.5+02:00", 500 - (7 * 60 + 59) * 60_000),
      ("+002015-03-25T07:59:42Z", 42_000),
    ] as [(String, Int64)])
  func readsEveryForm(text: String, milliseconds: Int64) {
    #expect(Timestamp(iso8601: text)?.millisecondsSince1970 == 1_427_270_340_000 + milliseconds)
  }

  @Test func clampsToStorableDates() {
    for number in [Int64.min, Int64.min + 1, Timestamp.earliest.millisecondsSince1970 - 1] {
      #expect(Timestamp(clampingMilliseconds: number) == .earliest)
    }
    for number in [Int64.max, Int64.max - 1, Timestamp.latest.millisecondsSince1970 + 1] {
      #expect(Timestamp(clampingMilliseconds: number) == .latest)
    }
    #expect(Timestamp(clampingMilliseconds: -1) == Timestamp(millisecondsSince1970: -1))
  }
}
