/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the reader of .npy files; their header is a Python dict with three keys, as text. */
#include "frontend/npy/npy.h"

enum { MAGIC_BYTES = 6, MAX_HEADER = 1 << 20 };

typedef struct npy {
  tl_module *store;
  const tl_file *file;
  tl_sv rest; /* of the header */
  tl_sv descr;
  bool fortran;
  bool has_descr, has_order, has_shape;
  int rank;
  int64_t dims[TL_MAX_RANK];
  uint64_t start; /* of the elements, bytes into the file */
  tl_dtype dtype;
  bool swapped; /* the file has the other byte order */
} npy;

static tl_status fail(const npy *x, const char *what) {
  return tl_fail(x->store->diag, TL_INVALID_MODEL, TL_AT_FILE(x->file->path),
                 "malformed .npy file: %s", what);
}

/* ---- header --------------------------------------------------------------------------------- */

static tl_status open_header(npy *x) {
  const unsigned char *p = x->file->data;
  uint64_t size = x->file->size;
  if (size < MAGIC_BYTES + 4 || memcmp(p, "\x93NUMPY", MAGIC_BYTES) != 0)
    return fail(x, "it does not begin with \\x93NUMPY");
  unsigned major = p[MAGIC_BYTES], width = major == 1 ? 2 : 4;
  if (major < 1 || major > 3 || p[MAGIC_BYTES + 1] != 0)
    return tl_fail(x->store->diag, TL_UNSUPPORTED, TL_AT_FILE(x->file->path),
                   "version %u.%u of the .npy format; versions 1.0 to 3.0 are supported", major,
                   p[MAGIC_BYTES + 1]);
  uint64_t begin = MAGIC_BYTES + 2 + width, length = 0;
  for (unsigned i = 0; size >= begin && i < width; i++)
    length |= (uint64_t)p[MAGIC_BYTES + 2 + i] << (8 * i);
  if (size < begin || length > size - begin)
    return fail(x, "the header is cut off");
  if (length > MAX_HEADER)
    return fail(x, "the header is longer than 1 MiB");
  x->rest = (tl_sv){(const char *)p + begin, (size_t)length};
  x->start = begin + length;
  return TL_OK;
}

static void skip_blanks(npy *x) {
  while (x->rest.n && strchr(" \t\r\n", x->rest.p[0]) && x->rest.p[0]) {
    x->rest.p++;
    x->rest.n--;
  }
}

/* Skips blanks and takes one character if it is c. */
static bool take(npy *x, char c) {
  skip_blanks(x);
  if (!x->rest.n || x->rest.p[0] != c)
    return false;
  x->rest.p++;
  x->rest.n--;
  return true;
}

static bool take_word(npy *x, const char *word) {
  skip_blanks(x);
  if (!tl_sv_starts_with(x->rest, word))
    return false;
  x->rest.p += strlen(word);
  x->rest.n -= strlen(word);
  return true;
}

/* Takes a quoted string. Escapes are not supported; no valid key or element code needs them. */
static bool take_string(npy *x, tl_sv *out) {
  char quote = take(x, '\'') ? '\'' : take(x, '"') ? '"' : 0;
  const char *end = quote && x->rest.n ? memchr(x->rest.p, quote, x->rest.n) : NULL;
  if (!end)
    return false;
  *out = (tl_sv){x->rest.p, (size_t)(end - x->rest.p)};
  x->rest.n -= out->n + 1;
  x->rest.p = end + 1;
  return out->n == 0 || !memchr(out->p, '\\', out->n);
}

static bool take_size(npy *x, int64_t *out) {
  skip_blanks(x);
  size_t n = 0;
  while (n < x->rest.n && x->rest.p[n] >= '0' && x->rest.p[n] <= '9')
    n++;
  if (!n || !tl_parse_i64((tl_sv){x->rest.p, n}, out))
    return false;
  x->rest.p += n;
  x->rest.n -= n;
  (void)take(x, 'L'); /* suffix of long integers in Python 2 */
  return true;
}

