import Coffer
import CofferSQLite
import Foundation
import Testing

/// Byte strings that must be gone from a store, and a search for all of them in one pass.
struct Residue {
  /// The searched byte strings by their first eight bytes.
  private var needles: [UInt64: Set<Data>] = [:]

  /// - Parameter bytes: At least eight bytes.
  mutating func add(_ bytes: Data) {
    precondition(bytes.count >= 8)
    needles[bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }, default: []].insert(Data(bytes))
  }

  /// Adds the unique bytes of every sealed value in the store, which are the nonces and tags of heads, bodies, names,
  /// state and keyring, the wrapped keys with their parameters, and the lookup values.
  mutating func addSealedValues(of database: Database) throws {
    func columns(_ sql: String) throws -> [Data] {
      try database.query(sql).rows.flatMap(\.values).compactMap { value in
        if case .blob(let bytes) = value, bytes.count >= 8 { Data(bytes) } else { nil }
      }
    }
    for blob in try columns(
      """
      SELECT head FROM coffer_record UNION ALL SELECT sealed FROM coffer_collection
      UNION ALL SELECT sealed FROM coffer_state UNION ALL SELECT keyring FROM coffer_header
      UNION ALL SELECT wrapped FROM coffer_slot UNION ALL SELECT lookup FROM coffer_record
      UNION ALL SELECT substr(body_nt, 1, 24) FROM coffer_record UNION ALL SELECT substr(body_nt, 25) FROM coffer_record
      UNION ALL SELECT substr(body, 1, 32) FROM coffer_record UNION ALL SELECT substr(body, -32) FROM coffer_record
      UNION ALL SELECT substr(ct, 1, 32) FROM coffer_body UNION ALL SELECT substr(ct, -32) FROM coffer_body
      UNION ALL SELECT mac FROM coffer_header UNION ALL SELECT rk_commit FROM coffer_header
      UNION ALL SELECT params FROM coffer_slot
      """)
    {
      add(blob.prefix(24))
      add(blob.suffix(16))
    }
  }

  /// Returns the number of searched byte strings in `data`.
  func count(in data: Data) -> Int {
    var found: Set<Data> = []
    data.withUnsafeBytes { bytes in
      // Compare the first two bytes with a table, because this skips most offsets.
      var isStart = [Bool](repeating: false, count: 1 << 16)
      for word in needles.keys { isStart[Int(UInt16(truncatingIfNeeded: word))] = true }
      guard bytes.count >= 8 else { return }
      for index in 0...bytes.count - 8
      where isStart[Int(bytes.loadUnaligned(fromByteOffset: index, as: UInt16.self))] {
        for needle in needles[bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)] ?? []
        where index + needle.count <= bytes.count && needle.elementsEqual(bytes[index..<index + needle.count]) {
          found.insert(needle)
        }
      }
    }
    return found.count
  }
}
