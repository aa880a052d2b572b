extension TextDecoder {
  /// How many bytes of the stream have become output; the rest of ``bytesConsumed`` is the beginning of a character.
  package var bytesDecoded: Int { bytesConsumed - carry.count }
}
