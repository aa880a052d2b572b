// The next of two bytes, 16 at a time where every processor of the architecture has vectors for it, else 8.
#include "CCofferText.h"

#include <string.h>

#if defined(__x86_64__)

#include <emmintrin.h>

size_t coffer_first_of_two(const uint8_t *bytes, size_t count, uint8_t first, uint8_t second) {
  const __m128i firsts = _mm_set1_epi8((char)first), seconds = _mm_set1_epi8((char)second);
  size_t offset = 0;
  for (; count - offset >= 16; offset += 16) {
    __m128i block = _mm_loadu_si128((const __m128i *)(bytes + offset));
    __m128i equal = _mm_or_si128(_mm_cmpeq_epi8(block, firsts), _mm_cmpeq_epi8(block, seconds));
    unsigned mask = (unsigned)_mm_movemask_epi8(equal);
    if (mask) return offset + (size_t)__builtin_ctz(mask);
  }
  while (offset < count && bytes[offset] != first && bytes[offset] != second) offset++;
  return offset;
}

#else

size_t coffer_first_of_two(const uint8_t *bytes, size_t count, uint8_t first, uint8_t second) {
  const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
  size_t offset = 0;
  for (; count - offset >= 8; offset += 8) {
    uint64_t word;
    memcpy(&word, bytes + offset, 8);
    uint64_t one = word ^ ones * first, other = word ^ ones * second;
    // Bit 7 of a byte is set where it was equal; a carry may set others behind it, never one alone.
    if (((one - ones) & ~one & highs) | ((other - ones) & ~other & highs)) break;
  }
  while (offset < count && bytes[offset] != first && bytes[offset] != second) offset++;
  return offset;
}

#endif
