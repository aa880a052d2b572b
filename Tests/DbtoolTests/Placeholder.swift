import Testing

@Suite struct DbtoolPlaceholder {}
