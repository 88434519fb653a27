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

#define HALF	   (1 << (SFS_TAPS_BITS - 1))
#define FINE_SHIFT (SFS_TAPS_BITS - SFS_RESAMPLE_FINE)

static inline unsigned char clip(int32_t sum)
{
	sum >>= SFS_TAPS_BITS;
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

static void plain_fine_column(const unsigned char *from, size_t stride, const int32_t *k,
			      uint32_t n_taps, size_t n, int16_t *to)
{
	int32_t sum;
	uint32_t y;
	size_t i;

	for (i = 0; i < n; i++) {
		sum = 0;
		for (y = 0; y < n_taps; y++)
			sum += from[y * stride + i] * k[y];
		to[i] = (int16_t)(sum >> FINE_SHIFT);
	}
}

/* Of a colour's difference to gray, 15 bits behind the point. */
#define R_BY_CR 13173 /* 0.402; 1 is added apart */
#define B_BY_CB 25297 /* 0.772, likewise */
#define G_BY_CB (-11277) /* -0.344136 */
#define G_BY_CR (-23401) /* -0.714136 */

#define GRAY (128 << SFS_RESAMPLE_FINE)

static inline int32_t part_of(int32_t difference, int32_t k)
{
	return (difference * k + (1 << 14)) >> 15;
}

static void plain_colors(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t n,
			 unsigned char *to)
{
	size_t i;

	for (i = 0; i < n; i++, to += 3) {
		int32_t b = cb[i] - GRAY, r = cr[i] - GRAY;

		to[0] = sfs_resample_round_fine(y[i] + r + part_of(r, R_BY_CR));
		to[1] = sfs_resample_round_fine(y[i] + part_of(b, G_BY_CB) + part_of(r, G_BY_CR));
		to[2] = sfs_resample_round_fine(y[i] + b + part_of(b, B_BY_CB));
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
	return _mm256_packs_epi32(_mm256_srai_epi32(a, SFS_TAPS_BITS),
				  _mm256_srai_epi32(b, SFS_TAPS_BITS));
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

/* 32 values. */
AVX2_INLINE void avx2_fine_32(const unsigned char *from, size_t stride, const int32_t *k,
			      uint32_t n_taps, int16_t *to)
{
	__m256i sums[4] = {0}, v;
	uint32_t y;
	int i;

	for (y = 0; y < n_taps; y++, from += stride)
		add(from, k[y], 4, sums);
	UNROLLED
	for (i = 0; i < 4; i += 2) {
		v = _mm256_packs_epi32(_mm256_srai_epi32(sums[i], FINE_SHIFT),
				       _mm256_srai_epi32(sums[i + 1], FINE_SHIFT));
		_mm256_storeu_si256((__m256i *)(to + (size_t)i * 8),
				    _mm256_permute4x64_epi64(v, 0xd8));
	}
}

AVX2 static bool has_made_fine_column(const unsigned char *from, size_t stride,
				      const int32_t *k, uint32_t n_taps, size_t n,
				      int16_t *to)
{
	size_t i;

	if (is_plain || n < 32)
		return false;
	for (i = 0; i + 32 < n; i += 32)
		avx2_fine_32(from + i, stride, k, n_taps, to + i);
	avx2_fine_32(from + n - 32, stride, k, n_taps, to + n - 32);
	return true;
}

AVX2_INLINE __m256i avx2_part_of(__m256i difference, int k)
{
	return _mm256_mulhrs_epi16(difference, _mm256_set1_epi16((short)k));
}

AVX2_INLINE __m128i avx2_clip_fine(__m256i v)
{
	v = _mm256_adds_epi16(v, _mm256_set1_epi16(1 << (SFS_RESAMPLE_FINE - 1)));
	v = _mm256_srai_epi16(v, SFS_RESAMPLE_FINE);
	return _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* Bytes 16 * i to 16 * i + 15 of R G B R G B ...: where each comes from, or none. */
#define FROM(c, i, at) \
	((16 * (i) + (at)) % 3 == (c) ? (char)((16 * (i) + (at)) / 3) : (char)-1)
#define FROM_4(c, i, at) \
	FROM(c, i, at), FROM(c, i, at + 1), FROM(c, i, at + 2), FROM(c, i, at + 3)
#define FROM_16(c, i) \
	_mm_setr_epi8(FROM_4(c, i, 0), FROM_4(c, i, 4), FROM_4(c, i, 8), FROM_4(c, i, 12))

#define STORE_RGB(to, i, r, g, b)                                                \
	_mm_storeu_si128((__m128i *)((to) + 16 * (i)),                           \
			 _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, FROM_16(0, i)), \
						   _mm_shuffle_epi8(g, FROM_16(1, i))), \
				      _mm_shuffle_epi8(b, FROM_16(2, i))))

/* 16 pixels. */
AVX2_INLINE void avx2_colors_16(__m256i y, __m256i cb, __m256i cr, unsigned char *to)
{
	__m128i r, g, b;

	cb = _mm256_sub_epi16(cb, _mm256_set1_epi16(GRAY));
	cr = _mm256_sub_epi16(cr, _mm256_set1_epi16(GRAY));
	r = avx2_clip_fine(_mm256_adds_epi16(
		y, _mm256_adds_epi16(cr, avx2_part_of(cr, R_BY_CR))));
	g = avx2_clip_fine(_mm256_adds_epi16(
		y, _mm256_adds_epi16(avx2_part_of(cb, G_BY_CB), avx2_part_of(cr, G_BY_CR))));
	b = avx2_clip_fine(_mm256_adds_epi16(
		y, _mm256_adds_epi16(cb, avx2_part_of(cb, B_BY_CB))));
	STORE_RGB(to, 0, r, g, b);
	STORE_RGB(to, 1, r, g, b);
	STORE_RGB(to, 2, r, g, b);
}

/* Returns how many pixels were made. */
AVX2 static size_t avx2_colors(const int16_t *y, const int16_t *cb, const int16_t *cr,
			       size_t n, unsigned char *to)
{
	size_t i;

	if (is_plain)
		return 0;
	for (i = 0; i + 16 <= n; i += 16)
		avx2_colors_16(_mm256_loadu_si256((const __m256i *)(y + i)),
			       _mm256_loadu_si256((const __m256i *)(cb + i)),
			       _mm256_loadu_si256((const __m256i *)(cr + i)), to + i * 3);
	return i;
}

bool sfs_resample_set_plain(bool wanted)
{
	is_plain = wanted || !has_avx2;
	return has_avx2;
}
#else
#define has_made_rows(rows, taps)			false
#define has_made_column(from, stride, k, n_taps, n, to)	     false
#define has_made_fine_column(from, stride, k, n_taps, n, to) false
#define avx2_colors(y, cb, cr, n, to)			     (size_t)0
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

void sfs_resample_fine_column(const unsigned char *from, size_t stride, const int32_t *k,
			      uint32_t n_taps, size_t n, int16_t *to)
{
	if (!has_made_fine_column(from, stride, k, n_taps, n, to))
		plain_fine_column(from, stride, k, n_taps, n, to);
}

void sfs_resample_colors(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t n,
			 unsigned char *to)
{
	size_t i = avx2_colors(y, cb, cr, n, to);

	plain_colors(y + i, cb + i, cr + i, n - i, to + 3 * i);
}
