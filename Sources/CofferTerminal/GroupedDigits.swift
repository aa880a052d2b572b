/// Returns a number with commas between groups of three digits, such as `524,288`.
package func grouped(_ number: some BinaryInteger) -> String {
  var digits = String(number)
  var place = digits.count - 3
  while place > 0 {
    digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
    place -= 3
  }
  return digits
}
