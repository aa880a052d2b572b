// CofferTextTests: what CofferText promises, by WHATWG's and Unicode's rules and by the shared corpora.
//
// Does: small vectors in the tests themselves; every split of them into chunks; random bytes against the standard
//       library's decoders; whole files by their manifests.
// Knows: where the shared corpora are (Support/Corpora.swift); tests that need them are skipped where they are absent.
// Does not know: how fast it all is.
