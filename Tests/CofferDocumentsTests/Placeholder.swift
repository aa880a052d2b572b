import Testing

@Suite struct CofferDocumentsPlaceholder {}
