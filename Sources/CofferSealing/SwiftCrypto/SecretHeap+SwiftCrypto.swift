#if SwiftCrypto
  internal import CofferPlatform
  internal import Synchronization

  /// A heap of small blocks for secrets in locked pages. All blocks in a page have the same size.
  enum SecretHeap {
    private static let pageSize = 4096
    private static let smallestBlock = 32
    /// 512 KiB stores thousands of keys. With a smaller RLIMIT_MEMLOCK, the pages are used without being locked.
    private static let pageCount = 128

    /// A page's state, which is stored separately, so secrets are only next to other secrets.
    private struct Page {
      /// The block size, or 0 while the page is free.
      var blockSize = 0
      var used = 0
      /// A bit for each block, set while the block is free.
      var free: UInt128 = 0
    }

    /// The pages, which are mapped before the first secret. The adjacent pages can't be accessed.
    private nonisolated(unsafe) static let start: UnsafeMutableRawPointer? = {
      // The system's pages can be larger, so the heap's pages must fill a whole number of them.
      let guardSize = max(pageSize, sysconf(Int32(_SC_PAGESIZE)))
      guard let memory = SecretMemory.lockedPages(pageCount * pageSize + 2 * guardSize) else { return nil }
      mprotect(memory, guardSize, PROT_NONE)
      mprotect(memory + guardSize + pageCount * pageSize, guardSize, PROT_NONE)
      return memory + guardSize
    }()
    private static let pages = Mutex([Page](repeating: Page(), count: pageCount))

    /// Returns zeroed memory, or `nil` if the heap is full. Its size is a block's size, which is a power of two from 32
    /// to 4,096 bytes.
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

    /// Wipes and frees the heap's memory.
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
