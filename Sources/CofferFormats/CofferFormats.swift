// CofferFormats: files to documents and back, as streams.
//
// Does: detects a file's format, splits the file into documents record by record (text, lines, CSV, TSV, JSON, NDJSON,
//       property lists, keyed archives, SQLite tables, a directory of texts), and writes documents to such files.
//       Memory usage depends on the largest record or property list rather than on the input's size.
// Knows: the grammars, a fault's position in the input, read(2) and write(2), and the SHA-256 of attachments
//        (CofferSealing).
// Doesn't know: keys, the store, terminals. CofferText provides the encodings, and CofferPropertyLists the grammars of
//        property lists.
//
// Folders, each using only the previous folders: Bytes (byte sources and sinks), Records (common code for reading),
// Writing, a folder for each family of formats (JSON, Texts, Delimited, PropertyLists, SQLite) with its sources and
// sinks, and Opening (detection, and a single source for any input). All use Attachments, for content files next to
// texts and JSON, and for data in records.
//
// First files to read: Records/ParsedRecords.swift, then Delimited/DelimitedSource.swift and
// Writing/DocumentSink.swift.

@_exported public import struct CofferDocuments.DraftBatch
@_exported public import enum CofferText.TextEncoding
