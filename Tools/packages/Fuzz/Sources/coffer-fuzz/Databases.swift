internal import CofferFormats
internal import Foundation

/// Reads a database file of any bytes in place and through a copy. Reading must not change it or make a file beside it.
func readDatabase(_ input: [UInt8]) {
  let path = "\(directory)/source.db"
  write(input, to: path)
  let direct = Reading(SQLiteSource(path: path), of: input)
  let copied = Reading(SQLiteSource(copying: MemoryByteSource(input)), of: input)
  precondition(direct == copied, "a copy is read in another way")
  let skipping = Reading(SQLiteSource(path: path, options: ReadingOptions(onError: .skip)), of: input)
  if direct.error == nil {
    precondition(skipping == direct, "skipping bad rows changes what is good")
  } else {
    precondition(skipping.texts.starts(with: direct.texts), "skipping bad rows loses good ones")
  }
  precondition(bytes(of: path) == input, "the source was changed")
  let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
  precondition(names == ["source.db"], "something was left beside the source")
}
