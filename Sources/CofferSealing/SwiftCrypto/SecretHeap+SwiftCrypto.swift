#if SwiftCrypto
  internal import CofferPlatform
  internal import Synchronization

  /// Small blocks of secret memory in locked pages of our own, each page with blocks of one size.
  enum SecretHeap {
    private static let pageSize = 4096
    private static let smallestBlock = 32
    /// 512 KiB hold thousands of keys; a smaller RLIMIT_MEMLOCK leaves them unlocked, not unused.
    private static let pageCount = 128

    /// What is known of a page. It's kept apart from the page, so that secrets have only secrets beside them.
    private struct Page {
      /// 0 while the page is free.
      var blockSize = 0
      var used = 0
      /// A bit for each block, set while the block is free.
      var free: UInt128 = 0
    }

    /// The pages, mapped before the first secret. The ones before and behind them can't be accessed.
    private nonisolated(unsafe) static let start: UnsafeMutableRawPointer? = {
      // The system's pages can be larger than ours, which fill a whole number of them.
      let guardSize = max(pageSize, sysconf(Int32(_SC_PAGESIZE)))
      guard let memory = SecretMemory.lockedPages(pageCount * pageSize + 2 * guardSize) else { return nil }
      mprotect(memory, guardSize, PROT_NONE)
      mprotect(memory + guardSize + pageCount * pageSize, guardSize, PROT_NONE)
      return memory + guardSize
    }()
    private static let pages = Mutex([Page](repeating: Page(), count: pageCount))

    /// Zeroed memory, or `nil` if there's no room. Its size is that of a block: 32 to 4,096 bytes, a power of two.
    static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
      guard let start else { return nil }
      var size = smallestBlock
      while size < count { size *= 2 }
      let offset: Int? = pages.withLock { pages in
        let open = pages.firstIndex { $0.blockSize == size && $0.free != 0 }
        guard let index = open ?? pages.firstIndex(where: { $0.blockSize == 0 }) else { return nil }
        if open == nil { pages[index] = Page(blockSize: size, free: UInt128.max >> UInt128(128 - pageSize / size)) }
        let block = pages[index].free.trailingZeroBitCount
        pages[index].free &= ~(1 << UInt128(block))
        pages[index].used += 1
        return index * pageSize + block * size
      }
      return offset.map { start + $0 }
    }

    static func contains(_ memory: UnsafeMutableRawPointer) -> Bool {
      guard let start else { return false }
      return (0..<pageCount * pageSize).contains(memory - start)
    }

    /// Wipes and frees memory of the heap.
    static func release(_ memory: UnsafeMutableRawPointer, _ count: Int) {
      guard let start else { return }
      coffer_wipe(memory, count)
      let (index, offset) = (memory - start).quotientAndRemainder(dividingBy: pageSize)
      pages.withLock { pages in
        let block = UInt128(1) << UInt128(offset / pages[index].blockSize)
        precondition(pages[index].free & block == 0, "internal error: a secret freed twice")
        pages[index].free |= block
        pages[index].used -= 1
        if pages[index].used == 0 { pages[index].blockSize = 0 }
      }
    }
  }
#endif
