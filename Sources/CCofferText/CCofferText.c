// CCofferText: the two loops of CofferText that need instructions which Swift does not offer (byte shuffles).
//
// Does: UTF-16 to UTF-8 for text without surrogates, here; how far bytes are UTF-8, in UTF8.c. On x86-64 processors
//        with AVX2.
// Knows: nothing of chunks, errors or encodings; the Swift loop beside it does all that a kernel leaves, and everything
//        on other processors.
#include "CCofferText.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define KERNEL __attribute__((target("avx2,popcnt")))

bool coffer_has_kernels(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

/// Writes those bytes of `lanes` that the mask's shuffle picks; 16 bytes are touched.
KERNEL static inline void put(uint8_t *output, __m128i lanes, const uint8_t *shuffles, unsigned mask) {
  __m128i shuffle = _mm_loadu_si128((const __m128i *)(shuffles + 16 * (size_t)mask));
  _mm_storeu_si128((__m128i *)output, _mm_shuffle_epi8(lanes, shuffle));
}

KERNEL coffer_walk coffer_utf16_to_utf8(
    const uint8_t *input, size_t count, uint8_t *output, size_t room, bool swapping,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles) {
  const __m256i swap = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
  const __m256i top5 = _mm256_set1_epi16((short)0xF800);
  const __m256i low6 = _mm256_set1_epi16(0x3F);
  coffer_walk walk = {0, 0};
  // 16 units become 48 bytes at most; the last store begins at byte 36 and touches 16.
  while (count - walk.consumed >= 32 && room - walk.written >= 52) {
    __m256i units = _mm256_loadu_si256((const __m256i *)(input + walk.consumed));
    if (swapping) units = _mm256_shuffle_epi8(units, swap);
    uint8_t *target = output + walk.written;
    if (_mm256_testz_si256(units, _mm256_set1_epi16((short)0xFF80))) {
      __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(units), _mm256_extracti128_si256(units, 1));
      _mm_storeu_si128((__m128i *)target, bytes);
      walk.consumed += 32;
      walk.written += 16;
      continue;
    }
    __m256i middle = _mm256_or_si256(_mm256_and_si256(units, low6), _mm256_set1_epi16(0x80));
    __m256i two = _mm256_or_si256(
        _mm256_or_si256(_mm256_srli_epi16(units, 6), _mm256_set1_epi16(0xC0)), _mm256_slli_epi16(middle, 8));
    // All ones in each lane of one byte; units from 0x8000 on must not count as negative.
    __m256i is_ascii = _mm256_cmpeq_epi16(
        _mm256_and_si256(units, _mm256_set1_epi16((short)0xFF80)), _mm256_setzero_si256());
    __m256i begin = _mm256_blendv_epi8(two, units, is_ascii);
    if (_mm256_testz_si256(units, top5)) {
      // One bit per unit: the lanes' masks packed to bytes, 8 units of each half beside zeros.
      unsigned mask = ~(unsigned)_mm256_movemask_epi8(_mm256_packs_epi16(is_ascii, _mm256_setzero_si256()));
      unsigned low = mask & 0xFF;
      unsigned high = mask >> 16 & 0xFF;
      size_t first = 8 + (size_t)__builtin_popcount(low);
      put(target, _mm256_castsi256_si128(begin), short_shuffles, low);
      put(target + first, _mm256_extracti128_si256(begin, 1), short_shuffles, high);
      walk.consumed += 32;
      walk.written += first + 8 + (size_t)__builtin_popcount(high);
      continue;
    }
    __m256i top = _mm256_and_si256(units, top5);
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi16(top, _mm256_set1_epi16((short)0xD800)))) break;
    __m256i is_short = _mm256_cmpeq_epi16(top, _mm256_setzero_si256());
    // The first two of three bytes; the third is what a character of two bytes ends in, too.
    __m256i second = _mm256_or_si256(
        _mm256_and_si256(_mm256_slli_epi16(units, 2), _mm256_set1_epi16(0x3F00)), _mm256_set1_epi16((short)0x80E0));
    __m256i three = _mm256_or_si256(_mm256_srli_epi16(units, 12), second);
    begin = _mm256_blendv_epi8(three, begin, is_short);
    // Beside each other: the bytes of one unit in 32 bits, and the two bits of its mask.
    __m256i masks = _mm256_packs_epi16(
        _mm256_unpacklo_epi16(is_ascii, is_short), _mm256_unpackhi_epi16(is_ascii, is_short));
    unsigned mask = ~(unsigned)_mm256_movemask_epi8(masks);
    __m256i even = _mm256_unpacklo_epi16(begin, middle);
    __m256i odd = _mm256_unpackhi_epi16(begin, middle);
    size_t first = 4 + (size_t)__builtin_popcount(mask & 0xFF);
    size_t second_end = 8 + (size_t)__builtin_popcount(mask & 0xFFFF);
    size_t third = 12 + (size_t)__builtin_popcount(mask & 0xFFFFFF);
    put(target, _mm256_castsi256_si128(even), long_shuffles, mask & 0xFF);
    put(target + first, _mm256_castsi256_si128(odd), long_shuffles, mask >> 8 & 0xFF);
    put(target + second_end, _mm256_extracti128_si256(even, 1), long_shuffles, mask >> 16 & 0xFF);
    put(target + third, _mm256_extracti128_si256(odd, 1), long_shuffles, mask >> 24);
    walk.consumed += 32;
    walk.written += 16 + (size_t)__builtin_popcount(mask);
  }
  return walk;
}

#else

bool coffer_has_kernels(void) { return false; }

coffer_walk coffer_utf16_to_utf8(
    const uint8_t *input, size_t count, uint8_t *output, size_t room, bool swapping,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles) {
  (void)input, (void)count, (void)output, (void)room, (void)swapping, (void)short_shuffles, (void)long_shuffles;
  coffer_walk walk = {0, 0};
  return walk;
}

#endif
