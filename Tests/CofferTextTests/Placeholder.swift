import Testing

@Suite struct CofferTextPlaceholder {}
