/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the reader of .npz files. A zip file ends with a record that says where its directory
 * is; the directory says where each member begins. Numbers are little-endian. A field of all ones
 * means that the number stands in a record of 64 bits (zip64). Source of the layout: the published
 * zip application note, version 6.3. */
#include "frontend/npy/npz.h"

enum {
  END_BYTES = 22, /* of the record at the end, without its comment */
  MAX_COMMENT = 65535,
  END64_BYTES = 56,
  LOCATOR64_BYTES = 20,
  ENTRY_BYTES = 46, /* of a directory entry, without name and extra fields */
  LOCAL_BYTES = 30, /* of the header in front of a member, likewise */
  EXTRA_ZIP64 = 1
};

/* State of reading one archive. */
typedef struct npz {
  tl_module *store;
  const tl_file *file;
  uint64_t at; /* of the next directory entry */
  uint64_t end;
} npz;

/* A member of the archive. */
typedef struct member {
  tl_sv name;
  unsigned method; /* 0: stored */
  unsigned flags;
  uint64_t packed; /* bytes in the archive */
  uint64_t size;   /* bytes without compression */
  uint64_t header; /* where its own header begins */
} member;

static tl_status fail(const npz *z, const char *what) {
  return tl_fail(z->store->diag, TL_INVALID_MODEL, TL_AT_FILE(z->file->path),
                 "malformed .npz file: %s", what);
}

static uint64_t number(const unsigned char *p, unsigned bytes) {
  uint64_t v = 0;
  for (unsigned i = 0; i < bytes; i++)
    v |= (uint64_t)p[i] << (8 * i);
  return v;
}

/* Returns true if n bytes from `at` on are in the file. */
static bool has(const npz *z, uint64_t at, uint64_t n) {
  return at <= z->file->size && n <= z->file->size - at;
}

/* ---- the directory --------------------------------------------------------------------------- */

/* Finds the record at the end of the file; UINT64_MAX: there is none. */
static uint64_t find_end(const npz *z) {
  uint64_t size = z->file->size;
  for (uint64_t back = END_BYTES; back <= size && back <= END_BYTES + MAX_COMMENT; back++)
    if (memcmp(z->file->data + size - back, "PK\5\6", 4) == 0)
      return size - back;
  return UINT64_MAX;
}

/* Reads where the directory is from the record of 64 bits, if there is one. */
static bool open_directory64(npz *z, uint64_t end) {
  if (end < LOCATOR64_BYTES || memcmp(z->file->data + end - LOCATOR64_BYTES, "PK\6\7", 4) != 0)
    return false;
  uint64_t at = number(z->file->data + end - LOCATOR64_BYTES + 8, 8);
  if (!has(z, at, END64_BYTES) || memcmp(z->file->data + at, "PK\6\6", 4) != 0)
    return false;
  z->at = number(z->file->data + at + 48, 8);
  z->end = number(z->file->data + at + 40, 8);
  return true;
}

static tl_status open_directory(npz *z) {
  uint64_t end = find_end(z);
  if (end == UINT64_MAX)
    return fail(z, "it has no zip directory");
  if (!open_directory64(z, end)) {
    z->end = number(z->file->data + end + 12, 4);
    z->at = number(z->file->data + end + 16, 4);
  }
  if (!has(z, z->at, z->end))
    return fail(z, "its directory lies outside of the file");
  z->end += z->at;
  return TL_OK;
}

/* Takes a number of 64 bits from an extra field if the one of 32 bits is all ones. */
static bool widen(uint64_t *v, const unsigned char **p, const unsigned char *end) {
  if (*v != UINT32_MAX)
    return true;
  if (end - *p < 8)
    return false;
  *v = number(*p, 8);
  *p += 8;
  return true;
}

