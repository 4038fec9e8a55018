/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the reader of .npy files; their header is a Python dict with three keys, as text. */
#include "frontend/npy/npy.h"

enum { MAGIC_BYTES = 6, MAX_HEADER = 1 << 20 };

typedef struct npy {
  tl_module *store;
  const char *path;
  const unsigned char *data; /* the whole array file, in a mapped file */
  uint64_t size;
  tl_sv rest; /* of the header */
  tl_sv descr;
  bool fortran;
  bool has_descr, has_order, has_shape;
  int rank;
  int64_t dims[TL_MAX_RANK];
  uint64_t start; /* of the elements, bytes into the data */
  tl_dtype dtype;
  bool swapped; /* the file has another byte order than memory */
} npy;

static tl_status fail(const npy *reader, const char *what) {
  return tl_fail(reader->store->diag, TL_INVALID_MODEL, TL_AT_FILE(reader->path),
                 "malformed .npy file: %s", what);
}

/* ---- header --------------------------------------------------------------------------------- */

static tl_status open_header(npy *reader) {
  const unsigned char *p = reader->data;
  uint64_t size = reader->size;
  if (size < MAGIC_BYTES + 4 || memcmp(p, "\x93NUMPY", MAGIC_BYTES) != 0)
    return fail(reader, "it does not begin with \\x93NUMPY");
  unsigned major = p[MAGIC_BYTES], width = major == 1 ? 2 : 4;
  if (major < 1 || major > 3 || p[MAGIC_BYTES + 1] != 0)
    return tl_fail(reader->store->diag, TL_UNSUPPORTED, TL_AT_FILE(reader->path),
                   "version %u.%u of the .npy format; versions 1.0 to 3.0 are supported", major,
                   p[MAGIC_BYTES + 1]);
  uint64_t begin = MAGIC_BYTES + 2 + width, length = 0;
  for (unsigned i = 0; size >= begin && i < width; i++)
    length |= (uint64_t)p[MAGIC_BYTES + 2 + i] << (8 * i);
  if (size < begin || length > size - begin)
    return fail(reader, "the header is cut off");
  if (length > MAX_HEADER)
    return fail(reader, "the header is longer than 1 MiB");
  reader->rest = (tl_sv){(const char *)p + begin, (size_t)length};
  reader->start = begin + length;
  return TL_OK;
}

static void skip_blanks(npy *reader) {
  while (reader->rest.n && strchr(" \t\r\n", reader->rest.p[0]) && reader->rest.p[0]) {
    reader->rest.p++;
    reader->rest.n--;
  }
}

/* Skips blanks and takes one character if it is c. */
static bool take(npy *reader, char c) {
  skip_blanks(reader);
  if (!reader->rest.n || reader->rest.p[0] != c)
    return false;
  reader->rest.p++;
  reader->rest.n--;
  return true;
}

static bool take_word(npy *reader, const char *word) {
  skip_blanks(reader);
  if (!tl_sv_starts_with(reader->rest, word))
    return false;
  reader->rest.p += strlen(word);
  reader->rest.n -= strlen(word);
  return true;
}

/* Takes a quoted string. Escapes are not supported; no valid key or element code needs them. */
static bool take_string(npy *reader, tl_sv *out) {
  char quote = take(reader, '\'') ? '\'' : take(reader, '"') ? '"' : 0;
  const char *end = quote && reader->rest.n ? memchr(reader->rest.p, quote, reader->rest.n) : NULL;
  if (!end)
    return false;
  *out = (tl_sv){reader->rest.p, (size_t)(end - reader->rest.p)};
  reader->rest.n -= out->n + 1;
  reader->rest.p = end + 1;
  return out->n == 0 || !memchr(out->p, '\\', out->n);
}

static bool take_size(npy *reader, int64_t *out) {
  skip_blanks(reader);
  size_t n = 0;
  while (n < reader->rest.n && reader->rest.p[n] >= '0' && reader->rest.p[n] <= '9')
    n++;
  if (!n || !tl_parse_i64((tl_sv){reader->rest.p, n}, out))
    return false;
  reader->rest.p += n;
  reader->rest.n -= n;
  (void)take(reader, 'L'); /* suffix of long integers in Python 2 */
  return true;
}

