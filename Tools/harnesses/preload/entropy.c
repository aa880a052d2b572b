// Replaces the C library's random bytes with those of a seed, so that a history is the same each time.
//
// Each thread has a sequence of its own, which follows from the seed and from the order in which the threads first need
// random bytes. `coffer_seed` begins all of them anew.

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static _Atomic uint64_t seed, threads, history = 1;
static __thread uint64_t state, current;

static uint64_t mix(uint64_t state);

void coffer_seed(uint64_t value) {
  seed = value;
  threads = 0;
  history++;
}

// SplitMix64.
static uint64_t next(void) {
  if (current != history) {
    current = history;
    state = mix(mix(seed) + ++threads);
  }
  return mix(state += UINT64_C(0x9E3779B97F4A7C15));
}

static uint64_t mix(uint64_t state) {
  uint64_t mixed = state;
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
