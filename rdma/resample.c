/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * All sums are exact in 32 bits, so their order does not matter, and the results of the
 * vector code are those of the plain code, bit by bit.
 *
 * Along a row, the vector code adds two pixels at a time: three channels and a gap in
 * each half of a vector.  It makes two rows at once, which share the weights.  It reads
 * and writes some bytes too many: the rows that have none behind them are left to the
 * plain code.  Down a column it adds 32 bytes at a time.
 */
#include "resample.h"

#include <string.h>

#define HALF (1 << (SFS_RESAMPLE_BITS - 1))

static inline unsigned char clip(int32_t sum)
{
	sum >>= SFS_RESAMPLE_BITS;
	return sum < 0 ? 0 : sum > 255 ? 255 : (unsigned char)sum;
}

static void plain_row_3(const unsigned char *from, const struct sfs_taps *taps, size_t n,
			unsigned char *to)
{
	size_t i;
	uint32_t x;

	for (i = 0; i < n; i++, to += 3) {
		const int32_t *k = taps->k + i * taps->stride;
		const unsigned char *p = from + (size_t)taps->first[i] * 3;
		int32_t r = HALF, g = HALF, b = HALF;

		for (x = 0; x < taps->n_taps; x++, p += 3) {
			r += p[0] * k[x];
			g += p[1] * k[x];
			b += p[2] * k[x];
		}
		to[0] = clip(r);
		to[1] = clip(g);
		to[2] = clip(b);
	}
}

static void plain_row_1(const unsigned char *from, const struct sfs_taps *taps, size_t n,
			unsigned char *to)
{
	size_t i;
	uint32_t x;

	for (i = 0; i < n; i++) {
		const int32_t *k = taps->k + i * taps->stride;
		const unsigned char *p = from + taps->first[i];
		int32_t sum = HALF;

		for (x = 0; x < taps->n_taps; x++)
			sum += p[x] * k[x];
		to[i] = clip(sum);
	}
}

static void plain_column(const unsigned char *from, size_t stride, const int32_t *k,
			 uint32_t n_taps, size_t n, unsigned char *to)
{
	int32_t sum;
	uint32_t y;
	size_t i;

	for (i = 0; i < n; i++) {
		sum = HALF;
		for (y = 0; y < n_taps; y++)
			sum += from[y * stride + i] * k[y];
		to[i] = clip(sum);
	}
}

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

static bool is_plain, has_avx2;

static void __attribute__((constructor)) look_at_the_machine(void)
{
	__builtin_cpu_init();
	has_avx2 = __builtin_cpu_supports("avx2");
	is_plain = !has_avx2;
}

/* Two pixels, as R G B 0 in 32 bits each. */
AVX2 static inline __m256i load_pixels(const unsigned char *p)
{
	const __m256i order = _mm256_setr_epi8(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1,
					       -1, -1, -1, -1, -1, /* the first */
					       3, -1, -1, -1, 4, -1, -1, -1, 5, -1, -1,
					       -1, -1, -1, -1, -1);
	int64_t bytes;

	memcpy(&bytes, p, sizeof bytes);
	return _mm256_shuffle_epi8(_mm256_set1_epi64x(bytes), order);
}

/* Two weights, four times each. */
AVX2 static inline __m256i load_weights(const int32_t *k)
{
	return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(
						   _mm_loadl_epi64((const __m128i *)k)),
					   _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

static inline void store_4(unsigned char *to, int bytes)
{
	memcpy(to, &bytes, sizeof bytes);
}

/* Two rows; each result is followed by a byte that the next overwrites. */
AVX2 static void avx2_rows_3(const struct sfs_resample_rows *r,
			     const struct sfs_taps *taps, const unsigned char *from,
			     unsigned char *to)
{
	size_t i;
	uint32_t x;

	for (i = 0; i < r->n; i++, to += 3) {
		const int32_t *k = taps->k + i * taps->stride;
		const unsigned char *p = from + (size_t)taps->first[i] * 3;
		__m256i a = _mm256_setzero_si256(), b = a, w;
		__m128i sums;

		for (x = 0; x < taps->n_taps; x += 2, p += 6) {
			w = load_weights(k + x);
			a = _mm256_add_epi32(a, _mm256_mullo_epi32(load_pixels(p), w));
			b = _mm256_add_epi32(b,
					     _mm256_mullo_epi32(load_pixels(p + r->n_row),
								w));
		}
		a = _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
				     _mm256_permute2x128_si256(a, b, 0x31));
		a = _mm256_add_epi32(a, _mm256_set1_epi32(HALF));
		a = _mm256_srai_epi32(a, SFS_RESAMPLE_BITS);
		sums = _mm_packs_epi32(_mm256_castsi256_si128(a),
				       _mm256_extracti128_si256(a, 1));
		sums = _mm_packus_epi16(sums, sums);
		store_4(to, _mm_cvtsi128_si32(sums));
		store_4(to + r->to_stride, _mm_extract_epi32(sums, 1));
	}
}

