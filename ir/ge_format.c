/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of tensors in GE, and the notes that keep them (ge_format.h). */
#include "ir/ge_format.h"

#include <stdio.h>

#include "ir/graph.h"
#include "ir/ops_gen.h"

/* By number. */
/* clang-format off */
static const char *const names[] = {
    "NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1C0HWPAD", "NHWC1C0", "FSR_NCHW",
    "FRACTAL_DECONV", "C1HWNC0", "FRACTAL_DECONV_TRANSPOSE", "FRACTAL_DECONV_SP_STRIDE_TRANS",
    "NC1HWC0_C04", "FRACTAL_Z_C04", "CHWN", "DECONV_SP_STRIDE8_TRANS", "HWCN", "NC1KHKWHWC0",
    "BN_WEIGHT", "FILTER_HWCK", "LOOKUP_LOOKUPS", "LOOKUP_KEYS", "LOOKUP_VALUE",
    "LOOKUP_OUTPUT", "LOOKUP_HITS", "C1HWNCoC0", "MD", "NDHWC", "FRACTAL_ZZ", "FRACTAL_NZ",
    "NCDHW", "DHWCN", "NDC1HWC0", "FRACTAL_Z_3D", "CN", "NC", "DHWNC",
    "FRACTAL_Z_3D_TRANSPOSE", "FRACTAL_ZN_LSTM", "FRACTAL_Z_G", "FORMAT_RESERVED", "ALL",
    "NULL", "ND_RNN_BIAS", "FRACTAL_ZN_RNN", "NYUV", "NYUV_A", "NCL", "FRACTAL_Z_WINO",
    "C1HWC0", "FRACTAL_NZ_C0_16", "FRACTAL_NZ_C0_32", "FRACTAL_NZ_C0_2", "FRACTAL_NZ_C0_4",
    "FRACTAL_NZ_C0_8"};
/* clang-format on */
enum { N_NAMES = sizeof names / sizeof *names, PRIMARY = 0xff };

const char *tl_ge_format_name(int64_t number) {
  int64_t primary = number & PRIMARY;
  return number >= 0 && primary < N_NAMES ? names[primary] : NULL;
}

int64_t tl_ge_format_number(tl_sv name) {
  for (int i = 0; i < N_NAMES; i++)
    if (tl_sv_is(name, names[i]))
      return i;
  return -1;
}

int64_t tl_ge_own_number(tl_ge_format format) {
  return format == TL_GE_NCHW    ? TL_NUMBER_NCHW
         : format == TL_GE_NCDHW ? TL_NUMBER_NCDHW
                                 : TL_NUMBER_ND;
}

tl_ge_format tl_ge_fitting(const tl_module *m, tl_type_id type, tl_ge_format format) {
  const tl_type *t = tl_type_get(m, type);
  bool fits = (format == TL_GE_NCHW && t->rank == 4) || (format == TL_GE_NCDHW && t->rank == 5);
  return fits ? format : TL_GE_ND;
}

