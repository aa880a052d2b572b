// UTF-16 to UTF-8: the kernel of the processor as far as it goes, then one character at a time.
#include "UTF16.h"

#include <string.h>

static uint8_t tail(uint32_t bits) {
  return (uint8_t)(0x80 | (bits & 0x3F));
}

/// Writes a character of `length` bytes.
static void put(uint8_t *output, uint32_t scalar, size_t length) {
  switch (length) {
    case 1:
      output[0] = (uint8_t)scalar;
      break;
    case 2:
      output[0] = (uint8_t)(0xC0 | scalar >> 6);
      output[1] = tail(scalar);
      break;
    case 3:
      output[0] = (uint8_t)(0xE0 | scalar >> 12);
      output[1] = tail(scalar >> 6);
      output[2] = tail(scalar);
      break;
    default:
      output[0] = (uint8_t)(0xF0 | scalar >> 18);
      output[1] = tail(scalar >> 12);
      output[2] = tail(scalar >> 6);
      output[3] = tail(scalar);
  }
}

/// Takes ASCII, 8 units at a time; `low` is the place of a unit's lower byte.
static inline coffer_walk past_ascii(
    coffer_walk walk, const uint8_t *input, size_t count, uint8_t *output, size_t room, size_t low) {
  // Copied as bytes, so that the mask fits processors of either byte order.
  static const uint8_t others[2][8] = {{0x80, 0xFF, 0x80, 0xFF, 0x80, 0xFF, 0x80, 0xFF},
                                       {0xFF, 0x80, 0xFF, 0x80, 0xFF, 0x80, 0xFF, 0x80}};
  uint64_t mask;
  memcpy(&mask, others[low], 8);
  while (count - walk.consumed >= 16 && room - walk.written >= 8) {
    uint64_t words[2];
    memcpy(words, input + walk.consumed, 16);
    if ((words[0] | words[1]) & mask) break;
    for (size_t index = 0; index < 8; index++) {
      output[walk.written + index] = input[walk.consumed + 2 * index + low];
    }
    walk.consumed += 16;
    walk.written += 8;
  }
  return walk;
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
    if (length == 1) walk = past_ascii(walk, input, count, output, room, low);
  }
  walk.stop = COFFER_INPUT_END;
  return walk;
}
