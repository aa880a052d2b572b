// CofferPatterns: finds a pattern in the bytes of a text.
//
// Does: parses regular expressions, compiles a pattern to an automaton, and runs it over UTF-8 in a time that grows with
//       the text only; finds literal texts by scanning 16 places at once;
//       finds texts by characters, with case, diacritics or composition ignored.
// Knows: the syntax of expressions, full case folding, which scalars are letters and spaces.
// Does not know: documents, stores, keys. It makes no String of a text that it searches.
//
// First file to read: Pattern.swift; then PatternMatcher.swift, LazyAutomaton.swift and CharacterSearch.swift.
