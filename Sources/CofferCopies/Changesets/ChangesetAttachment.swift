internal import CofferEngine
internal import CofferRecords
internal import CofferSealing

/// A changeset's entry for an attachment, before its content.
struct ChangesetAttachment {
  let document: Int64
  var description: AttachmentBuilder.Description
  let byteCount: Int
  let digest: TextDigest
  /// Whether the content follows, in entries of their own.
  let carriesContent: Bool
  /// Whether an entry of a later version must be understood.
  private(set) var isNewer = false

  init(_ record: AttachmentRecord, carriesContent: Bool) {
    document = record.document
    description = AttachmentBuilder.Description(record)
    byteCount = record.chunks.byteCount
    digest = record.digest
    self.carriesContent = carriesContent
  }

  var bytes: [UInt8] {
    var builder = ByteBuilder(reserving: 200)
    builder.append(document)
    builder.append(description.uid)
    builder.append(description.born)
    builder.append(description.nameDot)
    builder.append(description.date)
    builder.append(counted: description.name)
    builder.append(counted: description.mediaType)
    builder.append(UInt64(byteCount))
    builder.append(bytes: digest.bytes)
    builder.append(UInt8(carriesContent ? 1 : 0))
    builder.append(bytes: description.extensionBytes)
    return builder.bytes
  }

  /// Reads ``bytes``, or returns `nil` for invalid ones.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let document: Int64 = reader.integer(), document >= 1, let uid = reader.uniqueID(), let born = reader.dot(),
      let nameDot = reader.dot(), let date: Int64 = reader.integer(), Timestamp(millisecondsSince1970: date).isStorable,
      let name = reader.text(StoreFormat.attachmentNames), let mediaType = reader.text(StoreFormat.mediaTypes),
      AttachmentRecord.isMediaType(mediaType), let byteCount: UInt64 = reader.integer(),
      byteCount <= UInt64(ChunkLayout.maximumByteCount), let digest = reader.bytes(TextDigest.byteCount),
      let mark: UInt8 = reader.integer(), mark <= 1, let rest = reader.bytes(reader.remaining),
      let part = ExtensionPart(rest, of: .attachment)
    else { return nil }
    self.document = document
    description = AttachmentBuilder.Description(
      uid: uid, born: born, nameDot: nameDot, name: name, mediaType: mediaType, date: date)
    description.extensionBytes = Array(part.bytes)
    self.byteCount = Int(byteCount)
    self.digest = TextDigest(bytes: digest)
    carriesContent = mark == 1
    isNewer = part.isNewer
  }
}
