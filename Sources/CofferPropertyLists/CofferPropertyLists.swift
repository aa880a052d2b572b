// CofferPropertyLists: property lists, XML and binary, and the keyed archives in them, read as JSON.
//
// Does: checks a whole property list once, finds its records (rows, top objects, or the one value), and writes each
//       record as JSON when the caller asks for it; memory beyond the file is a few words for each record.
// Knows: Apple's two property list formats, the part of XML 1.0 that they need, NSKeyedArchiver's object table.
// Does not know: documents, column mappings, encodings (XML must be UTF-8), files. Writing is CofferFormats' work.
//
// First file to read: PropertyList.swift, which is all that other modules use.
