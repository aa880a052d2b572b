// UTF-16 to UTF-8, 16 units at a time, on x86-64 processors with AVX2.
//
// The method is that of D. Lemire and W. Mula, "Transcoding billions of Unicode characters per second with SIMD
// instructions" (2022): compute the bytes of every unit in a lane of fixed width, then drop the unused ones by a byte
// shuffle, which a table holds for each mix of lengths. UTF16.h says how surrogates take part in it.
#include "UTF16.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,popcnt")))

#define LANES(value) _mm256_set1_epi16((short)(value))
#define OR(first, second) _mm256_or_si256(first, second)
#define AND(first, second) _mm256_and_si256(first, second)
#define COUNT(mask) ((size_t)__builtin_popcount(mask))

KERNEL static inline __m256i load(const uint8_t *input, bool is_big_endian) {
  __m256i units = _mm256_loadu_si256((const __m256i *)input);
  const __m256i swap = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
  return is_big_endian ? _mm256_shuffle_epi8(units, swap) : units;
}

/// Writes those bytes of `lanes` that the mask's shuffle picks; 16 bytes are touched.
KERNEL static inline void put(uint8_t *output, __m128i lanes, const uint8_t *shuffles, unsigned mask) {
  __m128i shuffle = _mm_loadu_si128((const __m128i *)(shuffles + 16 * (size_t)(mask & 0xFF)));
  _mm_storeu_si128((__m128i *)output, _mm_shuffle_epi8(lanes, shuffle));
}

/// Takes ASCII, 32 units at a time.
KERNEL static inline void take_ascii(
    coffer_walk *walk, const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian) {
  while (count - walk->consumed >= 64 && room - walk->written >= 32) {
    __m256i first = load(input + walk->consumed, is_big_endian);
    __m256i second = load(input + walk->consumed + 32, is_big_endian);
    if (!_mm256_testz_si256(OR(first, second), LANES(0xFF80))) return;
    // Packing goes by halves of 128 bits: the middle two quarters change places.
    __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xD8);
    _mm256_storeu_si256((__m256i *)(output + walk->written), bytes);
    walk->consumed += 64;
    walk->written += 32;
  }
}

