import Testing

@Suite struct CofferPlaceholder {}
