// CofferFormats: files to documents and back, as streams.
//
// Does: tells what a file is, cuts it into documents record by record (text, lines, CSV, TSV, JSON, NDJSON, property
//       lists, keyed archives, a directory of texts), and writes documents out again; memory does not grow with the
//       input, that of a single record or property list excepted.
// Knows: the grammars, where in an input a fault is, read(2) and write(2).
// Does not know: keys, the store, terminals. Encodings are CofferText's business.
//
// First files to read: Reading/RecordReader.swift, then Delimited/DelimitedSource.swift; Writing/DocumentSink.swift.
