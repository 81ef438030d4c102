#pragma once

#include <stdint.h>

#if defined(__x86_64__)
#include <emmintrin.h>

/// Which of 64 bytes, at any address, are `wanted`: bit i for byte i.
///
/// In C for one instruction, `pmovmskb`, that Swift has no name for. `BlockScanner` has a twin in Swift, for other
/// processors. Calls for several bytes of one block share its loads, once they are inlined.
static inline __attribute__((always_inline)) uint64_t
sheaf_byte_mask(const void *block, uint8_t wanted) {
  const __m128i *vectors = (const __m128i *)block;
  const __m128i pattern = _mm_set1_epi8((char)wanted);
  uint64_t mask = 0;
  for (int part = 0; part < 4; part++) {
    const __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128(vectors + part), pattern);
    mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(equal) << (16 * part);
  }
  return mask;
}
#endif
