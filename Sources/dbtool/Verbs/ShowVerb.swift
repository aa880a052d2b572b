internal import ArgumentParser
internal import Coffer

/// `show STORE NAME…`: prints texts byte for byte.
struct ShowVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Print texts by id, key or title.",
    discussion: """
      Prints the exact stored bytes, one text after the other, without additions. On a terminal, control characters \
      are escaped. If a document is missing, nothing is printed.

        dbtool show texts.coffer 17
        dbtool show texts.coffer n-42 Greeting
        dbtool show texts.coffer 17-20 --json
        dbtool show texts.coffer -c notes 'Plan*'
        dbtool show texts.coffer 17 --attachment scan.pdf > scan.pdf
      """)

  @OptionGroup var options: StoreOptions
  @OptionGroup var selection: DocumentSelection

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Print the contents of this attachment instead.", valueName: "name"))
  var attachment: String?

  func validate() throws {
    if let format = options.common.listFormat, format != .json, format != .ndjson {
      throw ValidationError(
        "'show' makes no \(format.rawValue): it prints texts, or objects with --format json or ndjson")
    }
  }

  func run() throws {
    let store = try options.open(readOnly: true)
    if let attachment {
      try store.read { reader in
        let headers = try selection.words.existing(in: reader, of: store)
        guard headers.count == 1 else { throw DocumentWords.ambiguous("that name", headers) }
        let found = try AttachmentWords(words: [attachment]).existing(of: headers[0], in: reader)
        try StandardOutput.write(found[0], of: reader)
      }
      return try store.close()
    }
    let output = StandardOutput(readsAhead: true)
    let isJSON = options.common.listFormat == .json || options.common.listFormat == .ndjson
    try store.read { reader in
      let headers = try selection.words.existing(in: reader, of: store)
      let names = isJSON ? try Collections.names(in: reader) : [:]
      for header in headers {
        try reader.withText(of: header.id) { opened in
          if isJSON {
            let attachments = try opened.header.attachmentCount > 0 ? reader.attachments(of: header.id) : []
            try output.write(line: Self.json(of: opened, attachments, in: names).serialized, isJSON: true)
          } else {
            try Self.write(opened.utf8, to: output)
          }
        }
      }
    }
    try store.close()
    try output.flush()
  }

  /// Writes the exact bytes. On a terminal, adds a missing line end.
  private static func write(_ text: UnsafeRawBufferPointer, to output: StandardOutput) throws {
    try output.write(text)
    if output.isTerminal, text.last != UInt8(ascii: "\n") {
      try output.write("\n")
    }
  }

  private static func json(
    of opened: OpenedDocument, _ attachments: [Attachment], in names: [CollectionID: String]
  ) -> JSONValue {
    let collection = names[opened.header.collection] ?? opened.header.collection.description
    return .object(
      present: HeaderField.allCases.map { field in
        // Replace the text's size and the number of attachments with the text and the attachments.
        switch field {
        case .size: ("text", .string(opened.text))
        case .attachments: (field.rawValue, attachments.isEmpty ? nil : AttachmentField.json(of: attachments))
        default: (field.rawValue, field.value(in: opened.header, of: collection))
        }
      })
  }
}
