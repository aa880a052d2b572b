@testable internal import Coffer
@testable internal import CofferReplication

/// A pin line: an accepted line is printed again as the same line.
func readPinLine(_ input: [UInt8]) {
  let line = String(decoding: input, as: UTF8.self)
  guard let pin = StorePin(line) else { return }
  precondition(Array(pin.description.utf8) == input, "a pin that is printed as another line")
}

/// An anchor line, with or without a newline at its end: an accepted line is printed again as the same line.
func readAnchorLine(_ input: [UInt8]) {
  let line = String(decoding: input, as: UTF8.self)
  guard let anchor = StoreAnchor(line) else { return }
  let bare = line.last?.isNewline == true ? String(line.dropLast()) : line
  precondition(Array(anchor.description.utf8) == Array(bare.utf8), "an anchor that is printed as another line")
}

/// An answer of a control socket: an accepted one has a status of three digits and a body that ends the stream.
func readAnswer(_ input: [UInt8]) {
  guard let answer = try? LocalHTTP(path: "/socket", deadline: .now).parsed(input) else { return }
  precondition((0...999).contains(answer.status), "a status of more than three digits")
  precondition(input.suffix(answer.body.count).elementsEqual(answer.body), "a body that is not the end of the answer")
}
