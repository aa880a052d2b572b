// CofferDocuments: the values that all other modules exchange.
//
// Does: defines documents (id, title, text, key, attributes, dates), their headers and placement, the rule that derives
//       titles, and the batch that carries documents in bulk.
// Knows: JSON as bytes (folder JSON), because attributes are a JSON object, and small tools for all modules (folder
//        Basics: Base64, hexadecimal, UTF-8, binary search). Doesn't import other modules, not even Foundation.
// Doesn't know: files, encodings, keys, SQL.
//
// First file to read: Document.swift.