static tl_status take_shape(npy *x) {
  if (!take(x, '('))
    return fail(x, "the shape is not a tuple");
  while (!take(x, ')')) {
    if (x->rank == TL_MAX_RANK)
      return tl_fail(x->store->diag, TL_LIMIT, TL_AT_FILE(x->file->path), "rank is beyond %d",
                     TL_MAX_RANK);
    if (!take_size(x, &x->dims[x->rank++]))
      return fail(x, "a dim is not a size");
    if (x->rank > 1 && take(x, ')'))
      break;
    if (!take(x, ','))
      return fail(x, "the dims are not separated by commas");
  }
  x->has_shape = true;
  return TL_OK;
}

static tl_status take_descr(npy *x) {
  skip_blanks(x);
  if (x->rest.n && x->rest.p[0] == '[')
    return tl_fail(x->store->diag, TL_UNSUPPORTED, TL_AT_FILE(x->file->path),
                   "an array of records; only numbers and bool are supported");
  x->has_descr = take_string(x, &x->descr);
  return x->has_descr ? TL_OK : fail(x, "descr is not a string");
}

static tl_status take_entry(npy *x) {
  tl_sv key;
  if (!take_string(x, &key) || !take(x, ':'))
    return fail(x, "the header is not a dict with string keys");
  if (tl_sv_is(key, "descr") && !x->has_descr)
    return take_descr(x);
  if (tl_sv_is(key, "shape") && !x->has_shape)
    return take_shape(x);
  if (!tl_sv_is(key, "fortran_order") || x->has_order)
    return fail(x, "the header has an unknown key, or a key twice");
  x->fortran = take_word(x, "True");
  x->has_order = x->fortran || take_word(x, "False");
  return x->has_order ? TL_OK : fail(x, "fortran_order is not True or False");
}

static tl_status read_header(npy *x) {
  TL_TRY(open_header(x));
  if (!take(x, '{'))
    return fail(x, "the header is not a dict");
  while (!take(x, '}')) {
    TL_TRY(take_entry(x));
    if (!take(x, ',')) {
      if (take(x, '}'))
        break;
      return fail(x, "the entries of the header are not separated by commas");
    }
  }
  skip_blanks(x);
  if (x->rest.n)
    return fail(x, "something follows the header's dict");
  if (!x->has_descr || !x->has_order || !x->has_shape)
    return fail(x, "the header lacks one of descr, fortran_order, shape");
  return TL_OK;
}

/* ---- elements ------------------------------------------------------------------------------- */

static tl_status find_dtype(npy *x) {
  static const struct {
    const char *kind;
    tl_dtype dtype;
  } rows[] = {{"f2", TL_DTYPE_F16}, {"f4", TL_DTYPE_F32},  {"f8", TL_DTYPE_F64},
              {"i1", TL_DTYPE_I8},  {"i2", TL_DTYPE_I16},  {"i4", TL_DTYPE_I32},
              {"i8", TL_DTYPE_I64}, {"u1", TL_DTYPE_U8},   {"u2", TL_DTYPE_U16},
              {"u4", TL_DTYPE_U32}, {"u8", TL_DTYPE_U64},  {"b1", TL_DTYPE_BOOL},
              {"c8", TL_DTYPE_C64}, {"c16", TL_DTYPE_C128}};
  tl_sv kind = {x->descr.p + 1, x->descr.n ? x->descr.n - 1 : 0};
  char order = x->descr.n ? x->descr.p[0] : 0;
  for (size_t i = 0; order && strchr("<>|=", order) && i < sizeof rows / sizeof *rows; i++) {
    if (!tl_sv_is(kind, rows[i].kind))
      continue;
    x->dtype = rows[i].dtype;
    x->swapped = order == '>';
    return TL_OK;
  }
  return tl_fail(x->store->diag, TL_UNSUPPORTED, TL_AT_FILE(x->file->path),
                 "elements of type '%.*s'; only numbers and bool are supported\vuse .pb files "
                 "(TensorProto) for strings, bf16 and fp8",
                 TL_SV_ARG(x->descr));
}

