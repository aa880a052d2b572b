import CofferDocuments
import Testing

@testable import CofferFormats

/// The rule of which texts and numbers are dates, which every format applies.
@Suite struct DateReaderTests {
  private typealias Unit = ColumnMapping.NumericDates

  private static func read(_ text: String, _ unit: ColumnMapping.NumericDates?) -> Result<Timestamp, DateFault> {
    var reader = DateReader(unit: unit)
    return Array(text.utf8).withUnsafeBytes { bytes in Result { () throws(DateFault) in try reader.read(bytes) } }
  }

  @Test(
    arguments: [
      ("2015-03-25T07:59:42+0000", nil, 1_427_270_382_000), (" 2015-03-25T07:59:42Z\t", nil, 1_427_270_382_000),
      ("2015-03-25T07:59:42.123Z", nil, 1_427_270_382_123), ("20240107", nil, 1_704_585_600_000),
      ("1704651840", nil, 1_704_651_840_000), ("1704651840.5", nil, 1_704_651_840_500),
      ("1.70465184e9", nil, 1_704_651_840_000), ("631152000", nil, 631_152_000_000),
      ("4102444800", nil, 4_102_444_800_000), ("+1704651840", nil, 1_704_651_840_000),
      ("1704651840123", .unixMilliseconds, 1_704_651_840_123),
      ("1704651840123456", .unixMicroseconds, 1_704_651_840_123),
      ("1704651840123500", .unixMicroseconds, 1_704_651_840_124), ("13349125440123456", .chrome, 1_704_651_840_123),
      ("726344640", .apple, 1_704_651_840_000), ("0", .unix, 0), ("-0", .unix, 0), ("-1.5", .unix, -1_500),
      ("20240107", .unix, 20_240_107_000), ("0", .apple, 978_307_200_000), ("2024-01-07", .chrome, 1_704_585_600_000),
      ("0", .chrome, -11_644_473_600_000),
    ] as [(String, ColumnMapping.NumericDates?, Int64)])
  func readsDates(text: String, unit: ColumnMapping.NumericDates?, milliseconds: Int64) {
    #expect(Self.read(text, unit) == .success(Timestamp(millisecondsSince1970: milliseconds)))
  }

  @Test(
    arguments: [
      ("1704651840123", [.unixMilliseconds]), ("1704651840123456", [.unixMicroseconds]),
      ("13349125440123456", [.chrome]), ("473385600", [.unix, .apple]), ("20240107182400", []),
      ("631151999", [.unix, .apple]),
      ("4102444801", [.unix]), ("2024", [.unix, .apple]),
    ] as [(String, [ColumnMapping.NumericDates])])
  func numberWithoutUnitNamesPlausibleUnits(text: String, units: [ColumnMapping.NumericDates]) {
    #expect(Self.read(text, nil) == .failure(.needsUnit(units)))
    for unit in units {
      guard case .success = Self.read(text, unit) else {
        Issue.record("\(unit.rawValue) doesn't cure \(text)")
        continue
      }
    }
  }

  @Test(arguments: [nil] + ColumnMapping.NumericDates.allCases)
  func rejectsOtherTexts(unit: ColumnMapping.NumericDates?) {
    for text in [
      "", " ", "\t \t", "nan", "-nan", "inf", "-inf", "infinity", "0x10", "1_000", "1,5", "--1", "1e", "e", ".", "+",
      "-",
      "7.1.2024", "01/07/2024", "yesterday", "2024-01-07T", "١٧٠٤٦٥١٨٤٠", "\0", "null", "true",
      String(repeating: "9", count: 1000),
    ] {
      #expect(Self.read(text, unit) == .failure(.notADate), "\(text)")
    }
  }

  /// The ends of every bound, one beyond each, and the ends of the numbers that hold them.
  @Test(arguments: [nil] + ColumnMapping.NumericDates.allCases)
  func readsExtremesWithoutTrapping(unit: ColumnMapping.NumericDates?) {
    var integers: [Int64] = [.min, .min + 1, .max, .max - 1, 0, 1, -1]
    let bounds: [Int64] = [
      Timestamp.earliest.millisecondsSince1970, Timestamp.latest.millisecondsSince1970, -62_167_219_200,
      253_402_300_799,
      631_152_000, 4_102_444_800, Int64(1) << 53,
    ]
    for bound in bounds {
      for factor in [1, 1000, -1] as [Int64] {
        for offset in [-1, 0, 1] as [Int64] { integers.append(bound &* factor &+ offset) }
      }
    }
    let reader = DateReader(unit: unit)
    func expectStorable(_ result: Result<Timestamp, DateFault>) {
      if case .success(let date) = result { #expect(date.isStorable) }
    }
    for integer in integers {
      expectStorable(Result { () throws(DateFault) in try reader.read(integer) })
      expectStorable(Self.read("\(integer)", unit))
      expectStorable(Self.read("\(integer)0", unit))
    }
    for number in integers.map(Double.init) + [
      .nan, .infinity, -.infinity, -0.0, 1e308, -1e308, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.5, 1e18,
      -1e18,
      9.223372036854775e18,
    ] {
      expectStorable(Result { () throws(DateFault) in try reader.read(number) })
      expectStorable(Self.read("\(number)", unit))
    }
  }

  @Test(arguments: [
    ("253402300800", ColumnMapping.NumericDates.unix), ("-62167219201", .unix), ("1e308", .unix), ("-1e308", .apple),
    ("9223372036854775807", .unixMilliseconds), ("-9223372036854775808", .unixMicroseconds),
    ("99999999999999999999", .chrome), ("+010000-01-01T00:00:00Z", .unix),
  ])
  func namesDatesBeyondRange(text: String, unit: ColumnMapping.NumericDates) {
    #expect(Self.read(text, unit) == .failure(.outOfRange))
  }

  @Test func readsEveryUnitName() {
    for unit in ColumnMapping.NumericDates.allCases {
      #expect(ColumnMapping(parsing: "dates=\(unit.rawValue)")?.dates == unit)
    }
    #expect(
      Set(ColumnMapping.NumericDates.allCases.map(\.rawValue)) == ["unix", "unix-ms", "unix-us", "chrome", "apple"])
  }

  /// The writer's form is read back, also where documents of one day follow each other.
  @Test func roundTripsWrittenDates() {
    var (writer, reader) = (DateWriter(), DateReader(unit: nil))
    for day in [Timestamp.earliest, .latest, Timestamp(millisecondsSince1970: -1), Timestamp(millisecondsSince1970: 0)]
    {
      for offset in [0, 1, -1, 86_399_999, -86_400_000] as [Int64] {
        let date = Timestamp(clampingMilliseconds: day.millisecondsSince1970 + offset)
        var bytes: [UInt8] = []
        writer.append(date, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == date.description)
        let read = bytes.withUnsafeBytes { text in Result { () throws(DateFault) in try reader.read(text) } }
        #expect(read == .success(date))
      }
    }
  }
}
