// Replaces the C library's random bytes and its time of day, so that a history is the same each time.
//
// `coffer_begin` begins the random bytes anew with a seed, and stops the clock at a time until its next call: a program
// calls it before each act of a history. Each thread has a sequence of random bytes of its own, which follows from the
// seed and from the order in which the threads first need random bytes since then.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static _Atomic uint64_t seed, threads, history = 1;
static _Atomic int64_t milliseconds;
static __thread uint64_t state, current;

static uint64_t mix(uint64_t state);

// `time` is in milliseconds since 1970.
void coffer_begin(uint64_t value, int64_t time) {
  seed = value;
  milliseconds = time;
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

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*original)(clockid_t, struct timespec *);
  if (clock != CLOCK_REALTIME) {
    if (!original) original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return original(clock, time);
  }
  time->tv_sec = milliseconds / 1000;
  time->tv_nsec = milliseconds % 1000 * 1000000;
  return 0;
}

// OpenSSL's generator mixes in processor time and addresses.
int RAND_bytes(unsigned char *memory, int count) { return getentropy(memory, (size_t)count) == 0; }
