#ifndef UTF16_H
#define UTF16_H

#include "CCofferText.h"

/// The kernel of this processor: advances the walk over whole characters, block by block, and leaves the stop alone. It
/// ends before the first block with an unpaired surrogate, before the last few units of the input, and where the output
/// may not hold another block.
///
/// Every unit yields one to three bytes, surrogates too: a lead surrogate yields the first two bytes of four, a trail
/// surrogate the last two, which depend on the unit before it. So one table of shuffles serves all of them.
void coffer_utf16_kernel(
    coffer_walk *walk, const uint8_t *input, size_t count, uint8_t *output, size_t room, bool is_big_endian,
    const uint8_t *short_shuffles, const uint8_t *long_shuffles);

#endif
