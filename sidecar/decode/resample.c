/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * All sums are exact in 32 bits, so their order does not matter, and the results of the
 * vector code are those of the plain code, bit by bit.
 *
 * Down a column, the vector code adds 8 bytes of a row at a time.  Along a row it does
 * the same: it turns a block of 16 rows by 90 degrees, adds up columns, and turns the
 * results back.  So all lanes are used, no sum goes across lanes, and a weight is loaded
 * once for 16 rows.  It works in pieces that stay in the first-level cache.  What does
 * not fit into a piece, or has less than a vector's bytes in a row, is left to the plain
 * code.
 *
 * Tried and dropped: two pixels of a row in one vector, as R G B and a gap (takes twice
 * as long); weights in two halves of 11 bits for vpmaddwd (takes longer on AMD).
 */
#include "decode/resample.h"

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

#define AVX2	    __attribute__((target("avx2")))
#define AVX2_INLINE static inline __attribute__((target("avx2"), always_inline))

static bool is_plain, has_avx2;

static void __attribute__((constructor)) look_at_the_machine(void)
{
	__builtin_cpu_init();
	has_avx2 = __builtin_cpu_supports("avx2");
	is_plain = !has_avx2;
}

/* (GCC leaves arrays of vectors in memory if it does not unroll the loops over them) */
#ifdef __clang__
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

#define BLOCK	     SFS_RESAMPLE_BLOCK
#define PIECE_BYTES  1024 /* of a row that is read */
#define PIECE_PIXELS 64	  /* of a row that is made */

typedef unsigned char column[BLOCK]; /* one byte of each row of a block */

/* Bit n of a byte's place, in its row and then its vector, becomes bit n + 1; the highest
 * becomes the lowest. */
AVX2_INLINE void interleave(const __m256i from[BLOCK], __m256i to[BLOCK])
{
	int i;

	UNROLLED
	for (i = 0; i < BLOCK / 2; i++) {
		to[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + BLOCK / 2]);
		to[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + BLOCK / 2]);
	}
}

/* Turn 16 rows of 16 bytes in each half of the vectors. */
AVX2_INLINE void turn(__m256i v[BLOCK])
{
	__m256i w[BLOCK];

	interleave(v, w);
	interleave(w, v);
	interleave(v, w);
	interleave(w, v);
}

/* 32 bytes of each row. */
AVX2_INLINE void turn_rows(const unsigned char *const from[BLOCK], size_t at, column *to)
{
	__m256i v[BLOCK];
	int i;

	UNROLLED
	for (i = 0; i < BLOCK; i++)
		v[i] = _mm256_loadu_si256((const __m256i *)(from[i] + at));
	turn(v);
	UNROLLED
	for (i = 0; i < BLOCK; i++) {
		_mm_store_si128((__m128i *)to[i], _mm256_castsi256_si128(v[i]));
		_mm_store_si128((__m128i *)to[i + BLOCK],
				_mm256_extracti128_si256(v[i], 1));
	}
}

/* 32 columns; back in order, see sum_block(). */
AVX2_INLINE void turn_columns(const column *from, unsigned char *to, size_t stride)
{
	__m256i v[BLOCK];
	int i;

	UNROLLED
	for (i = 0; i < BLOCK; i++)
		v[i] = _mm256_inserti128_si256(
			_mm256_castsi128_si256(_mm_load_si128((const __m128i *)from[i])),
			_mm_load_si128((const __m128i *)from[i + BLOCK]), 1);
	turn(v);
	UNROLLED
	for (i = 0; i < BLOCK; i++)
		_mm256_storeu_si256((__m256i *)(to + (size_t)((i & 3) | (i & 4) << 1 |
							      (i & 8) >> 1) *
							     stride),
				    v[i]);
}

