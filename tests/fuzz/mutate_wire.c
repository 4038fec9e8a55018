/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations of protobuf that stay protobuf: a field, at any depth, is dropped, doubled, put in the
 * place of another one, or its contents are changed; lengths around it follow. */
#include <string.h>

#include "tests/fuzz/target.h"

enum { MOST_FIELDS = 4096, DEEPEST = 12, LONGEST = 1 << 16 };

/* A field: where it starts, where its contents do, and where it ends. */
typedef struct field {
  size_t start, contents, end;
  uint8_t type;
  uint8_t depth;
  size_t parent; /* index; MOST_FIELDS: none */
} field;

typedef struct message {
  const uint8_t *p;
  field at[MOST_FIELDS];
  size_t n;
} message;

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Reads a varint; returns the position behind it, 0 if there is none. */
static size_t read_varint(const uint8_t *p, size_t at, size_t end, uint64_t *v) {
  *v = 0;
  for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
    *v |= (uint64_t)(p[at] & 127) << shift;
    if (!(p[at++] & 128))
      return at;
  }
  return 0;
}

static size_t write_varint(uint8_t *p, uint64_t v) {
  size_t n = 0;
  for (; v > 127; v >>= 7)
    p[n++] = (uint8_t)(v | 128);
  p[n++] = (uint8_t)v;
  return n;
}

/* Lists the fields of a range; false if it is no message, with nothing listed. */
static int list(message *m, size_t at, size_t end, size_t parent, uint8_t depth) {
  size_t before = m->n;
  while (at < end) {
    uint64_t tag, n = 0;
    field f = {.start = at, .depth = depth, .parent = parent};
    size_t behind = read_varint(m->p, at, end, &tag);
    f.type = tag & 7;
    if (behind && f.type == 2)
      behind = read_varint(m->p, behind, end, &n);
    f.contents = behind;
    if (behind && f.type == 0)
      behind = read_varint(m->p, behind, end, &n);
    else if (behind)
      behind += f.type == 2 ? 0 : f.type == 5 ? 4 : 8;
    if (behind && f.type == 2)
      behind = n <= end ? behind + (size_t)n : 0;
    int known = f.type == 0 || f.type == 1 || f.type == 2 || f.type == 5;
    if (!known || tag < 8 || behind <= at || behind > end || m->n == MOST_FIELDS) {
      m->n = before;
      return 0;
    }
    f.end = behind;
    size_t mine = m->n;
    m->at[m->n++] = f;
    if (f.type == 2 && f.end > f.contents && depth < DEEPEST)
      (void)list(m, f.contents, f.end, mine, (uint8_t)(depth + 1));
    at = f.end;
  }
  return 1;
}

/* Bytes that change, and how many there may be. */
typedef struct bytes {
  uint8_t *p;
  size_t n, most;
} bytes;

/* Puts a piece in the place of `old` bytes at `at`. False if there is no room. */
static int splice(bytes *b, size_t at, size_t old, bytes piece) {
  if (b->n - old + piece.n > b->most)
    return 0;
  memmove(b->p + at + piece.n, b->p + at + old, b->n - at - old);
  memcpy(b->p + at, piece.p, piece.n);
  b->n = b->n - old + piece.n;
  return 1;
}

/* Puts a piece before field f, or with `instead` in its place, and corrects the lengths of all
 * messages around it, the inner ones first: they lie before what has moved. False if there is no
 * room. */
static int replace(const message *m, bytes *b, const field *f, int instead, bytes piece) {
  size_t before = b->n;
  if (!splice(b, f->start, instead ? f->end - f->start : 0, piece))
    return 0;
  for (size_t i = f->parent; i != MOST_FIELDS; i = m->at[i].parent) {
    const field *around = &m->at[i];
    uint8_t was[10], now[10];
    size_t length = around->end - around->contents;
    size_t old = write_varint(was, length), head = write_varint(now, length + b->n - before);
    if (around->contents < around->start + old + 1 ||
        !splice(b, around->contents - old, old, (bytes){now, head, 0}))
      return 0;
  }
  return 1;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* Makes the field that takes the place of f: with other contents. */
static size_t change(const message *m, const field *f, uint8_t *out, size_t most) {
  size_t head = f->contents - f->start, length = f->end - f->contents;
  uint64_t tag;
  uint8_t contents[4096];
  if (length > sizeof contents / 2 || most < sizeof contents + 20)
    return 0;
  memcpy(contents, m->p + f->contents, length);
  if (f->type == 2) {
    length = LLVMFuzzerMutate(contents, length, sizeof contents);
    (void)read_varint(m->p, f->start, f->contents, &tag);
    size_t n = write_varint(out, tag);
    n += write_varint(out + n, length);
    memcpy(out + n, contents, length);
    return n + length;
  }
  memcpy(out, m->p + f->start, head);
  if (f->type == 0) {
    uint64_t v = 0;
    (void)read_varint(m->p, f->contents, f->end, &v);
    (void)LLVMFuzzerMutate((uint8_t *)&v, sizeof v, sizeof v);
    return head + write_varint(out + head, v);
  }
  (void)LLVMFuzzerMutate(contents, length, length);
  memcpy(out + head, contents, length);
  return head + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  static message m;
  static uint8_t made[LONGEST], changed[LONGEST];
  uint32_t state = seed;
  m.p = data;
  m.n = 0;
  if (size > sizeof changed || next(&state) % 8 == 0 || !list(&m, 0, size, MOST_FIELDS, 0) || !m.n)
    return LLVMFuzzerMutate(data, size, most);
  const field *f = &m.at[next(&state) % m.n], *other = &m.at[next(&state) % m.n];
  unsigned choice = next(&state) % 4; /* 0: dropped; 1: another one before it */
  bytes piece = {made, 0, 0};
  if (choice == 1 || choice == 2) {
    piece.n = other->end - other->start;
    memcpy(made, data + other->start, piece.n);
  } else if (choice == 3) {
    piece.n = change(&m, f, made, LONGEST);
  }
  memcpy(changed, data, size);
  bytes now = {changed, size, most < sizeof changed ? most : sizeof changed};
  if (!replace(&m, &now, f, choice != 1, piece) || now.n == 0)
    return LLVMFuzzerMutate(data, size, most);
  memcpy(data, changed, now.n);
  return now.n;
}
