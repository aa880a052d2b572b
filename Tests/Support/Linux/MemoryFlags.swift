import Foundation

/// The flags that the kernel shows for the mapping of this process at an address; "lo" means that it stays out of swap.
///
/// - Returns: nothing if no mapping is there.
package func memoryFlags(at address: UInt) throws -> [String] {
  var isInside = false
  // The kernel makes up the file as it is read, and gives its size as 0.
  let maps = try FileHandle(forReadingAtPath: "/proc/self/smaps")?.readToEnd() ?? Data()
  for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
    let words = line.split(separator: " ")
    let bounds = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    if bounds.count == 2 {
      isInside = bounds[0] <= address && address < bounds[1]
    } else if isInside, words[0] == "VmFlags:" {
      return words.dropFirst().map(String.init)
    }
  }
  return []
}
