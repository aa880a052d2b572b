internal import ArgumentParser

/// The options that can precede the verb: options of every verb, store options and key options.
struct LeadingOptions: ParsableArguments {
  @OptionGroup var common: CommonOptions
  @OptionGroup var access: StoreAccess
  @OptionGroup var keys: KeyOptions<StoreFamily>
  @OptionGroup var permissions: KeyPermissions

  /// Returns the arguments with leading options moved after the verb. Other options remain unchanged.
  static func behindVerb(_ arguments: [String]) -> [String] {
    guard arguments.first?.hasPrefix("-") == true else { return arguments }
    // The verb is the first word that isn't an option's value. The words before it can be parsed separately.
    let words = arguments.prefix { $0 != "--" }
    let place = words.indices.first { index in
      !words[index].hasPrefix("-") && (try? parse(Array(words[..<index]))) != nil
    }
    guard let place else { return arguments }
    let name = arguments[place]
    let rest = arguments[(place + 1)...]
    let second = Dbtool.isGroup(name) && rest.first?.hasPrefix("-") == false ? rest.prefix(1) : []
    return [name] + second + arguments[..<place] + rest.dropFirst(second.count)
  }
}
