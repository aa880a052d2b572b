import CofferTestSupport
import Foundation
import Testing

@testable import CofferDocuments

/// Unknown members of a stored value stay when a program changes the value.
struct JSONKeepingTests {
  private func kept(_ new: String, _ stored: String, known: String) throws -> String? {
    try JSONKeeping.keep(in: Array(new.utf8), membersOf: Array(stored.utf8)) { Array(known.utf8) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(
    arguments: [
      // new, stored, known, result
      (#"{"a":2}"#, #"{"a":1,"b":3}"#, #"{"a":1}"#, #"{"a":2,"b":3}"#),
      (#"{"a":2}"#, #"{"a":1,"b":3}"#, #"{"a":1,"b":3}"#, nil),
      (#"{"a":1}"#, #"{ "b" : 1.0, "a" : 1 }"#, #"{"a":1}"#, #"{ "b" : 1.0, "a" : 1 }"#),
      (#"{"o":{"x":2}}"#, #"{"o":{"x":1,"y":[1]}}"#, #"{"o":{"x":1}}"#, #"{"o":{"x":2,"y":[1]}}"#),
      (
        #"[{"a":2},{"a":1}]"#, #"[{"a":1,"b":1},{"a":2,"b":2}]"#, #"[{"a":1},{"a":2}]"#,
        #"[{"a":2,"b":2},{"a":1,"b":1}]"#
      ),
      (
        #"[{"a":3},{"a":2}]"#, #"[{"a":1,"b":1},{"a":2,"b":2}]"#, #"[{"a":1},{"a":2}]"#,
        #"[{"a":3,"b":1},{"a":2,"b":2}]"#
      ),
      (#"[{"a":2}]"#, #"[{"a":1,"b":1},{"a":2,"b":2}]"#, #"[{"a":1},{"a":2}]"#, #"[{"a":2,"b":2}]"#),
      (#"[]"#, #"[{"a":1,"b":1}]"#, #"[{"a":1}]"#, #"[]"#),
      (#"{"é":1,"\u0065\u0301":2}"#, #"{"b":3,"é":0}"#, #"{"é":0}"#, "{\"b\":3,\"e\u{301}\":2,\"é\":1}"),
      (
        #"{"n":9007199254740993}"#, #"{"n":1,"m":18446744073709551615}"#, #"{"n":1}"#,
        #"{"m":18446744073709551615,"n":9007199254740993}"#
      ),
      (#"{"a":1,"b":2}"#, #"{"a":1,"a":9,"b":1,"c":1}"#, #"{"a":1,"b":1}"#, #"{"a":1,"b":2,"c":1}"#),
      (#"{"é":2}"#, #"{"b":3,"\u0065\u0301":1}"#, #"{"é":1}"#, #"{"b":3,"é":2}"#),
      (#"{"t":["b"]}"#, #"{"r":1,"t":["a","b"]}"#, #"{"t":["b","a"]}"#, #"{"r":1,"t":["b"]}"#),
      (#"[{"n":2}]"#, #"[{"n":1,"x":1},{"n":2,"x":2}]"#, #"[{"n":2},{"n":1}]"#, #"[{"n":2,"x":2}]"#),
      (
        #"[{"n":2},{"n":3}]"#, #"[{"n":1},{"n":2,"o":0}]"#, #"[{"n":2,"o":0},{"n":1}]"#, #"[{"n":2},{"n":3}]"#
      ),
      (
        #"[1,{"n":5},2,{"n":1}]"#, #"[1,{"n":1,"x":1},2,{"n":1,"x":2}]"#, #"[2,{"n":1},1,{"n":1}]"#,
        #"[1,{"n":5,"x":1},2,{"n":1,"x":2}]"#
      ),
      (#"["b",{"n":1}]"#, #"["a",{"n":1,"x":1}]"#, #"["a",{"n":1}]"#, #"["b",{"n":1,"x":1}]"#),
      (
        #"[{"n":1,"s":"/"},{"n":3}]"#, #"[{"n":1.0,"s":"\/","x":1},{"n":2.0,"x":2}]"#,
        #"[{"n":1,"s":"/"},{"n":2}]"#, #"[{"n":1.0,"s":"\/","x":1},{"n":3,"x":2}]"#
      ),
      // Sets of enumeration cases with values, and of elements that lack members.
      (
        #"[{"e":{"b":{"n":2}}}]"#, #"[{"e":{"a":{"n":1,"x":1}}},{"e":{"b":{"n":2,"x":2}}}]"#,
        #"[{"e":{"b":{"n":2}}},{"e":{"a":{"n":1}}}]"#, #"[{"e":{"b":{"n":2,"x":2}}}]"#
      ),
      (
        #"[{"b":1,"k":1}]"#, #"[{"a":1,"k":1,"x":1},{"a":null,"b":1,"k":1}]"#, #"[{"b":1,"k":1},{"a":1,"k":1}]"#,
        #"[{"a":null,"b":1,"k":1}]"#
      ),
      (#"{"a":2}"#, "no JSON", #"{"a":1}"#, nil),
      ("7", #"{"a":1}"#, #"{}"#, nil),
    ] as [(String, String, String, String?)])
  func keepsUnknownMembers(_ new: String, _ stored: String, _ known: String, _ result: String?) throws {
    #expect(try kept(new, stored, known: known) == result)
  }

  @Test(
    arguments: [
      // new, stored, known
      (#"[{"a":9},{"a":1}]"#, #"[{"a":1},{"a":2,"b":2}]"#, #"[{"a":1},{"a":2}]"#),
      (#"[{"a":9},{"a":1}]"#, #"[{"a":1},{"a":2,"b":2}]"#, #"[{"a":2},{"a":1}]"#),
      (#"[{"a":2},{"a":1}]"#, #"[{"a":1,"b":1},{"a":1,"b":2},{"a":2}]"#, #"[{"a":2},{"a":1},{"a":1}]"#),
      (#"[{"a":1},{"a":2}]"#, #"[{"a":1},{"b":2}]"#, #"[{"a":1}]"#),
      (#"[2,{"a":2}]"#, #"[1,{"a":1,"b":2}]"#, #"[1,{"a":1}]"#),
    ] as [(String, String, String)])
  func refusesElementsWithoutPlace(_ new: String, _ stored: String, _ known: String) {
    #expect(throws: JSONKeeping.Displaced.self) { try kept(new, stored, known: known) }
  }

  /// The deepest values that a text may have, with many members.
  @Test func acceptsDeepValues() throws {
    let open = String(repeating: #"{"a":"#, count: 500)
    let close = String(repeating: ",\"b\":1}", count: 500)
    let known = String(repeating: "}", count: 500)
    #expect(try kept(open + "2" + known, open + "1" + close, known: open + "1" + known) == open + "2" + close)
    let tooDeep = String(repeating: "[", count: 600)
    #expect(try kept("{}", tooDeep, known: "{}") == nil)
  }

  /// A program that knows some members changes them; the members that it doesn't know don't change.
  @Test(arguments: HistorySeeds.first(300))
  func changesOnlyKnownMembers(_ seed: UInt64) throws {
    var random = Pseudorandom(seed: seed)
    let stored = value(&random, depth: 0)
    let known = without(stored)
    var wanted = stored
    change(&wanted, &random)
    func json(_ value: Any) throws -> String {
      String(
        decoding: try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed]),
        as: UTF8.self)
    }
    let new = try json(without(wanted))
    let result = try kept(new, json(stored), known: json(known)) ?? new
    // JSONSerialization sorts members in another order than the encoder of values.
    #expect(try parsed(result) == parsed(json(wanted)))
  }

  private func parsed(_ json: String) throws -> NSObject {
    try #require(JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed) as? NSObject)
  }

  /// Joined members have the order of the encoder, so equal values have equal bytes.
  @Test func sortsMembersLikeEncoder() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    func json(_ value: [String: Int]) throws -> String { String(decoding: try encoder.encode(value), as: UTF8.self) }
    let all = ["b": 1, "B": 2, "a10": 3, "a2": 4, "é": 5, "z": 6, "A": 7, "_x": 8, "文": 9, "": 10]
    for name in all.keys {
      let known = [name: 0]
      var wanted = all
      wanted[name] = 0
      #expect(try kept(json(known), json(all), known: json([name: try #require(all[name])])) == json(wanted))
    }
  }

  /// Members with upper-case names are unknown.
  private func value(_ random: inout Pseudorandom, depth: Int) -> Any {
    switch random.number(below: depth > 3 ? 1 : 4) {
    case 0: return random.number(below: 1_000_000)
    case 1: return (0..<random.number(below: 4)).map { _ in value(&random, depth: depth + 1) }
    default:
      var members: [String: Any] = [:]
      for name in ["a", "b", "c", "A", "B"] where random.number(below: 3) > 0 {
        members[name] = value(&random, depth: depth + 1)
      }
      return members
    }
  }

  private func without(_ value: Any) -> Any {
    if let elements = value as? [Any] { return elements.map { without($0) } }
    guard let members = value as? [String: Any] else { return value }
    return members.filter { $0.key.lowercased() == $0.key }.mapValues { without($0) }
  }

  /// Changes one known number or removes one known member somewhere.
  private func change(_ value: inout Any, _ random: inout Pseudorandom) {
    if var elements = value as? [Any] {
      guard !elements.isEmpty else { return }
      let index = random.number(below: elements.count)
      change(&elements[index], &random)
      value = elements
    } else if var members = value as? [String: Any] {
      let names = members.keys.filter { $0.lowercased() == $0 }.sorted()
      guard !names.isEmpty else { return }
      let name = names[random.number(below: names.count)]
      if random.number(below: 4) == 0 {
        members[name] = nil
      } else {
        var member = members[name]!
        change(&member, &random)
        members[name] = member
      }
      value = members
    } else {
      value = random.number(below: 1_000_000) + 1_000_000
    }
  }
}
