// CofferText: bytes to text and back.
//
// Does: detects a text's encoding by its byte order mark, decodes UTF-16, UTF-8 and code pages to UTF-8, and encodes
//       UTF-8 to them. Chunks can have any size, the caller owns the output buffers, and invalid bytes are errors or
//       become U+FFFD. Folds case, decomposes and composes characters (NFC).
// Knows: the Unicode encodings, the code pages in the Unicode consortium's tables, WHATWG's rules for replacement.
// Doesn't know: files, lines, documents, keys. Imports only its own C kernel. Transcoding doesn't create Strings.
//
// First file to read: TextDecoder.swift. The inner loops are in the folder Transcoders.
