import Testing

@Suite struct CofferSealingPlaceholder {}
