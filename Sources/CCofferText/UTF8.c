// How far bytes are well-formed UTF-8, 32 at a time, on x86-64 processors with AVX2.
//
// The method is that of J. Keiser and D. Lemire, "Validating UTF-8 in less than one instruction per byte" (2021): every
// pair of neighbours is looked up by three half bytes, the first's two and the second's upper one; a pair is ill-formed
// in a way in which all three tables agree. A pair can't show that a character needs a third or a fourth byte: this is
// computed beside the tables.
#include "CCofferText.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,popcnt")))

enum {
  CUT_SHORT = 1 << 0,       // a lead without the byte it wants
  NOT_WANTED = 1 << 1,      // ASCII, then a continuation
  LONG_3 = 1 << 2,          // E0, then 80 to 9F
  TOO_HIGH = 1 << 3,        // F4, then 90 to BF; F5 and more, then 90 to BF
  SURROGATE = 1 << 4,       // ED, then A0 to BF
  LONG_2 = 1 << 5,          // C0 or C1, then a continuation
  LONG_4_OR_HIGH = 1 << 6,  // F0, then 80 to 8F; F5 and more, then 80 to 8F
  TWO_TAILS = 1 << 7,       // two continuations: well-formed only if the second is a third or a fourth byte
  ANY_LOW = CUT_SHORT | NOT_WANTED | TWO_TAILS,
  ANY_TAIL = NOT_WANTED | TWO_TAILS | LONG_2,
};

#define TABLE(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))
#define BYTE(value) ((char)(value))

/// The bytes `distance` before each of `block`, whose predecessor is `previous`.
#define BEFORE(distance) _mm256_alignr_epi8(block, _mm256_permute2x128_si256(previous, block, 0x21), 16 - (distance))

KERNEL static inline __m256i faults(__m256i block, __m256i previous) {
  const __m256i first_high = TABLE(
      NOT_WANTED, NOT_WANTED, NOT_WANTED, NOT_WANTED, NOT_WANTED, NOT_WANTED, NOT_WANTED, NOT_WANTED,
      BYTE(TWO_TAILS), BYTE(TWO_TAILS), BYTE(TWO_TAILS), BYTE(TWO_TAILS),
      CUT_SHORT | LONG_2, CUT_SHORT, CUT_SHORT | LONG_3 | SURROGATE, CUT_SHORT | TOO_HIGH | LONG_4_OR_HIGH);
  const __m256i first_low = TABLE(
      BYTE(ANY_LOW | LONG_2 | LONG_3 | LONG_4_OR_HIGH), BYTE(ANY_LOW | LONG_2), BYTE(ANY_LOW), BYTE(ANY_LOW),
      BYTE(ANY_LOW | TOO_HIGH), BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH), BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH),
      BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH), BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH),
      BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH), BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH),
      BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH), BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH),
      BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH | SURROGATE), BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH),
      BYTE(ANY_LOW | TOO_HIGH | LONG_4_OR_HIGH));
  const __m256i second_high = TABLE(
      CUT_SHORT, CUT_SHORT, CUT_SHORT, CUT_SHORT, CUT_SHORT, CUT_SHORT, CUT_SHORT, CUT_SHORT,
      BYTE(ANY_TAIL | LONG_3 | LONG_4_OR_HIGH), BYTE(ANY_TAIL | LONG_3 | TOO_HIGH),
      BYTE(ANY_TAIL | SURROGATE | TOO_HIGH), BYTE(ANY_TAIL | SURROGATE | TOO_HIGH),
      CUT_SHORT, CUT_SHORT, CUT_SHORT, CUT_SHORT);
  const __m256i half = _mm256_set1_epi8(0x0F);
  __m256i first = BEFORE(1);
  __m256i pairs = _mm256_and_si256(
      _mm256_and_si256(
          _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(first, 4), half)),
          _mm256_shuffle_epi8(first_low, _mm256_and_si256(first, half))),
      _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(block, 4), half)));
  // The top bit is set if a lead of three is two bytes before, or a lead of four three bytes before.
  __m256i third = _mm256_subs_epu8(BEFORE(2), _mm256_set1_epi8(BYTE(0xE0 - 0x80)));
  __m256i fourth = _mm256_subs_epu8(BEFORE(3), _mm256_set1_epi8(BYTE(0xF0 - 0x80)));
  __m256i due = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(BYTE(0x80)));
  return _mm256_xor_si256(pairs, due);
}

KERNEL size_t coffer_utf8_prefix(const uint8_t *input, size_t count, bool refusing_nul) {
  // The last three bytes of a block that may be leads of characters which end in the next.
  const __m256i most = _mm256_setr_epi8(
      -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
      -1, BYTE(0xF0 - 1), BYTE(0xE0 - 1), BYTE(0xC0 - 1));
  __m256i previous = _mm256_setzero_si256();
  __m256i open = _mm256_setzero_si256();
  size_t position = 0;
  for (; count - position >= 32; position += 32) {
    __m256i block = _mm256_loadu_si256((const __m256i *)(input + position));
    __m256i bad;
    if (_mm256_movemask_epi8(block) == 0) {
      bad = open;
      open = _mm256_setzero_si256();
    } else {
      bad = faults(block, previous);
      open = _mm256_subs_epu8(block, most);
    }
    if (refusing_nul) bad = _mm256_or_si256(bad, _mm256_cmpeq_epi8(block, _mm256_setzero_si256()));
    if (!_mm256_testz_si256(bad, bad)) break;
    previous = block;
  }
  // A character that the last block may have cut, or that is ill-formed because of what follows, is not counted.
  while (position > 0 && (input[position - 1] & 0xC0) == 0x80) position--;
  if (position > 0 && input[position - 1] >= 0x80) position--;
  return position;
}

#else

size_t coffer_utf8_prefix(const uint8_t *input, size_t count, bool refusing_nul) {
  (void)input, (void)count, (void)refusing_nul;
  return 0;
}

#endif
