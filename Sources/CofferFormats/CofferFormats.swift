// CofferFormats
