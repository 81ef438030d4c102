#pragma once

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <emmintrin.h>

/// Which of 64 bytes, at any address, are `wanted`: bit i for byte i.
///
/// In C for one instruction, `pmovmskb`, that Swift has no name for. `BlockScanner` has a twin in Swift, for
/// other processors. Calls for several bytes of one block share its loads, once they are inlined.
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

/// Whether one of two bytes is among 64, at any address.
static inline __attribute__((always_inline)) bool
sheaf_has_either(const void *block, uint8_t one, uint8_t other) {
  const __m128i *vectors = (const __m128i *)block;
  const __m128i first = _mm_set1_epi8((char)one);
  const __m128i second = _mm_set1_epi8((char)other);
  __m128i found = _mm_setzero_si128();
  for (int part = 0; part < 4; part++) {
    const __m128i bytes = _mm_loadu_si128(vectors + part);
    found = _mm_or_si128(
        found, _mm_or_si128(_mm_cmpeq_epi8(bytes, first), _mm_cmpeq_epi8(bytes, second)));
  }
  return _mm_movemask_epi8(found) != 0;
}

/// Whether one of four bytes is among the sixteen of two words.
///
/// `CSVField` has a twin in Swift.
static inline __attribute__((always_inline)) bool
sheaf_words_have_any(uint64_t low, uint64_t high, uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  const __m128i bytes = _mm_set_epi64x((int64_t)high, (int64_t)low);
  const __m128i found = _mm_or_si128(
      _mm_or_si128(
          _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)a)),
          _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)b))),
      _mm_or_si128(
          _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)c)),
          _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)d))));
  return _mm_movemask_epi8(found) != 0;
}

/// Sixteen bytes of 0x00 and sixteen of 0xFF: sixteen bytes from `n` on keep the last n of a vector.
static const uint8_t sheaf_last_bytes[32] = {
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

/// The value of the `count` (1 to 16) bytes before `end`: decimal digits, with a point among them or none.
/// Sixteen bytes before `end` may be read.
///
/// In C for multiplications that add up neighbours (`pmaddwd`). `AlignedNumber` has a twin in Swift.
///
/// Returns how many digits are behind the point, without a point 0; -1 when there is anything else.
static inline __attribute__((always_inline)) int32_t
sheaf_decimal_digits(const void *end, int64_t count, uint64_t *value) {
  __m128i digits = _mm_loadu_si128((const __m128i *)end - 1);
  digits = _mm_and_si128(
      _mm_sub_epi8(digits, _mm_set1_epi8('0')),
      _mm_loadu_si128((const __m128i *)(sheaf_last_bytes + count)));
  const __m128i ten = _mm_set1_epi8(10);
  const uint32_t others =
      (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(digits, ten), digits));
  int32_t scale = 0;
  if (others != 0) {
    const int32_t place = __builtin_ctz(others);
    scale = 15 - place;
    if ((others & (others - 1)) != 0 || scale == 0 || ((const uint8_t *)end)[-1 - scale] != '.') {
      return -1;
    }
    // What is before the point moves up.
    const __m128i behind = _mm_loadu_si128((const __m128i *)(sheaf_last_bytes + scale));
    digits = _mm_or_si128(
        _mm_and_si128(behind, digits), _mm_andnot_si128(behind, _mm_slli_si128(digits, 1)));
  }
  // Pairs of digits, fours, eights; the first one in the lowest bytes.
  const __m128i pairs = _mm_add_epi16(
      _mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xFF)), _mm_set1_epi16(10)),
      _mm_srli_epi16(digits, 8));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
  const __m128i eights =
      _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
  const uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
  *value = (both & 0xFFFFFFFF) * 100000000 + (both >> 32);
  return scale;
}
#endif
