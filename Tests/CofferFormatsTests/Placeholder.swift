import Testing

@Suite struct CofferFormatsPlaceholder {}
