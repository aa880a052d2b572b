internal import ArgumentParser

/// The options that may be in front of the verb: those of every verb, of every store, and of keys.
struct LeadingOptions: ParsableArguments {
  @OptionGroup var common: CommonOptions
  @OptionGroup var access: StoreAccess
  @OptionGroup var keys: KeyOptions<StoreFamily>
  @OptionGroup var permissions: KeyPermissions

  /// The arguments with leading options moved behind the verb; unchanged if they are none of these.
  static func behindVerb(_ arguments: [String]) -> [String] {
    guard arguments.first?.hasPrefix("-") == true else { return arguments }
    // The verb is the first word that is no option's value: what is in front of it can be parsed by itself.
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
