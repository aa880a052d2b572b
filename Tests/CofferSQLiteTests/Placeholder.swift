import Testing

@Suite struct CofferSQLitePlaceholder {}
