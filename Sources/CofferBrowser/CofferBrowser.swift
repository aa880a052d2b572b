// CofferBrowser: a store on the whole terminal.
//
// Does: shows collections, titles and texts, follows changes by other processes, and searches, sorts, edits and locks
//       when the user presses a key.
// Knows: the visible rows and the marked row (Browser, DocumentList), which key does what (Browser+Keys), and how to
//        read keys while another process holds the store (LockProbe). CofferTerminal draws the rows.
// Doesn't know: options, store keys, editors and error messages, because the program passes closures for them
//               (BrowserProgram).
//
// First file to read: Browser.swift, then Browser+Keys.swift.
