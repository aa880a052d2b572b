import CofferTestSupport
import Testing

@testable import CofferMergeModel

/// Random histories in which stores meet only in a folder that an adversary controls.
@Suite struct FolderTests {
  @Test(arguments: Histories.seeds)
  func storesAgreeAfterFolderBecomesHonest(seed: UInt64) throws {
    let world = World(seed: seed)
    var folder = Folder(world: world, participants: try newParticipants(in: world))
    for _ in 0..<world.number(in: 20...70) {
      try folder.step()
    }
    let agree = try folder.settle()
    try check(agree, "The stores do not agree.")
    try folder.members.map(\.participant).checkRuns()
  }

  @Test(arguments: HistorySeeds.first(100))
  func storesAgreeInFaithfulFolder(seed: UInt64) throws {
    // With few documents, edits and deletions of the same ones meet.
    let world = World(seed: seed, documents: seed.isMultiple(of: 4) ? .max : 2)
    var folder = Folder(world: world, participants: try newParticipants(in: world), isFaithful: true)
    for _ in 0..<world.number(in: 20...70) {
      try folder.step()
    }
    let agree = try folder.settle()
    try check(agree, "The stores do not agree.")
    try folder.members.map(\.participant).checkRuns()
  }
}
