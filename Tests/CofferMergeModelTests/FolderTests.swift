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
}
