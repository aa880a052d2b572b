// CofferDocuments: the values that every other room passes on.
//
// Does: names what a document is (id, title, text, key, attributes, dates), what a list shows of it, where it is
//       placed, how a title is made when none is given, and the batch in which documents travel in bulk.
// Knows: JSON as bytes (folder JSON), because attributes are a JSON object. Imports nothing, Foundation included.
// Does not know: files, encodings, keys, SQL.
//
// First file to read: Document.swift.