/* n vectors of 8 bytes, times a weight. */
AVX2_INLINE void add(const unsigned char *from, int32_t k, int n, __m256i *sums)
{
	__m256i w = _mm256_set1_epi32(k), v;
	int i;

	UNROLLED
	for (i = 0; i < n; i++) {
		v = _mm256_cvtepu8_epi32(
			_mm_loadl_epi64((const __m128i *)(from + (size_t)i * 8)));
		sums[i] = _mm256_add_epi32(sums[i], _mm256_mullo_epi32(v, w));
	}
}

AVX2_INLINE __m256i clip_16(__m256i a, __m256i b)
{
	return _mm256_packs_epi32(_mm256_srai_epi32(a, SFS_RESAMPLE_BITS),
				  _mm256_srai_epi32(b, SFS_RESAMPLE_BITS));
}

/* One pixel of each row.  Packing works on halves of a vector, so the results are those
 * of rows 0-3, 8-11, 4-7 and 12-15. */
AVX2_INLINE void sum_block(const column *from, int n_channels, const int32_t *k,
			   uint32_t n_taps, column *to)
{
	__m256i sums[6], w;
	uint32_t x;
	int i;

	UNROLLED
	for (i = 0; i < 2 * n_channels; i++)
		sums[i] = _mm256_set1_epi32(HALF);
	for (x = 0; x < n_taps; x++, from += n_channels)
		add(*from, k[x], 2 * n_channels, sums);
	UNROLLED
	for (i = 0; i < n_channels; i++) {
		w = clip_16(sums[2 * i], sums[2 * i + 1]);
		_mm_store_si128((__m128i *)to[i],
				_mm_packus_epi16(_mm256_castsi256_si128(w),
						 _mm256_extracti128_si256(w, 1)));
	}
}

struct piece { /* of a block: results [begin, end), of bytes [from, to) of the rows */
	size_t begin, end, from, to;
};

/* The bytes begin so that a vector's worth follows in the row. */
static void choose_piece(const struct sfs_resample_rows *r, const struct sfs_taps *taps,
			 struct piece *p)
{
	size_t n = r->n_channels, to;

	p->from = (size_t)taps->first[p->begin] * n;
	if (p->from > r->n_row - 32)
		p->from = r->n_row - 32;
	for (p->end = p->begin; p->end < r->n && p->end < p->begin + PIECE_PIXELS;
	     p->end++) {
		to = ((size_t)taps->first[p->end] + taps->n_taps) * n;
		if (to > p->from + PIECE_BYTES)
			break;
		p->to = to;
	}
}

AVX2_INLINE void make_piece(const unsigned char *const rows[BLOCK],
			    const struct sfs_resample_rows *r, int n_channels,
			    const struct sfs_taps *taps, const struct piece *p,
			    unsigned char *to)
{
	column in[PIECE_BYTES] __attribute__((aligned(32)));
	column out[PIECE_PIXELS * 3] __attribute__((aligned(32)));
	size_t n = (p->end - p->begin) * (size_t)n_channels, i, at;

	for (i = p->from; i < p->to; i += 32) {
		at = i < r->n_row - 32 ? i : r->n_row - 32;
		turn_rows(rows, at, in + (at - p->from));
	}
	for (i = p->begin; i < p->end; i++)
		sum_block(in + ((size_t)taps->first[i] * (size_t)n_channels - p->from),
			  n_channels, taps->k + i * taps->stride, taps->n_taps,
			  out + (i - p->begin) * (size_t)n_channels);
	for (i = 0; i < n; i += 32)
		turn_columns(out + i, to + p->begin * (size_t)n_channels + i,
			     r->to_stride);
}

AVX2 static void make_piece_3(const unsigned char *const rows[BLOCK],
			      const struct sfs_resample_rows *r,
			      const struct sfs_taps *taps, const struct piece *p,
			      unsigned char *to)
{
	make_piece(rows, r, 3, taps, p, to);
}

