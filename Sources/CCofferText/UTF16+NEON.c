// UTF-16 to UTF-8, 8 units at a time, on AArch64: the method of UTF16+AVX2.c.
#include "UTF16.h"

#if defined(__aarch64__) && !defined(__AARCH64EB__)

#include <arm_neon.h>

#define LANES(value) vdupq_n_u16(value)
#define COUNT(mask) ((size_t)__builtin_popcount(mask))

static inline uint16x8_t load(const uint8_t *input, bool is_big_endian) {
  uint8x16_t bytes = vld1q_u8(input);
  return vreinterpretq_u16_u8(is_big_endian ? vrev16q_u8(bytes) : bytes);
}

static inline bool is_zero(uint16x8_t lanes) {
  return vmaxvq_u16(lanes) == 0;
}

/// Eight bits for each lane of all ones or none.
static inline uint64_t bytes_of(uint16x8_t lanes) {
  return vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(lanes)), 0);
}

/// Writes those bytes of `lanes` that the mask's shuffle picks; 16 bytes are touched.
static inline void put(uint8_t *output, uint16x8_t lanes, const uint8_t *shuffles, unsigned mask) {
  uint8x16_t shuffle = vld1q_u8(shuffles + 16 * (size_t)(mask & 0xFF));
  vst1q_u8(output, vqtbl1q_u8(vreinterpretq_u8_u16(lanes), shuffle));
}

static inline __attribute__((always_inline)) void run(
    coffer_walk *walk, const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles) {
  static const uint16_t powers_of_2[] = {1, 2, 4, 8, 16, 32, 64, 128};
  static const uint16_t powers_of_4[] = {1, 4, 16, 64, 256, 1024, 4096, 16384};
  const uint16x8_t one_bit = vld1q_u16(powers_of_2);
  const uint16x8_t two_bits = vld1q_u16(powers_of_4);
  coffer_walk place = *walk;
  uint16x8_t previous = LANES(0);
  // The byte of a unit in `bytes_of`: set where the last unit taken is a lead surrogate.
  uint64_t open = 0;
  // 8 units become 24 bytes at most; the last store begins at byte 12 and touches 16.
  while (count - place.consumed >= 16 && room - place.written >= 28) {
    uint16x8_t units = load(input + place.consumed, is_big_endian);
    uint8_t *target = output + place.written;
    if (is_zero(vandq_u16(units, LANES(0xFF80)))) {
      if (open) break;
      vst1_u8(target, vmovn_u16(units));
      place.consumed += 16;
      place.written += 8;
      while (count - place.consumed >= 32 && room - place.written >= 16) {
        uint16x8_t first = load(input + place.consumed, is_big_endian);
        uint16x8_t second = load(input + place.consumed + 16, is_big_endian);
        if (!is_zero(vandq_u16(vorrq_u16(first, second), LANES(0xFF80)))) break;
        vst1q_u8(output + place.written, vcombine_u8(vmovn_u16(first), vmovn_u16(second)));
        place.consumed += 32;
        place.written += 16;
      }
      continue;
    }
    // The last byte of every character that has more than one.
    uint16x8_t tail = vorrq_u16(vandq_u16(units, LANES(0x3F)), LANES(0x80));
    uint16x8_t second_tail = vshlq_n_u16(tail, 8);
    uint16x8_t two = vorrq_u16(vorrq_u16(vshrq_n_u16(units, 6), LANES(0xC0)), second_tail);
    uint16x8_t is_ascii = vcltq_u16(units, LANES(0x80));
    uint16x8_t begin = vbslq_u16(is_ascii, units, two);
    uint16x8_t top = vandq_u16(units, LANES(0xF800));
    if (is_zero(top)) {
      if (open) break;
      unsigned mask = vaddvq_u16(vbicq_u16(one_bit, is_ascii));
      put(target, begin, short_shuffles, mask);
      place.consumed += 16;
      place.written += 8 + COUNT(mask);
      continue;
    }
    uint16x8_t is_short = vceqq_u16(top, LANES(0));
    // The first two of three bytes.
    uint16x8_t three = vorrq_u16(
        vshrq_n_u16(units, 12), vorrq_u16(vandq_u16(vshlq_n_u16(units, 2), LANES(0x3F00)), LANES(0x80E0)));
    begin = vbslq_u16(is_short, begin, three);
    uint16x8_t is_surrogate = vceqq_u16(top, LANES(0xD800));
    uint64_t surrogates = bytes_of(is_surrogate);
    if (surrogates | open) {
      uint16x8_t is_trail = vceqq_u16(vandq_u16(units, LANES(0xFC00)), LANES(0xDC00));
      uint64_t trails = bytes_of(is_trail);
      uint64_t leads = surrogates & ~trails;
      if ((leads << 8 | open) != trails) break;
      open = leads >> 56;
      // See UTF16+AVX2.c.
      uint16x8_t upper = vaddq_u16(vandq_u16(units, LANES(0x3FF)), LANES(0x40));
      uint16x8_t lead = vorrq_u16(
          vorrq_u16(vshrq_n_u16(upper, 8), LANES(0x80F0)), vandq_u16(vshlq_n_u16(upper, 6), LANES(0x3F00)));
      uint16x8_t before = vextq_u16(previous, units, 7);
      uint16x8_t joint = vorrq_u16(
          vandq_u16(vshlq_n_u16(before, 4), LANES(0x30)), vandq_u16(vshrq_n_u16(units, 6), LANES(0x0F)));
      uint16x8_t trail = vorrq_u16(vorrq_u16(joint, LANES(0x80)), second_tail);
      begin = vbslq_u16(is_surrogate, vbslq_u16(is_trail, trail, lead), begin);
      is_short = vorrq_u16(is_short, is_surrogate);
    }
    // Each sum is below 2^16: the lower bit of a unit's two, and the upper one.
    unsigned mask = (unsigned)vaddvq_u16(vbicq_u16(two_bits, is_ascii))
        + 2 * (unsigned)vaddvq_u16(vbicq_u16(two_bits, is_short));
    put(target, vzip1q_u16(begin, tail), long_shuffles, mask);
    put(target + 4 + COUNT(mask & 0xFF), vzip2q_u16(begin, tail), long_shuffles, mask >> 8);
    place.consumed += 16;
    place.written += 8 + COUNT(mask);
    previous = units;
  }
  if (open) {
    place.consumed -= 2;
    place.written -= 2;
  }
  *walk = place;
}

void coffer_utf16_kernel(
    coffer_walk *walk, const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles) {
  if (is_big_endian) {
    run(walk, input, count, output, room, true, short_shuffles, long_shuffles);
  } else {
    run(walk, input, count, output, room, false, short_shuffles, long_shuffles);
  }
}

#endif
