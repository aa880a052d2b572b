// UTF-16 to UTF-8: the kernel of the processor as far as it goes, then one character at a time.
#include "UTF16.h"

/// Writes a character of `length` bytes.
static void put(uint8_t *output, uint32_t scalar, size_t length) {
  static const uint8_t leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
  for (size_t index = length - 1; index > 0; index--) {
    output[index] = (uint8_t)(0x80 | (scalar & 0x3F));
    scalar >>= 6;
  }
  output[0] = (uint8_t)(leads[length] | scalar);
}

coffer_walk coffer_utf16_to_utf8(
    const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles) {
  coffer_walk walk = {0, 0, COFFER_INPUT_END};
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__))
  if (short_shuffles && long_shuffles) {
    coffer_utf16_kernel(&walk, input, count, output, room, is_big_endian, short_shuffles, long_shuffles);
  }
#else
  (void)short_shuffles, (void)long_shuffles;
#endif
  const size_t high = is_big_endian ? 0 : 1;
  const size_t low = 1 - high;
  while (walk.consumed < count) {
    const uint8_t *next = input + walk.consumed;
    size_t left = count - walk.consumed;
    walk.stop = COFFER_INCOMPLETE_TAIL;
    if (left < 2) return walk;
    uint32_t scalar = (uint32_t)next[high] << 8 | next[low];
    size_t taken = 2;
    if ((scalar & 0xF800) == 0xD800) {
      walk.stop = COFFER_UNPAIRED_SURROGATE;
      if (scalar >= 0xDC00) return walk;
      walk.stop = COFFER_INCOMPLETE_TAIL;
      if (left < 4) return walk;
      uint32_t trail = (uint32_t)next[2 + high] << 8 | next[2 + low];
      walk.stop = COFFER_UNPAIRED_SURROGATE;
      if ((trail & 0xFC00) != 0xDC00) return walk;
      scalar = 0x10000 + ((scalar & 0x3FF) << 10) + (trail & 0x3FF);
      taken = 4;
    }
    size_t length = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
    walk.stop = COFFER_OUTPUT_FULL;
    if (room - walk.written < length) return walk;
    put(output + walk.written, scalar, length);
    walk.consumed += taken;
    walk.written += length;
  }
  walk.stop = COFFER_INPUT_END;
  return walk;
}
