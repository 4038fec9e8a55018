/* SPDX-License-Identifier: Apache-2.0 */
/* Reads options of mixed precision that hold lists, and names of dtypes. */
#include "frontend/config/precision.h"
#include "support/pattern.h"

/* ---- dtypes ---------------------------------------------------------------------------------- */

/* One name of a dtype. */
typedef struct spelling {
  const char *name; /* upper case */
  tl_dtype dtype;
} spelling;

/* Names that documents and examples of the NPU stack use in addition to GE's own. */
static const spelling spellings[] = {
    {"FLOAT32", TL_DTYPE_F32},       {"FP32", TL_DTYPE_F32},  {"FP16", TL_DTYPE_F16},
    {"BFLOAT16", TL_DTYPE_BF16},     {"BF16", TL_DTYPE_BF16}, {"FLOAT64", TL_DTYPE_F64},
    {"FP8E5M2", TL_DTYPE_F8E5M2},    {"HIF8", TL_DTYPE_HIF8}, {"HIFLOAT8", TL_DTYPE_HIF8},
    {"FP8E4M3FN", TL_DTYPE_F8E4M3FN}};
enum { N_SPELLINGS = sizeof spellings / sizeof *spellings, MOST_LETTERS = 31 };

tl_dtype tl_user_dtype(tl_sv name) {
  char upper[MOST_LETTERS + 1];
  if (name.n == 0 || name.n > MOST_LETTERS)
    return TL_DTYPE_NONE;
  for (size_t i = 0; i < name.n; i++)
    upper[i] = (char)(name.p[i] >= 'a' && name.p[i] <= 'z' ? name.p[i] - 32 : name.p[i]);
  tl_sv plain = {upper, name.n};
  if (tl_sv_starts_with(plain, "DT_"))
    plain = (tl_sv){plain.p + 3, plain.n - 3};
  for (unsigned i = 0; i < N_SPELLINGS; i++)
    if (tl_sv_is(plain, spellings[i].name))
      return spellings[i].dtype;
  for (unsigned d = TL_DTYPE_NONE + 1; d < TL_N_DTYPES; d++) {
    const char *ge = tl_dtype_get((tl_dtype)d)->ge_name;
    if (ge && tl_sv_starts_with(tl_sv_from(ge), "DT_") && tl_sv_is(plain, ge + 3))
      return (tl_dtype)d;
  }
  return TL_DTYPE_NONE;
}

/* ---- output_type ----------------------------------------------------------------------------- */

/* The dtypes that atc accepts for an output. Unlike tl_user_dtype, atc wants capitals here. */
static const spelling output_types[] = {
    {"FP32", TL_DTYPE_F32},   {"FP16", TL_DTYPE_F16},   {"UINT8", TL_DTYPE_U8},
    {"INT8", TL_DTYPE_I8},    {"UINT16", TL_DTYPE_U16}, {"INT16", TL_DTYPE_I16},
    {"UINT32", TL_DTYPE_U32}, {"INT32", TL_DTYPE_I32},  {"UINT64", TL_DTYPE_U64},
    {"INT64", TL_DTYPE_I64},  {"DOUBLE", TL_DTYPE_F64}, {"BF16", TL_DTYPE_BF16}};

/* Reads one dtype of --output-type. */
static tl_status read_type(tl_diag *d, tl_location where, tl_sv text, tl_dtype *out) {
  for (unsigned i = 0; i < sizeof output_types / sizeof *output_types; i++) {
    if (tl_sv_is(text, output_types[i].name)) {
      *out = output_types[i].dtype;
      return TL_OK;
    }
  }
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                      "'%.*s' is not a type for an output\vwrite FP32, FP16, BF16, DOUBLE, INT8, "
                      "INT16, INT32, INT64, UINT8, UINT16, UINT32 or UINT64",
                      TL_SV_ARG(tl_sv_shown(text)));
}

