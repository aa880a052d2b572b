// CofferTerminal: the terminal and the text on it.
//
// Does: reads keys in raw mode, shows the alternate screen and restores the terminal when the process stops or ends,
//       measures and wraps text, escapes control characters, and writes only the rows that changed.
// Knows: the settings and signals of terminals (FullScreen, Echo, Suspension), the escape sequences of xterm
//        (TerminalKeys, Canvas), and how many columns a character takes (displayWidth).
// Doesn't know: stores, documents, options and the messages of the program. The rest of the package doesn't use it,
//               except for CofferBrowser and dbtool.
//
// First file to read: Terminal.swift, then FullScreen.swift and ShownText.swift.
