// CofferText: bytes to text and back.
//
// Does: detects a text's encoding by its byte order mark, decodes UTF-16, UTF-8 and code pages to UTF-8, and encodes
//       UTF-8 to them; in chunks of any size, into buffers that the caller owns, strictly or with U+FFFD. Folds case; decomposes and
//       composes characters (NFC).
// Knows: the Unicode encodings, the code pages of the Unicode consortium's tables, WHATWG's rules of replacement.
// Does not know: files, lines, documents, keys. Imports only its own kernel in C. Transcoding makes no String.
//
// First file to read: TextDecoder.swift. The loops that do the work are in the folder Transcoders.