/* 32 bytes. */
AVX2 static inline void avx2_column_32(const unsigned char *from, size_t stride,
				       const int32_t *k, uint32_t n_taps,
				       unsigned char *to)
{
	__m256i sums[4], w;
	uint32_t y;
	int i;

	for (i = 0; i < 4; i++)
		sums[i] = _mm256_set1_epi32(HALF);
	for (y = 0; y < n_taps; y++, from += stride) {
		w = _mm256_set1_epi32(k[y]);
		for (i = 0; i < 4; i++)
			sums[i] = _mm256_add_epi32(
				sums[i], _mm256_mullo_epi32(
						 _mm256_cvtepu8_epi32(_mm_loadl_epi64((
							 const __m128i *)(from + i * 8))),
						 w));
	}
	for (i = 0; i < 4; i++)
		sums[i] = _mm256_srai_epi32(sums[i], SFS_RESAMPLE_BITS);
	/* (packing works on halves of a vector) */
	w = _mm256_packus_epi16(_mm256_packs_epi32(sums[0], sums[1]),
				_mm256_packs_epi32(sums[2], sums[3]));
	_mm256_storeu_si256((__m256i *)to,
			    _mm256_permutevar8x32_epi32(w,
							_mm256_setr_epi32(0, 4, 1, 5, 2,
									  6, 3, 7)));
}

AVX2 static size_t avx2_column(const unsigned char *from, size_t stride, const int32_t *k,
			       uint32_t n_taps, size_t n, unsigned char *to)
{
	size_t i;

	for (i = 0; i + 32 <= n; i += 32)
		avx2_column_32(from + i, stride, k, n_taps, to + i);
	return i;
}

/* The number of rows that were made. */
static size_t fast_rows(const struct sfs_resample_rows *r, const struct sfs_taps *taps)
{
	size_t n_read = r->n_row + 16, y; /* of a row: an odd tap, and 2 bytes */

	if (is_plain || r->n_channels != 3)
		return 0;
	for (y = 0; y + 2 <= r->n_rows; y += 2) {
		if ((size_t)(r->end - r->from) < (y + 1) * r->n_row + n_read)
			break;
		avx2_rows_3(r, taps, r->from + y * r->n_row, r->to + y * r->to_stride);
	}
	return y;
}

static size_t fast_column(const unsigned char *from, size_t stride, const int32_t *k,
			  uint32_t n_taps, size_t n, unsigned char *to)
{
	return is_plain ? 0 : avx2_column(from, stride, k, n_taps, n, to);
}

bool sfs_resample_set_plain(bool wanted)
{
	is_plain = wanted || !has_avx2;
	return has_avx2;
}
#else
#define fast_rows(rows, taps)			    0
#define fast_column(from, stride, k, n_taps, n, to) 0
bool sfs_resample_set_plain(bool wanted)
{
	(void)wanted;
	return false;
}
#endif

void sfs_resample_rows(const struct sfs_resample_rows *r, const struct sfs_taps *taps)
{
	size_t y;

	for (y = fast_rows(r, taps); y < r->n_rows; y++)
		(r->n_channels == 3 ? plain_row_3
				    : plain_row_1)(r->from + y * r->n_row, taps, r->n,
						   r->to + y * r->to_stride);
}

void sfs_resample_column(const unsigned char *from, size_t stride, const int32_t *k,
			 uint32_t n_taps, size_t n, unsigned char *to)
{
	size_t done = fast_column(from, stride, k, n_taps, n, to);

	plain_column(from + done, stride, k, n_taps, n - done, to + done);
}
