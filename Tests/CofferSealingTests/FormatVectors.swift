import CofferSealing
import Foundation
import Testing

/// The values of FORMAT.md in Fixtures/format-3/primitives.json, computed by two implementations that don't share code
/// with this package.
struct FormatVectors: Decodable {
  static func load() throws -> FormatVectors {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = tests.appendingPathComponent("Fixtures/format-3/primitives.json")
    return try JSONDecoder().decode(FormatVectors.self, from: Data(contentsOf: file))
  }

  var storeID, rk, ek: Hex
  var epoch: UInt32
  var rkKeys, ekKeys: [String: Hex]
  var commitments: [Commitment]
  var pae: [PAE]
  var slots: [Slot]
  var x25519AllZero: Point
  var keyring: SealedKeyring
  var header: Header
  var frames: [SoundFrame]
  var framesRefused: [BrokenFrame]
  var records: [Record]
  var accOfThreeRecords, accWithCollection: Hex
  var collection, deletion: Collection
  var attachments: [Attachment]
  var state: State
  var mark: Hex
  var anchor, pin: String
  var keyLines: KeyLines

  var root: RootKey { RootKey(secret: Secret(rk.bytes), storeID: storeID.bytes, generation: header.generation) }
  var epochKeys: EpochKeys {
    get throws { try EpochKeys(epoch: epoch, root: Secret(ek.bytes), storeID: storeID.bytes) }
  }

  struct Commitment: Decodable {
    var generation, phase: UInt64
    var commitment: Hex

    enum CodingKeys: String, CodingKey {
      case generation = "rk_generation"
      case phase, commitment
    }
  }

  struct PAE: Decodable {
    var parts: [Hex]
    var out: Hex
  }

  struct Slot: Decodable {
    var slot, kind: UInt32
    var params, kek, wrapped: Hex
    var label: String
    var test: Bool?
    var passphrase, passphraseNFD: String?
    var keyLine, identityLine, recipientLine: String?
    var ephemeralSecret, shared, answer, fingerprint: Hex?

    var record: KeySlotRecord {
      KeySlotRecord(slot: slot, kind: kind, label: label, parameters: params.bytes, wrapped: wrapped.bytes)
    }

    enum CodingKeys: String, CodingKey {
      case slot, kind, params, kek, wrapped, label, test, passphrase, shared, answer, fingerprint
      case passphraseNFD = "passphrase_nfd"
      case keyLine = "key_line"
      case identityLine = "identity_line"
      case recipientLine = "recipient_line"
      case ephemeralSecret = "ephemeral_secret"
    }
  }

  struct Point: Decodable {
    var `public`: Hex
  }

  struct SealedKeyring: Decodable {
    struct Entry: Decodable {
      var epoch: UInt32
      var closed, ceiling, floor: UInt64

      var bounds: EpochBounds { EpochBounds(closed: closed, ceiling: ceiling, floor: floor) }
    }

    var phase: UInt64
    var active: UInt32
    var epochs: [String: Hex]
    var entries: [Entry]
    var aad, plain, sealed: Hex
  }

  struct Header: Decodable {
    var generation, phase: UInt64
    var macInput, mac: Hex

    enum CodingKeys: String, CodingKey {
      case generation = "rk_generation"
      case macInput = "mac_input"
      case phase, mac
    }
  }

  struct SoundFrame: Decodable {
    var length, padme, least64, least128, unpadded: Int
    var sha256: Hex
    var frame64: Hex?

    enum CodingKeys: String, CodingKey {
      case length, padme, unpadded
      case least64 = "padded_least_64"
      case least128 = "padded_least_128"
      case sha256 = "sha256_padded_64"
      case frame64 = "frame_64"
    }
  }

  struct BrokenFrame: Decodable {
    var why: String
    var padded: Bool
    var least: Int
    var frame: Hex
  }

  struct Seal: Decodable {
    var aad, frame, nonce, ciphertext, tag: Hex

    var blob: [UInt8] { nonce.bytes + ciphertext.bytes + tag.bytes }

    enum CodingKeys: String, CodingKey {
      case aad, frame
      case nonce = "N"
      case ciphertext = "C"
      case tag = "T"
    }
  }

  struct Record: Decodable {
    var coll: UInt32
    var text: String
    var externalKey, lookup: Hex?
    var body, head: Seal
    var element, h, lanesSHA256: Hex

    enum CodingKeys: String, CodingKey {
      case coll, text, lookup, body, head, element, h
      case externalKey = "external_key"
      case lanesSHA256 = "lanes_sha256"
    }
  }

  struct Collection: Decodable {
    var aad, frame, sealed, element, h, lanesSHA256: Hex

    enum CodingKeys: String, CodingKey {
      case aad, frame, sealed, element, h
      case lanesSHA256 = "lanes_sha256"
    }
  }

  struct Attachment: Decodable {
    struct Key: Decodable {
      var first: Int
      var key: Hex
    }
    struct Chunk: Decodable {
      var aad, ct: Hex
      var plainSHA256: Hex

      enum CodingKeys: String, CodingKey {
        case aad, ct
        case plainSHA256 = "plain_sha256"
      }
    }

    var padded: Bool
    var length, size, chunkSize: Int
    var sha256, data, aad, frame, sealed, element, h, lanesSHA256: Hex
    var keys: [Key]
    var chunks: [Chunk]

    enum CodingKeys: String, CodingKey {
      case padded, length, size, sha256, data, aad, frame, sealed, element, h, keys, chunks
      case chunkSize = "chunk_size"
      case lanesSHA256 = "lanes_sha256"
    }
  }

  struct State: Decodable {
    var accWithDeletion, plain, aad, sealed: Hex

    enum CodingKeys: String, CodingKey {
      case accWithDeletion = "acc_with_deletion"
      case plain, aad, sealed
    }
  }

  struct KeyLines: Decodable {
    struct Valid: Decodable {
      var line, kind: String
      var test: Bool
      var bytes: Hex
    }
    struct ValidFile: Decodable {
      var file: String
      var bytes: Hex
    }
    struct Invalid: Decodable {
      var why, file: String
    }
    var valid: [Valid]
    var validFiles: [ValidFile]
    var invalid: [Invalid]

    enum CodingKeys: String, CodingKey {
      case valid, invalid
      case validFiles = "valid_files"
    }
  }

  enum CodingKeys: String, CodingKey {
    case rk, ek, epoch, commitments, pae, slots, keyring, header, frames, records, collection, deletion, attachments
    case state, mark, anchor, pin
    case storeID = "store_id"
    case rkKeys = "rk_keys"
    case ekKeys = "ek_keys"
    case x25519AllZero = "x25519_all_zero"
    case framesRefused = "frames_refused"
    case accOfThreeRecords = "acc_of_three_records"
    case accWithCollection = "acc_with_collection"
    case keyLines = "key_lines"
  }
}