KERNEL static inline __attribute__((always_inline)) void run(
    coffer_walk *walk, const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles) {
  coffer_walk place = *walk;
  __m256i previous = _mm256_setzero_si256();
  // The two bits of a unit in a mask: set where the last unit taken is a lead surrogate.
  unsigned open = 0;
  // 16 units become 48 bytes at most; the last store begins at byte 36 and touches 16.
  while (count - place.consumed >= 32 && room - place.written >= 52) {
    __m256i units = load(input + place.consumed, is_big_endian);
    uint8_t *target = output + place.written;
    if (_mm256_testz_si256(units, LANES(0xFF80))) {
      if (open) break;
      __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1));
      _mm_storeu_si128((__m128i *)target, bytes);
      place.consumed += 32;
      place.written += 16;
      take_ascii(&place, input, count, output, room, is_big_endian);
      continue;
    }
    // The last byte of every character that has more than one.
    __m256i tail = OR(AND(units, LANES(0x3F)), LANES(0x80));
    __m256i second_tail = _mm256_slli_epi16(tail, 8);
    __m256i two = OR(OR(_mm256_srli_epi16(units, 6), LANES(0xC0)), second_tail);
    // Units from 0x8000 on must not count as negative.
    __m256i is_ascii = _mm256_cmpeq_epi16(AND(units, LANES(0xFF80)), _mm256_setzero_si256());
    __m256i begin = _mm256_blendv_epi8(two, units, is_ascii);
    if (_mm256_testz_si256(units, LANES(0xF800))) {
      if (open) break;
      // One bit per unit: the lanes' masks packed to bytes, 8 units of each half beside zeros.
      unsigned mask = ~(unsigned)_mm256_movemask_epi8(_mm256_packs_epi16(is_ascii, _mm256_setzero_si256()));
      size_t half = 8 + COUNT(mask & 0xFF);
      put(target, _mm256_castsi256_si128(begin), short_shuffles, mask);
      put(target + half, _mm256_extracti128_si256(begin, 1), short_shuffles, mask >> 16);
      place.consumed += 32;
      place.written += half + 8 + COUNT(mask >> 16 & 0xFF);
      continue;
    }
    __m256i top = AND(units, LANES(0xF800));
    __m256i is_short = _mm256_cmpeq_epi16(top, _mm256_setzero_si256());
    // The first two of three bytes.
    __m256i three = OR(
        _mm256_srli_epi16(units, 12), OR(AND(_mm256_slli_epi16(units, 2), LANES(0x3F00)), LANES(0x80E0)));
    begin = _mm256_blendv_epi8(three, begin, is_short);
    __m256i is_surrogate = _mm256_cmpeq_epi16(top, LANES(0xD800));
    unsigned surrogates = (unsigned)_mm256_movemask_epi8(is_surrogate);
    if (surrogates | open) {
      __m256i is_trail = _mm256_cmpeq_epi16(AND(units, LANES(0xFC00)), LANES(0xDC00));
      unsigned trails = (unsigned)_mm256_movemask_epi8(is_trail);
      unsigned leads = surrogates & ~trails;
      if ((leads << 2 | open) != trails) break;
      open = leads >> 30;
      // The lead holds the scalar's upper bits, less 0x10000: 5 for the first byte, 6 for the second, and 2 that the
      // trail's first byte takes from it.
      __m256i upper = _mm256_add_epi16(AND(units, LANES(0x3FF)), LANES(0x40));
      __m256i lead = OR(
          OR(_mm256_srli_epi16(upper, 8), LANES(0x80F0)), AND(_mm256_slli_epi16(upper, 6), LANES(0x3F00)));
      __m256i before = _mm256_alignr_epi8(units, _mm256_permute2x128_si256(previous, units, 0x21), 14);
      __m256i joint = OR(
          AND(_mm256_slli_epi16(before, 4), LANES(0x30)), AND(_mm256_srli_epi16(units, 6), LANES(0x0F)));
      __m256i trail = OR(OR(joint, LANES(0x80)), second_tail);
      begin = _mm256_blendv_epi8(begin, _mm256_blendv_epi8(lead, trail, is_trail), is_surrogate);
      is_short = OR(is_short, is_surrogate);
    }
    // Beside each other: the bytes of one unit in 32 bits, and the two bits of its mask.
    __m256i masks = _mm256_packs_epi16(
        _mm256_unpacklo_epi16(is_ascii, is_short), _mm256_unpackhi_epi16(is_ascii, is_short));
    unsigned mask = ~(unsigned)_mm256_movemask_epi8(masks);
    __m256i even = _mm256_unpacklo_epi16(begin, tail);
    __m256i odd = _mm256_unpackhi_epi16(begin, tail);
    put(target, _mm256_castsi256_si128(even), long_shuffles, mask);
    put(target + 4 + COUNT(mask & 0xFF), _mm256_castsi256_si128(odd), long_shuffles, mask >> 8);
    put(target + 8 + COUNT(mask & 0xFFFF), _mm256_extracti128_si256(even, 1), long_shuffles, mask >> 16);
    put(target + 12 + COUNT(mask & 0xFFFFFF), _mm256_extracti128_si256(odd, 1), long_shuffles, mask >> 24);
    place.consumed += 32;
    place.written += 16 + COUNT(mask);
    previous = units;
  }
  if (open) {
    place.consumed -= 2;
    place.written -= 2;
  }
  *walk = place;
}

KERNEL void coffer_utf16_kernel(
    coffer_walk *walk, const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles) {
  if (is_big_endian) {
    run(walk, input, count, output, room, true, short_shuffles, long_shuffles);
  } else {
    run(walk, input, count, output, room, false, short_shuffles, long_shuffles);
  }
}

#endif
