// CofferPropertyLists: XML and binary property lists, and their keyed archives, read as JSON.
//
// Does: checks an entire property list once, finds its records (rows, top objects, or a single value), and writes each
//       record as JSON when the caller asks for it. In addition to the file, it needs only a few words of memory for
//       each record.
// Knows: Apple's two property list formats, the part of XML 1.0 that they need, NSKeyedArchiver's object table.
// Doesn't know: documents, column mappings, encodings (XML must be UTF-8), files. CofferFormats writes property lists.
//
// First file to read: PropertyList.swift, which contains everything that other modules use.