static tl_status take_shape(npy *reader) {
  if (!take(reader, '('))
    return fail(reader, "the shape is not a tuple");
  while (!take(reader, ')')) {
    if (reader->rank == TL_MAX_RANK)
      return tl_fail(reader->store->diag, TL_LIMIT, TL_AT_FILE(reader->path), "rank is beyond %d",
                     TL_MAX_RANK);
    if (!take_size(reader, &reader->dims[reader->rank++]))
      return fail(reader, "a dim is not a size");
    if (reader->rank > 1 && take(reader, ')'))
      break;
    if (!take(reader, ','))
      return fail(reader, "the dims are not separated by commas");
  }
  reader->has_shape = true;
  return TL_OK;
}

static tl_status take_descr(npy *reader) {
  skip_blanks(reader);
  if (reader->rest.n && reader->rest.p[0] == '[')
    return tl_fail(reader->store->diag, TL_UNSUPPORTED, TL_AT_FILE(reader->path),
                   "an array of records; only numbers and bool are supported");
  reader->has_descr = take_string(reader, &reader->descr);
  return reader->has_descr ? TL_OK : fail(reader, "descr is not a string");
}

static tl_status take_entry(npy *reader) {
  tl_sv key;
  if (!take_string(reader, &key) || !take(reader, ':'))
    return fail(reader, "the header is not a dict with string keys");
  if (tl_sv_is(key, "descr") && !reader->has_descr)
    return take_descr(reader);
  if (tl_sv_is(key, "shape") && !reader->has_shape)
    return take_shape(reader);
  if (!tl_sv_is(key, "fortran_order") || reader->has_order)
    return fail(reader, "the header has an unknown key, or a key twice");
  reader->fortran = take_word(reader, "True");
  reader->has_order = reader->fortran || take_word(reader, "False");
  return reader->has_order ? TL_OK : fail(reader, "fortran_order is not True or False");
}

static tl_status read_header(npy *reader) {
  TL_TRY(open_header(reader));
  if (!take(reader, '{'))
    return fail(reader, "the header is not a dict");
  while (!take(reader, '}')) {
    TL_TRY(take_entry(reader));
    if (!take(reader, ',')) {
      if (take(reader, '}'))
        break;
      return fail(reader, "the entries of the header are not separated by commas");
    }
  }
  skip_blanks(reader);
  if (reader->rest.n)
    return fail(reader, "something follows the header's dict");
  if (!reader->has_descr || !reader->has_order || !reader->has_shape)
    return fail(reader, "the header lacks one of descr, fortran_order, shape");
  return TL_OK;
}

/* ---- elements ------------------------------------------------------------------------------- */

static tl_status find_dtype(npy *reader) {
  static const struct {
    const char *kind;
    tl_dtype dtype;
  } rows[] = {{"f2", TL_DTYPE_F16}, {"f4", TL_DTYPE_F32},  {"f8", TL_DTYPE_F64},
              {"i1", TL_DTYPE_I8},  {"i2", TL_DTYPE_I16},  {"i4", TL_DTYPE_I32},
              {"i8", TL_DTYPE_I64}, {"u1", TL_DTYPE_U8},   {"u2", TL_DTYPE_U16},
              {"u4", TL_DTYPE_U32}, {"u8", TL_DTYPE_U64},  {"b1", TL_DTYPE_BOOL},
              {"c8", TL_DTYPE_C64}, {"c16", TL_DTYPE_C128}};
  tl_sv kind = {reader->descr.p + 1, reader->descr.n ? reader->descr.n - 1 : 0};
  char order = reader->descr.n ? reader->descr.p[0] : 0;
  for (size_t i = 0; order && strchr("<>|=", order) && i < sizeof rows / sizeof *rows; i++) {
    if (!tl_sv_is(kind, rows[i].kind))
      continue;
    reader->dtype = rows[i].dtype;
    reader->swapped = (order == '>') == TL_ORDER_OF_FILES && tl_order_unit(reader->dtype) > 1;
    return TL_OK;
  }
  return tl_fail(reader->store->diag, TL_UNSUPPORTED, TL_AT_FILE(reader->path),
                 "elements of type '%.*s'; only numbers and bool are supported\vuse .pb files "
                 "(TensorProto) for strings, bf16 and fp8",
                 TL_SV_ARG(reader->descr));
}

