import CofferPlatform
import Testing

@testable import CofferSealing

/// Random bytes where the kernel doesn't wipe pages in a fork, as on Apple's systems.
@Suite struct UnwipedPageTests {
  /// Refuses pages that are wiped in the child of a fork, in a process of its own.
  @Test func forkedProcessesDrawDifferentBytes() async {
    await #expect(processExitsWith: .success) {
      try #require(SystemCallFilter.refuseWipedPages())
      let random = try RandomBytes()
      let first = try random.draw(24)
      let child = try Fork.childBytes(24) { try random.draw(24) }
      let parent = try random.draw(24)
      let secondChild = try Fork.childBytes(24) { try random.draw(24) }
      #expect(Set([first, child, parent, secondChild]).count == 4)
      #expect(child.count == 24)
    }
  }
}

/// A filter of this process's system calls (seccomp(2)).
private enum SystemCallFilter {
  /// An instruction of a filter: `sock_filter` of linux/filter.h.
  private struct Instruction {
    var code: UInt16
    var ifTrue: UInt8 = 0
    var ifFalse: UInt8 = 0
    var operand: UInt32
  }

  /// A filter: `sock_fprog` of linux/filter.h.
  private struct Program {
    var count: UInt16
    var instructions: UnsafePointer<Instruction>?
  }

  #if arch(arm64)
    private static let madvise: UInt32 = 233
  #else
    private static let madvise: UInt32 = 28
  #endif
  private static let wipeOnFork: UInt32 = 18

  /// Makes `madvise(_, _, MADV_WIPEONFORK)` fail with `EINVAL`, and returns whether it does.
  static func refuseWipedPages() -> Bool {
    let (load, jumpIfEqual, answer): (UInt16, UInt16, UInt16) = (0x20, 0x15, 0x06)
    let (allow, refuse): (UInt32, UInt32) = (0x7FFF_0000, 0x0005_0000 | UInt32(EINVAL))
    // The number of the call is at offset 0, and the low half of its third argument at offset 32.
    let instructions = [
      Instruction(code: load, operand: 0),
      Instruction(code: jumpIfEqual, ifFalse: 3, operand: madvise),
      Instruction(code: load, operand: 32),
      Instruction(code: jumpIfEqual, ifFalse: 1, operand: wipeOnFork),
      Instruction(code: answer, operand: refuse),
      Instruction(code: answer, operand: allow),
    ]
    // Swift doesn't import calls with a variable number of arguments.
    typealias Function = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
    guard let address = dlsym(nil, "prctl") else { return false }
    let control = unsafeBitCast(address, to: Function.self)
    let (setNoNewPrivileges, setFilter): (Int32, Int32) = (38, 22)
    let isSet = instructions.withUnsafeBufferPointer { instructions in
      var program = Program(count: UInt16(instructions.count), instructions: instructions.baseAddress)
      return withUnsafePointer(to: &program) { program in
        control(setNoNewPrivileges, 1, 0, 0, 0) == 0 && control(setFilter, 2, UInt(bitPattern: program), 0, 0) == 0
      }
    }
    let size = 4096
    let page = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard isSet, let page, page != MAP_FAILED else { return false }
    defer { munmap(page, size) }
    return coffer_wipe_on_fork(page, size) != 0
  }
}
