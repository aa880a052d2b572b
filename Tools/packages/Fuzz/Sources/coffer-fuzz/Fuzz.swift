// The function that libFuzzer calls: one input for the target that COFFER_FUZZ names.
//
// Does: gives the bytes to a reader or writer, and traps if one of them breaks or two ways give different results.
// Knows: all modules of the library, also the internals of CofferSealing, as tests do. Does not know: the origin of the
// inputs, the duration of the run.

internal import Foundation

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  run(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}

private let run: @Sendable ([UInt8]) -> Void = {
  let name = ProcessInfo.processInfo.environment["COFFER_FUZZ"] ?? ""
  if let parser = Parser(rawValue: name) { return { readInDifferentWays($0, by: parser) } }
  return switch name {
  case "sqlite": readDatabase
  case "sinks": writeAndReadBack
  case "file-sinks": writeFilesAndReadBack
  case "key-line": readKeyLine
  case "slot": readSlot
  case "frame": readFrame
  case "header": openStore
  case "ring": readRing
  case "spare": readSpareCopy
  case "pin": readPinLine
  case "answer": readAnswer
  case "anchor": readAnchorLine
  case "query": queryStore
  case "index": readEditedIndexes
  case "words": searchForWords
  case "utf16": readUTF16
  default: fatalError("COFFER_FUZZ names no target: see Tools/harnesses/fuzz")
  }
}()

/// A directory for the files of this process.
let directory: String = {
  var template = Array("\(NSTemporaryDirectory())/coffer-fuzz-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { fatalError("no temporary directory") }
  return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}()

func write(_ bytes: [UInt8], to path: String) {
  guard (try? Data(bytes).write(to: URL(filePath: path))) != nil else { fatalError("cannot write \(path)") }
}

func bytes(of path: String) -> [UInt8] {
  guard let data = try? Data(contentsOf: URL(filePath: path)) else { fatalError("cannot read \(path)") }
  return [UInt8](data)
}

/// Takes an input apart into numbers and texts. At the end of the input, numbers are zero and texts empty.
struct Slices {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  mutating func number() -> Int64 {
    Int64(bitPattern: (0..<8).reduce(0 as UInt64) { value, _ in value << 8 | UInt64(byte()) })
  }

  /// As many bytes as the next one or two bytes say.
  mutating func part() -> [UInt8] {
    let first = Int(byte())
    let count = first < 0xF0 ? first : (first - 0xF0) << 8 | Int(byte())
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func all() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }

  /// A part whose invalid UTF-8 is replaced.
  mutating func text() -> String { String(decoding: part(), as: UTF8.self) }

  /// A name that a collection may have.
  mutating func name() -> String {
    let name = text()
    return (1...1024).contains(name.utf8.count) ? name : "documents"
  }
}
