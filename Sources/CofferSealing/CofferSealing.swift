// CofferSealing: keys and cryptography.
//
// Does: holds secret bytes in locked memory, derives keys, seals and opens with XAES-256-GCM, wraps the root key in
//       slots, keeps the keyring of epochs, sums the set hash, reads key files, normalizes passphrases (NFC). The only
//       room with OpenSSL or swift-crypto, each in a folder with the same few types.
// Knows: FORMAT, "Conventions", "Primitives", "Keys", "Keyring", "Slots", "Key files, pin, anchor" and "Set hash".
// Does not know: rows, SQL, documents, files of data.
//
// First file to read: XAESKey.swift; then RootKey.swift and KeySlotRecord.swift.