static tl_status check_size(const npy *x, uint64_t *bytes) {
  uint64_t n = 1, has = x->file->size - x->start;
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] == 0)
      n = 0;
  for (int i = 0; n && i < x->rank; i++)
    if (__builtin_mul_overflow(n, (uint64_t)x->dims[i], &n))
      return fail(x, "the dims multiply to more than 2^64");
  if (!tl_dtype_bytes(x->dtype, n, bytes))
    return fail(x, "the elements need more than 2^64 bytes");
  if (*bytes == has)
    return TL_OK;
  return tl_fail(x->store->diag, TL_INVALID_MODEL, TL_AT_FILE(x->file->path),
                 "the elements need %llu bytes, the file holds %llu", (unsigned long long)*bytes,
                 (unsigned long long)has);
}

static void copy_element(const npy *x, unsigned char *to, const unsigned char *from, size_t size) {
  size_t word = x->dtype == TL_DTYPE_C64 || x->dtype == TL_DTYPE_C128 ? size / 2 : size;
  for (size_t w = 0; w < size; w += word)
    for (size_t i = 0; i < word; i++)
      to[w + i] = from[w + (x->swapped ? word - 1 - i : i)];
}

/* Moves to the next element in row-major order; *at: its position in the file's order. False at the
 * end. */
static bool advance(const npy *x, int64_t *index, const uint64_t *strides, uint64_t *at) {
  for (int i = x->rank - 1; i >= 0; i--) {
    *at += strides[i];
    if (++index[i] < x->dims[i])
      return true;
    *at -= strides[i] * (uint64_t)x->dims[i];
    index[i] = 0;
  }
  return false;
}

static void rearrange(const npy *x, tl_host *to) {
  int64_t index[TL_MAX_RANK] = {0};
  uint64_t strides[TL_MAX_RANK], step = 1, at = 0;
  size_t size = tl_host_element_size(x->dtype);
  const unsigned char *from = x->file->data + x->start;
  for (int k = 0; k < x->rank; k++) {
    int i = x->fortran ? k : x->rank - 1 - k;
    strides[i] = step;
    step *= (uint64_t)x->dims[i];
  }
  for (uint64_t n = 0; n < to->n; n++) {
    copy_element(x, (unsigned char *)to->data + n * size, from + at * size, size);
    (void)advance(x, index, strides, &at);
  }
}

static tl_status read_elements(npy *x, tl_host_heap *heap, tl_host **out) {
  uint64_t bytes;
  TL_TRY(find_dtype(x));
  TL_TRY(check_size(x, &bytes));
  const unsigned char *data = x->file->data + x->start;
  bool plain = !x->swapped && (!x->fortran || x->rank < 2);
  bool aligned = ((uintptr_t)data & 7) == 0;
  *out = plain && aligned ? tl_host_borrow(heap, x->dtype, x->rank, x->dims, data)
                          : tl_host_new(heap, x->dtype, x->rank, x->dims);
  if (!*out)
    return tl_fail(x->store->diag, heap->limit ? TL_LIMIT : TL_NO_MEMORY, TL_AT_FILE(x->file->path),
                   "the %llu bytes of elements do not fit into memory", (unsigned long long)bytes);
  if (!plain)
    rearrange(x, *out);
  else if (!aligned && bytes)
    memcpy((*out)->data, data, bytes);
  return TL_OK;
}

tl_status tl_npy_load(tl_module *store, const char *path, tl_host_heap *heap, tl_host **out) {
  tl_file *file;
  TL_TRY(tl_file_open(store->diag, path, TL_FILE_MAP, &file));
  npy x = {.store = store, .file = file};
  TL_TRY(tl_module_add_file(store, file));
  TL_TRY(read_header(&x));
  return read_elements(&x, heap, out);
}
