// Replaces the C library's random bytes with those of a seed, so that a history is the same each time.
//
// Each thread has its own sequence. `coffer_seed` begins the sequence of the calling thread anew.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static __thread uint64_t state = 1;

void coffer_seed(uint64_t seed) { state = seed; }

// SplitMix64.
static uint64_t next(void) {
  uint64_t mixed = state += UINT64_C(0x9E3779B97F4A7C15);
  mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
  return mixed ^ mixed >> 31;
}

int getentropy(void *memory, size_t count) {
  unsigned char *bytes = memory;
  while (count > 0) {
    uint64_t word = next();
    size_t some = count < sizeof word ? count : sizeof word;
    memcpy(bytes, &word, some);
    bytes += some;
    count -= some;
  }
  return 0;
}
