// CofferFormats: files to documents and back, as streams.
//
// Does: detects a file's format, splits it into documents record by record (text, lines, CSV, TSV, JSON, NDJSON, property
//       lists, keyed archives, SQLite tables, a directory of texts), and writes documents to such files; memory does not
//       grow with the input, apart from a single record or property list.
// Knows: the grammars, the place of a fault in the input, read(2) and write(2), and the SHA-256 of attachments
//        (CofferSealing).
// Does not know: keys, the store, terminals. Encodings are CofferText's, the grammars of property lists
//       CofferPropertyLists' subject.
//
// Folders, each using only those before it: Bytes (sources and sinks of bytes), Records (the machinery of reading),
// Writing; then one for each family of formats (JSON, Texts, Delimited, PropertyLists, SQLite) with its sources and sinks;
// Opening (detection, and the one source for any input). All use Attachments, the contents in files beside texts and JSON,
// and the data that records hold.
//
// First files to read: Records/ParsedRecords.swift, then Delimited/DelimitedSource.swift; Writing/DocumentSink.swift.

@_exported public import struct CofferDocuments.DraftBatch
@_exported public import enum CofferText.TextEncoding
