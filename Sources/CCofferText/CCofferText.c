// CCofferText: the loops of CofferText that need instructions which Swift does not offer (byte shuffles).
//
// Does: UTF-16 to UTF-8, in UTF16.c, with a kernel for AVX2 and one for NEON; how far bytes are UTF-8, in UTF8.c, with
//        AVX2.
// Knows: nothing of chunks, replacement or byte order marks; CofferText's Swift does all that, and checks the UTF-8 that
//        a kernel leaves.
#include "CCofferText.h"

bool coffer_has_kernels(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
  return true;
#else
  return false;
#endif
}
