// CofferDocuments: the values that all other modules pass on.
//
// Does: defines documents (id, title, text, key, attributes, dates), their headers and placement, the rule that derives
//       titles, and the batch that carries documents in bulk.
// Knows: JSON as bytes (folder JSON), because attributes are a JSON object, and the small tools that every module may
//        need (folder Basics: Base64, hexadecimal, UTF-8, binary search). Imports nothing, Foundation included.
// Does not know: files, encodings, keys, SQL.
//
// First file to read: Document.swift.
