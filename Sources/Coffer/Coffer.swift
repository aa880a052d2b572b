// Coffer