/* Returns true if --out-nodes names this result of this node. */
static bool is_out_node(const tl_options *o, tl_sv node, uint64_t index) {
  for (uint32_t i = 0; i < o->n_out_nodes; i++) {
    const tl_out_node *n = &o->out_nodes[i];
    if (n->by_node && n->index == index && tl_sv_eq(n->name, node))
      return true;
  }
  return false;
}

/* Reads "node:index:TYPE". The text is split from its end, because the name of a node may hold
 * ':'. */
static tl_status read_output(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                             const tl_options *options, tl_output_dtype *out) {
  tl_sv head = text;
  uint64_t index = 0;
  while (head.n && head.p[head.n - 1] != ':')
    head.n--;
  tl_sv type = tl_sv_trim((tl_sv){text.p + head.n, text.n - head.n});
  tl_sv node = head.n ? (tl_sv){head.p, head.n - 1} : head;
  size_t full = node.n;
  while (node.n && node.p[node.n - 1] != ':')
    node.n--;
  tl_sv digits = {node.p + node.n, full - node.n};
  bool plain = digits.n > 0;
  for (size_t i = 0; i < digits.n; i++)
    plain = plain && digits.p[i] >= '0' && digits.p[i] <= '9';
  if (node.n < 2 || !plain || !tl_parse_u64(digits, &index))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "'%.*s' is not of the form NODE:INDEX:TYPE", TL_SV_ARG(tl_sv_shown(text)));
  node = tl_sv_trim((tl_sv){node.p, node.n - 1});
  if (!is_out_node(options, node, index))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "'%.*s:%.*s' is not one of --out-nodes\vgive --out-nodes with the same "
                        "NODE:INDEX",
                        TL_SV_ARG(tl_sv_shown(node)), TL_SV_ARG(digits));
  *out = (tl_output_dtype){.index = (uint32_t)index};
  out->node = (tl_sv){tl_arena_copy(a, node.p, node.n), node.n};
  if (!out->node.p)
    return tl_fail_memory(d, where);
  return read_type(d, where, type, &out->dtype);
}

/* Returns the number of parts that a separator makes, empty parts included. */
static uint32_t count_parts(tl_sv text, char separator) {
  uint32_t n = 1;
  for (size_t i = 0; i < text.n; i++)
    n += text.p[i] == separator;
  return n;
}

tl_status tl_read_output_type(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              const tl_options *options, tl_precision_config *out) {
  tl_output_dtype *outputs = tl_arena_calloc(a, count_parts(text, ';'), sizeof *outputs);
  if (!outputs)
    return tl_fail_memory(d, where);
  out->outputs = outputs;
  out->n_outputs = 0;
  /* A text without separators is one dtype for all outputs. */
  if (text.n == 0 || (!memchr(text.p, ':', text.n) && !memchr(text.p, ';', text.n))) {
    out->n_outputs = 1;
    return read_type(d, where, text, &outputs[0].dtype);
  }
  for (tl_sv rest = text; rest.p;) {
    tl_sv part = tl_sv_trim(tl_sv_split(&rest, ';'));
    if (part.n)
      TL_TRY(read_output(d, a, where, part, options, &outputs[out->n_outputs++]));
  }
  return TL_OK;
}

/* ---- lists of names -------------------------------------------------------------------------- */

typedef struct name_list {
  const tl_sv *at;
  uint32_t n;
} name_list;

/* Copies the parts that a separator makes, trimmed and without the empty ones, to the arena. */
static tl_status split(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, char separator,
                       name_list *out) {
  tl_sv *names = tl_arena_calloc(a, count_parts(text, separator), sizeof *names);
  uint32_t found = 0;
  for (tl_sv rest = text; names && rest.p;) {
    tl_sv name = tl_sv_trim(tl_sv_split(&rest, separator));
    const char *copy = name.n ? tl_arena_copy(a, name.p, name.n) : "";
    if (!copy)
      names = NULL;
    else if (name.n)
      names[found++] = (tl_sv){copy, name.n};
  }
  *out = (name_list){names, found};
  return names ? TL_OK : tl_fail_memory(d, where);
}