tl_ge_format tl_ge_declared(const tl_module *m, tl_node_id n) {
  const tl_op *op = tl_op_row(tl_node_get(m, n)->op);
  if (op && (op->traits & TL_TRAIT_IMAGES)) {
    const tl_type *t = tl_type_get(m, tl_value_type(m, tl_operand(m, n, 0)));
    return t->rank == 5 ? TL_GE_NCDHW : TL_GE_NCHW;
  }
  const tl_attr *given = op ? tl_node_attr_or_default(m, n, TL_SYM_data_format) : NULL;
  if (!given || given->kind != TL_ATTR_STRING)
    return TL_GE_ND;
  return given->u.s == TL_SYM_NCHW    ? TL_GE_NCHW
         : given->u.s == TL_SYM_NCDHW ? TL_GE_NCDHW
                                      : TL_GE_ND;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Reads "NAME" or "NAME:NUMBER". */
static bool read_format(tl_sv text, int64_t *out) {
  tl_sv rest = text;
  tl_sv name = tl_sv_split(&rest, ':');
  *out = tl_ge_format_number(name);
  return rest.p ? tl_parse_i64(rest, out) && tl_ge_format_name(*out) : *out >= 0;
}

bool tl_port_note_read(tl_sv note, tl_port_note *out) {
  *out = (tl_port_note){.storage = TL_NUMBER_ND, .origin = TL_NUMBER_ND};
  if (note.n && note.p[0] == '=') {
    out->whole = (tl_sv){note.p + 1, note.n - 1};
    return true;
  }
  const char *blank = note.n ? memchr(note.p, ' ', note.n) : NULL;
  size_t n = blank ? (size_t)(blank - note.p) : note.n;
  if (blank)
    out->more = (tl_sv){blank + 1, note.n - n - 1};
  tl_sv dims = {note.p, n};
  tl_sv formats = tl_sv_split(&dims, '@');
  tl_sv origin = formats;
  tl_sv storage = tl_sv_split(&origin, '/');
  out->dims = dims;
  return read_format(storage, &out->storage) &&
         read_format(origin.p ? origin : storage, &out->origin);
}

static void print_format(int64_t number, tl_buf *out) {
  const char *name = tl_ge_format_name(number);
  tl_buf_add_z(out, name ? name : "ND");
  if (number > PRIMARY)
    tl_buf_printf(out, ":%lld", (long long)number);
}

void tl_port_note_print(const tl_port_note *f, tl_buf *out) {
  if (f->whole.p) {
    tl_buf_add_char(out, '=');
    tl_buf_add_sv(out, f->whole);
    return;
  }
  print_format(f->storage, out);
  if (f->origin != f->storage) {
    tl_buf_add_char(out, '/');
    print_format(f->origin, out);
  }
  if (f->dims.p) {
    tl_buf_add_char(out, '@');
    tl_buf_add_sv(out, f->dims);
  }
  if (f->more.n) {
    tl_buf_add_char(out, ' ');
    tl_buf_add_sv(out, f->more);
  }
}

static void port_key(char key[TL_PORT_KEY], bool result, uint32_t port) {
  snprintf(key, TL_PORT_KEY, "%s%u", result ? TL_PORT_OUT : TL_PORT_IN, port);
}

tl_sv tl_extra_get(const tl_module *m, uint32_t slot, const char *key) {
  const tl_extra *e = &m->extras.at[slot];
  for (uint32_t i = 0; i < e->n_metadata; i++)
    if (tl_sv_is(tl_sym(m, e->metadata[i].key), key))
      return tl_sym(m, e->metadata[i].value);
  return (tl_sv){NULL, 0};
}

tl_sv tl_port_note_get(const tl_module *m, uint32_t slot, bool result, uint32_t port) {
  char key[TL_PORT_KEY];
  if (!slot || !m->extras.at[slot].n_metadata)
    return (tl_sv){NULL, 0};
  port_key(key, result, port);
  return tl_extra_get(m, slot, key);
}

bool tl_extra_add(tl_module *m, uint32_t *slot, tl_sv key, tl_sv value) {
  tl_extra *e = tl_module_extra(m, slot);
  tl_pair *pairs = e ? tl_arena_calloc(&m->arena, e->n_metadata + 1U, sizeof *pairs) : NULL;
  if (!pairs)
    return false;
  if (e->n_metadata)
    memcpy(pairs, e->metadata, e->n_metadata * sizeof *pairs);
  tl_pair *last = &pairs[e->n_metadata];
  *last = (tl_pair){tl_module_intern(m, key), tl_module_intern(m, value)};
  e->metadata = pairs;
  e->n_metadata++;
  return last->key != TL_NO_SYMBOL && last->value != TL_NO_SYMBOL;
}

bool tl_port_note_set(tl_module *m, uint32_t *slot, bool result, uint32_t port, tl_sv note) {
  char key[TL_PORT_KEY];
  port_key(key, result, port);
  return tl_extra_add(m, slot, tl_sv_from(key), note);
}

/* ---- formats of the device ------------------------------------------------------------------- */

bool tl_ge_is_plain(int64_t format) {
  static const char *const plain[] = {"NCHW",           "NHWC",  "ND",    "CHWN", "HWCN", "NDHWC",
                                      "NCDHW",          "DHWCN", "DHWNC", "NC",   "CN",   "NCL",
                                      "FORMAT_RESERVED"};
  const char *name = tl_ge_format_name(format);
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    if (name && strcmp(name, plain[i]) == 0)
      return true;
  return false;
}

/* Returns the name of the layout that a note of a port has, NULL if it has none. */
static const char *layout_of(tl_sv note) {
  tl_port_note n;
  bool good = tl_port_note_read(note, &n) && !n.whole.p && !tl_ge_is_plain(n.storage);
  return good ? tl_ge_format_name(n.storage) : NULL;
}

tl_node_id tl_ge_find_layout(const tl_module *m, const char **format) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      const tl_extra *e = &m->extras.at[tl_node_get(m, n)->extra];
      for (uint32_t k = 0; k < e->n_metadata; k++) {
        *format = tl_sv_starts_with(tl_sym(m, e->metadata[k].key), "desc.")
                      ? layout_of(tl_sym(m, e->metadata[k].value))
                      : NULL;
        if (*format)
          return n;
      }
    }
  }
  return TL_NO_NODE;
}
