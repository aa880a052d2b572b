// CofferPatterns: finds a pattern in a text's bytes.
//
// Does: parses regular expressions, compiles a pattern to an automaton, and runs it over UTF-8 in a time that depends
//       only on the text. Finds literal texts by scanning 16 positions at a time. Finds texts by characters, ignoring
//       case, diacritics or composition.
// Knows: the syntax of expressions, full case folding, which scalars are letters and spaces.
// Doesn't know: documents, stores, keys. It doesn't create Strings from searched texts.
//
// First file to read: Pattern.swift, then PatternMatcher.swift, LazyAutomaton.swift and CharacterSearch.swift.
