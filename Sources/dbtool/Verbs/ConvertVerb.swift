internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import CofferText

/// `convert INPUT`: converts a text file to another encoding as a stream, without a store.
struct ConvertVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract: "Convert a text file to UTF-8, or between any known encodings.",
    discussion: """
      A byte order mark determines the input's encoding. Without a mark, the input is UTF-8 unless --from names \
      another encoding. The result goes to standard output or -o. In utf-8-bom and utf-16, it begins with a byte order \
      mark.

        dbtool convert phrases.txt -o phrases-utf8.txt
        dbtool convert old.txt --from windows-1251 > new.txt
        dbtool convert notes.txt --to utf-16 -o notes-utf16.txt
      """)

  enum OnError: String, CaseIterable, ExpressibleByArgument {
    case fail, replace

    var mode: CodingErrorMode { self == .fail ? .fail : .replace }
  }

  @Argument(help: "The text file, or '-' for standard input.", completion: .file())
  var input: String

  @Option(help: ArgumentHelp("The input's encoding.", valueName: "encoding"))
  var from: EncodingName = EncodingName(choice: .automatic)

  @Option(help: ArgumentHelp("The output's encoding.", valueName: "encoding"))
  var to = OutputEncodingName<AnyEncoding>(.utf8)

  @Option(
    name: .shortAndLong, help: ArgumentHelp("The output file, instead of standard output.", valueName: "path"),
    completion: .file())
  var output: String?

  @Option(help: ArgumentHelp("The action for bytes that aren't text.", valueName: "mode"))
  var onError: OnError = .fail

  @Flag(name: .shortAndLong, help: "Replace an existing output file.")
  var force = false

  @OptionGroup(title: "Everywhere") var common: CommonOptions

  func run() throws {
    let encoding = to.encoding
    let name = InputFile.described(input)
    let source = input == InputFile.standardInput ? STDIN_FILENO : open(input, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { throw Failure.system(errno, input) }
    if InputFile.isDirectory(input) { throw Failure.failed("\(input) is a directory") }
    let target = output == InputFile.standardInput ? nil : output
    if target == nil, encoding != .utf8, Terminal.standardOutputIsTerminal {
      throw Failure.usage("a terminal shows UTF-8, not \(encoding.rawValue)", hint: "write it to a file with -o")
    }
    let file = try target.map {
      try OutputFile(at: $0, isForced: force, inputs: [input], permissions: OutputFile.usualPermissions)
    }
    var conversion = Conversion(
      decoder: TextDecoder(from.choice, onError: onError.mode), encoding: encoding, addsMark: to.hasMark,
      onError: onError.mode)
    do {
      try Interrupt.deferring {
        try conversion.run(
          from: source, named: name, to: file.map { StandardOutput(to: $0) } ?? StandardOutput())
      }
    } catch let error as TextCodingError {
      throw Failure(error, in: name, head: conversion.head) { "--from \($0.rawValue)" }
    }
    try file?.commit()
  }
}
