#ifndef CCOFFERTEXT_H
#define CCOFFERTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Why a walk over a buffer ended.
typedef enum {
  /// Every byte of the input was taken.
  COFFER_INPUT_END,
  /// The rest of the input begins a character: an odd byte, or a lead surrogate and at most one byte more.
  COFFER_INCOMPLETE_TAIL,
  /// The next character does not fit into the output.
  COFFER_OUTPUT_FULL,
  /// The next unit is a surrogate without its other half.
  COFFER_UNPAIRED_SURROGATE,
} coffer_stop;

/// How far a walk over a buffer came, in bytes, and why it ended there.
typedef struct {
  size_t consumed;
  size_t written;
  coffer_stop stop;
} coffer_walk;

/// The processor has what the kernels need: AVX2 on x86-64, always on AArch64 with its little end first.
bool coffer_has_kernels(void);

/// UTF-16 to UTF-8, whole characters only. Reads no byte beyond `count`; bytes of the output between `written` and
/// `room` may change.
///
/// The shuffles are null for the scalar loop alone, and must be null unless `coffer_has_kernels`. `short_shuffles` has
/// 16 bytes for each of 256 masks: a bit per unit, set for two bytes, clear for one. `long_shuffles` has 16 bytes for
/// each of 256 masks: two bits per unit, 0 for one byte, 1 for two, 3 for three.
coffer_walk coffer_utf16_to_utf8(
    const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles);

/// The number of bytes at the start that are whole characters of well-formed UTF-8. Looks at whole blocks of 32 bytes,
/// and leaves out their last character unless it is ASCII; 0 without AVX2. With `refusing_nul`, stops before a block
/// that holds U+0000. Call only if `coffer_has_kernels`.
size_t coffer_utf8_prefix(const uint8_t *input, size_t count, bool refusing_nul);

/// The offset of the first byte that equals one of two; `count` if there is none.
size_t coffer_first_of_two(const uint8_t *bytes, size_t count, uint8_t first, uint8_t second);

#endif