static tl_status check_size(const npy *reader, uint64_t *bytes) {
  uint64_t n = 1, has = reader->size - reader->start;
  for (int i = 0; i < reader->rank; i++)
    if (reader->dims[i] == 0)
      n = 0;
  for (int i = 0; n && i < reader->rank; i++)
    if (__builtin_mul_overflow(n, (uint64_t)reader->dims[i], &n))
      return fail(reader, "the dims multiply to more than 2^64");
  if (!tl_dtype_bytes(reader->dtype, n, bytes))
    return fail(reader, "the elements need more than 2^64 bytes");
  if (*bytes == has)
    return TL_OK;
  return tl_fail(reader->store->diag, TL_INVALID_MODEL, TL_AT_FILE(reader->path),
                 "the elements need %llu bytes, the file holds %llu", (unsigned long long)*bytes,
                 (unsigned long long)has);
}

static void copy_element(const npy *reader, unsigned char *to, const unsigned char *from,
                         size_t size) {
  size_t word = reader->dtype == TL_DTYPE_C64 || reader->dtype == TL_DTYPE_C128 ? size / 2 : size;
  for (size_t w = 0; w < size; w += word)
    for (size_t i = 0; i < word; i++)
      to[w + i] = from[w + (reader->swapped ? word - 1 - i : i)];
}

/* Moves to the next element in row-major order; *at: its position in the file's order. False at the
 * end. */
static bool advance(const npy *reader, int64_t *index, const uint64_t *strides, uint64_t *at) {
  for (int i = reader->rank - 1; i >= 0; i--) {
    *at += strides[i];
    if (++index[i] < reader->dims[i])
      return true;
    *at -= strides[i] * (uint64_t)reader->dims[i];
    index[i] = 0;
  }
  return false;
}

static void rearrange(const npy *reader, tl_host *to) {
  int64_t index[TL_MAX_RANK] = {0};
  uint64_t strides[TL_MAX_RANK], step = 1, at = 0;
  size_t size = tl_host_element_size(reader->dtype);
  const unsigned char *from = reader->data + reader->start;
  for (int k = 0; k < reader->rank; k++) {
    int i = reader->fortran ? k : reader->rank - 1 - k;
    strides[i] = step;
    step *= (uint64_t)reader->dims[i];
  }
  for (uint64_t n = 0; n < to->n; n++) {
    copy_element(reader, (unsigned char *)to->data + n * size, from + at * size, size);
    (void)advance(reader, index, strides, &at);
  }
}

static tl_status read_elements(npy *reader, tl_host_heap *heap, tl_host **out) {
  uint64_t bytes;
  TL_TRY(find_dtype(reader));
  TL_TRY(check_size(reader, &bytes));
  const unsigned char *data = reader->data + reader->start;
  bool plain = !reader->swapped && (!reader->fortran || reader->rank < 2);
  bool aligned = ((uintptr_t)data & 7) == 0;
  *out = plain && aligned ? tl_host_borrow(heap, reader->dtype, reader->rank, reader->dims, data)
                          : tl_host_new(heap, reader->dtype, reader->rank, reader->dims);
  if (!*out)
    return tl_fail(reader->store->diag, heap->limit ? TL_LIMIT : TL_NO_MEMORY,
                   TL_AT_FILE(reader->path), "the %llu bytes of elements do not fit into memory",
                   (unsigned long long)bytes);
  if (!plain)
    rearrange(reader, *out);
  else if (!aligned && bytes)
    memcpy((*out)->data, data, (size_t)bytes);
  return TL_OK;
}

tl_status tl_npy_read(tl_module *store, const char *path, tl_sv bytes, tl_host_heap *heap,
                      tl_host **out) {
  npy reader = {
      .store = store, .path = path, .data = (const unsigned char *)bytes.p, .size = bytes.n};
  TL_TRY(read_header(&reader));
  return read_elements(&reader, heap, out);
}

tl_status tl_npy_load(tl_module *store, const char *path, tl_host_heap *heap, tl_host **out) {
  tl_file *file;
  TL_TRY(tl_file_open(store->diag, path, TL_FILE_MAP, &file));
  TL_TRY(tl_module_add_file(store, file));
  return tl_npy_read(store, file->path, (tl_sv){(const char *)file->data, (size_t)file->size}, heap,
                     out);
}