AVX2 static void make_piece_1(const unsigned char *const rows[BLOCK],
			      const struct sfs_resample_rows *r,
			      const struct sfs_taps *taps, const struct piece *p,
			      unsigned char *to)
{
	make_piece(rows, r, 1, taps, p, to);
}

/* 16 rows from row y on; those behind the last are it again. */
static void make_block(const struct sfs_resample_rows *r, const struct sfs_taps *taps,
		       size_t y)
{
	const unsigned char *rows[BLOCK];
	struct piece p;
	size_t i;

	for (i = 0; i < BLOCK; i++)
		rows[i] =
			r->from + (y + i < r->n_rows ? y + i : r->n_rows - 1) * r->n_row;
	for (p.begin = 0; p.begin < r->n; p.begin = p.end) {
		choose_piece(r, taps, &p);
		(r->n_channels == 3
			 ? make_piece_3
			 : make_piece_1)(rows, r, taps, &p, r->to + y * r->to_stride);
	}
}

static bool has_made_rows(const struct sfs_resample_rows *r, const struct sfs_taps *taps)
{
	size_t y;

	if (is_plain || r->n_row < 32 || taps->n_taps > PIECE_BYTES / 3 - 32)
		return false;
	for (y = 0; y < r->n_rows; y += BLOCK)
		make_block(r, taps, y);
	return true;
}

/* 32 bytes. */
AVX2_INLINE void avx2_column_32(const unsigned char *from, size_t stride,
				const int32_t *k, uint32_t n_taps, unsigned char *to)
{
	__m256i sums[4], v;
	uint32_t y;
	int i;

	UNROLLED
	for (i = 0; i < 4; i++)
		sums[i] = _mm256_set1_epi32(HALF);
	for (y = 0; y < n_taps; y++, from += stride)
		add(from, k[y], 4, sums);
	/* (packing works on halves of a vector) */
	v = _mm256_packus_epi16(clip_16(sums[0], sums[1]), clip_16(sums[2], sums[3]));
	_mm256_storeu_si256((__m256i *)to,
			    _mm256_permutevar8x32_epi32(v,
							_mm256_setr_epi32(0, 4, 1, 5, 2,
									  6, 3, 7)));
}

AVX2 static void avx2_column(const unsigned char *from, size_t stride, const int32_t *k,
			     uint32_t n_taps, size_t n, unsigned char *to)
{
	size_t i;

	for (i = 0; i + 32 < n; i += 32)
		avx2_column_32(from + i, stride, k, n_taps, to + i);
	avx2_column_32(from + n - 32, stride, k, n_taps, to + n - 32);
}

static bool has_made_column(const unsigned char *from, size_t stride, const int32_t *k,
			    uint32_t n_taps, size_t n, unsigned char *to)
{
	if (is_plain || n < 32)
		return false;
	avx2_column(from, stride, k, n_taps, n, to);
	return true;
}

bool sfs_resample_set_plain(bool wanted)
{
	is_plain = wanted || !has_avx2;
	return has_avx2;
}
#else
#define has_made_rows(rows, taps)			false
#define has_made_column(from, stride, k, n_taps, n, to) false
bool sfs_resample_set_plain(bool wanted)
{
	(void)wanted;
	return false;
}
#endif

void sfs_resample_rows(const struct sfs_resample_rows *r, const struct sfs_taps *taps)
{
	size_t y;

	if (has_made_rows(r, taps))
		return;
	for (y = 0; y < r->n_rows; y++)
		(r->n_channels == 3 ? plain_row_3
				    : plain_row_1)(r->from + y * r->n_row, taps, r->n,
						   r->to + y * r->to_stride);
}

void sfs_resample_column(const unsigned char *from, size_t stride, const int32_t *k,
			 uint32_t n_taps, size_t n, unsigned char *to)
{
	if (!has_made_column(from, stride, k, n_taps, n, to))
		plain_column(from, stride, k, n_taps, n, to);
}