/* Reads the extra fields of an entry. */
static bool read_extra(member *m, const unsigned char *p, uint64_t n) {
  const unsigned char *end = p + n;
  while (end - p >= 4) {
    uint64_t size = number(p + 2, 2);
    bool wide = number(p, 2) == EXTRA_ZIP64;
    p += 4;
    if (size > (uint64_t)(end - p))
      return false;
    const unsigned char *field = p;
    p += size;
    if (wide)
      return widen(&m->size, &field, p) && widen(&m->packed, &field, p) &&
             widen(&m->header, &field, p);
  }
  return true;
}

static tl_status next_member(npz *z, member *m) {
  if (z->end - z->at < ENTRY_BYTES || memcmp(z->file->data + z->at, "PK\1\2", 4) != 0)
    return fail(z, "an entry of its directory is damaged");
  const unsigned char *p = z->file->data + z->at;
  uint64_t name = number(p + 28, 2), extra = number(p + 30, 2), comment = number(p + 32, 2);
  if (name + extra + comment > z->end - z->at - ENTRY_BYTES)
    return fail(z, "an entry of its directory is cut off");
  *m = (member){.name = {(const char *)p + ENTRY_BYTES, (size_t)name},
                .flags = (unsigned)number(p + 8, 2),
                .method = (unsigned)number(p + 10, 2),
                .packed = number(p + 20, 4),
                .size = number(p + 24, 4),
                .header = number(p + 42, 4)};
  z->at += ENTRY_BYTES + name + extra + comment;
  return read_extra(m, p + ENTRY_BYTES + name, extra)
             ? TL_OK
             : fail(z, "an extra field of its directory is damaged");
}

/* ---- members --------------------------------------------------------------------------------- */

/* Finds the bytes of a member, which has its name once more in front of it. */
static tl_status bytes_of(const npz *z, const member *m, tl_sv *out) {
  if (m->method != 0 || (m->flags & 1))
    return tl_fail(z->store->diag, TL_UNSUPPORTED, TL_AT_FILE(z->file->path),
                   "'%.*s' is %s\vwrite the file with numpy.savez instead of "
                   "numpy.savez_compressed",
                   TL_SV_ARG(tl_sv_shown(m->name)), m->flags & 1 ? "encrypted" : "compressed");
  if (!has(z, m->header, LOCAL_BYTES) || memcmp(z->file->data + m->header, "PK\3\4", 4) != 0)
    return fail(z, "the header of a member is damaged");
  const unsigned char *p = z->file->data + m->header;
  uint64_t start = m->header + LOCAL_BYTES + number(p + 26, 2) + number(p + 28, 2);
  if (m->packed != m->size || !has(z, start, m->size))
    return fail(z, "a member lies outside of the file");
  *out = (tl_sv){(const char *)z->file->data + start, (size_t)m->size};
  return TL_OK;
}

static tl_status load_all(npz *z, tl_host_heap *heap, tl_npz_fn fn, void *user) {
  if (z->at == z->end)
    return fail(z, "it holds no arrays");
  while (z->at < z->end) {
    member m;
    tl_sv bytes;
    tl_host *value = NULL;
    TL_TRY(next_member(z, &m));
    if (!tl_sv_ends_with(m.name, ".npy"))
      return fail(z, "a member is no .npy file");
    TL_TRY(bytes_of(z, &m, &bytes));
    TL_TRY(tl_npy_read(z->store, z->file->path, bytes, heap, &value));
    TL_TRY(fn(user, (tl_sv){m.name.p, m.name.n - 4}, value));
  }
  return TL_OK;
}

tl_status tl_npz_load(tl_module *store, const char *path, tl_host_heap *heap, tl_npz_fn fn,
                      void *user) {
  tl_file *file;
  TL_TRY(tl_file_open(store->diag, path, TL_FILE_MAP, &file));
  npz z = {.store = store, .file = file};
  TL_TRY(tl_module_add_file(store, file));
  TL_TRY(open_directory(&z));
  return load_all(&z, heap, fn, user);
}
