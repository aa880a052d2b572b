internal import CofferFormats
internal import Foundation

/// A database file of any bytes, read in place and through a copy; nothing of it may change, nothing appear beside it.
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