tl_status tl_read_fp16_inputs(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              tl_precision_config *out) {
  name_list names;
  TL_TRY(split(d, a, where, text, ';', &names));
  out->fp16_inputs = names.at;
  out->n_fp16_inputs = names.n;
  return TL_OK;
}

tl_status tl_read_kept_signature(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                 tl_precision_config *out) {
  /* A list of names lowers the signature, except for the inputs and outputs that it names. */
  out->lower_signature = !tl_sv_is(text, "true");
  if (tl_sv_is(text, "true") || tl_sv_is(text, "false"))
    return TL_OK;
  name_list names;
  TL_TRY(split(d, a, where, text, ';', &names));
  out->kept_signature = names.at;
  out->n_kept_signature = names.n;
  return TL_OK;
}

/* Both separators are counted, since either may join types; the sum is an upper bound. */
uint32_t tl_listed_room(tl_sv text) { return count_parts(text, ',') + count_parts(text, '\n'); }

tl_status tl_read_listed_types(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, bool include,
                               tl_listed_entries *out) {
  for (tl_sv lines = text; lines.p;) {
    tl_sv line = tl_sv_split(&lines, '\n');
    name_list types;
    TL_TRY(split(d, a, where, line, ',', &types));
    for (uint32_t i = 0; i < types.n; i++)
      out->at[out->n++] = (tl_listed){types.at[i], true, include};
  }
  return TL_OK;
}

tl_status tl_read_listed_nodes(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, bool include,
                               tl_listed_entries *out) {
  name_list patterns;
  TL_TRY(split(d, a, where, text, '\n', &patterns));
  for (uint32_t i = 0; i < patterns.n; i++) {
    /* The expression is compiled only to check it; the pass that uses it compiles it again. */
    tl_pattern compiled;
    const char *problem;
    if (tl_pattern_compile(&compiled, patterns.at[i], &problem) != TL_OK)
      return tl_fail_code(
          d, TL_INVALID_ARGUMENT, "E10001", where,
          "'%.*s' is not an expression for names: %s\vwrite a POSIX extended regular expression "
          "that matches whole names, such as '/layer[0-3]/.*'; a backslash "
          "before . ( ) [ ] { } * + ? ^ $ | makes it a plain character",
          TL_SV_ARG(tl_sv_shown(patterns.at[i])), problem);
    tl_pattern_release(&compiled);
    out->at[out->n++] = (tl_listed){patterns.at[i], false, include};
  }
  return TL_OK;
}

tl_status tl_read_to_float(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                           tl_precision_config *out) {
  name_list parts;
  TL_TRY(split(d, a, where, text, '\n', &parts));
  tl_to_float *entries = tl_arena_calloc(a, parts.n, sizeof *entries);
  if (!entries)
    return tl_fail_memory(d, where);
  for (uint32_t i = 0; i < parts.n; i++) {
    tl_sv part = parts.at[i];
    size_t glob = part.n;
    /* The last '=' ends the pattern, so that names with '=' work. */
    while (glob && part.p[glob - 1] != '=')
      glob--;
    tl_dtype dtype = tl_user_dtype(tl_sv_trim((tl_sv){part.p + glob, part.n - glob}));
    if (glob < 2 || (dtype != TL_DTYPE_F16 && dtype != TL_DTYPE_BF16 && dtype != TL_DTYPE_F32))
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                          "'%.*s' is not of the form GLOB=float16, =bfloat16 or =float32",
                          TL_SV_ARG(tl_sv_shown(part)));
    entries[i] = (tl_to_float){{part.p, glob - 1}, dtype};
  }
  out->to_float = entries;
  out->n_to_float = parts.n;
  return TL_OK;
}
