// CofferTextTests: tests CofferText with WHATWG's and Unicode's rules and with the shared corpora.
//
// Does: checks small vectors with every split into chunks, random bytes with the standard library's decoders, and
//       whole files with their manifests.
// Knows: the folder of the shared corpora (Corpora.swift). Tests that require missing corpora are skipped.
// Does not know: performance.
