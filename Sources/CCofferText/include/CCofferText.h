#ifndef CCOFFERTEXT_H
#define CCOFFERTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How far a kernel came, in bytes.
typedef struct {
  size_t consumed;
  size_t written;
} coffer_walk;

/// The processor has what the kernels below need.
bool coffer_has_kernels(void);

/// UTF-16 to UTF-8, 16 units at a time; stops before the first 16 that hold a surrogate, before the last few units of
/// the input, and where the output may not hold 16 more. Call only where `coffer_has_kernels`.
///
/// `short_shuffles` has 16 bytes for each of 256 masks: a bit per unit, set for two bytes, clear for one.
/// `long_shuffles` has 16 bytes for each of 256 masks: two bits per unit, 0 for one byte, 1 for two, 3 for three.
coffer_walk coffer_utf16_to_utf8(
    const uint8_t *input, size_t count, uint8_t *output, size_t room, bool swapping,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles);

/// How many bytes are whole characters of well-formed UTF-8, as far as is looked at: 32 bytes at a time, the last
/// character of those left out. Where `refusing_nul`, not beyond a block that holds U+0000. Call only where
/// `coffer_has_kernels`.
size_t coffer_utf8_prefix(const uint8_t *input, size_t count, bool refusing_nul);

#endif
