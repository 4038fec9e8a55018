/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of --insert-op-conf: blocks "aipp_op { field: value ... }" in the text form of
 * protobuf. What the file alone tells is checked here, the rest by the pass check-aipp. */
#include <stddef.h>
#include <string.h>

#include "frontend/config/config_file.h"
#include "frontend/config/values.h"
#include "ir/options/aipp.h"

enum { MAX_OPS = 64 };

typedef enum field_kind {
  KIND_MODE,
  KIND_FORMAT,
  KIND_WORD,
  KIND_BOOL,
  KIND_INT,
  KIND_REAL
} field_kind;
typedef enum field_when {
  WHEN_ANY,
  WHEN_DYNAMIC,
  WHEN_STATIC,
  WHEN_CROP,
  WHEN_RESIZE,
  WHEN_PAD,
  WHEN_CSC
} field_when;

typedef struct field {
  const char *name;
  uint8_t kind; /* field_kind */
  uint8_t when; /* field_when */
  size_t at;    /* offset in tl_aipp_op */
  double low, high;
} field;

static const field fields[] = {
#define FIELD(name, kind, member, low, high, when)                                                 \
  {name, KIND_##kind, WHEN_##when, offsetof(tl_aipp_op, member), low, high},
#include "frontend/config/aipp.tbl"
#undef FIELD
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static const struct {
  const char *name;
  tl_aipp_format format;
} formats[] = {
    {"YUV420SP_U8", TL_AIPP_YUV420SP}, {"XRGB8888_U8", TL_AIPP_XRGB},
    {"RGB888_U8", TL_AIPP_RGB},        {"YUV400_U8", TL_AIPP_YUV400},
    {"ARGB8888_U8", TL_AIPP_XRGB},     {"YUYV_U8", TL_AIPP_YUYV},
    {"YUV422SP_U8", TL_AIPP_YUV422SP}, {"AYUV444_U8", TL_AIPP_AYUV},
    {"NC1HWC0DI_FP16", TL_AIPP_OTHER}, {"NC1HWC0DI_S8", TL_AIPP_OTHER},
    {"RAW10", TL_AIPP_OTHER},          {"RAW12", TL_AIPP_OTHER},
    {"RAW16", TL_AIPP_OTHER},          {"RAW24", TL_AIPP_OTHER},
    {"RGB16", TL_AIPP_OTHER},          {"RGB20", TL_AIPP_OTHER},
    {"RGB24", TL_AIPP_OTHER},          {"RGB8_IR", TL_AIPP_OTHER},
    {"RGB16_IR", TL_AIPP_OTHER},       {"RGB24_IR", TL_AIPP_OTHER},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* State of the reader. `at` is the current token; an empty one is the end. */
typedef struct reader {
  tl_diag *diag;
  tl_arena *arena;
  const char *file;
  tl_sv rest;
  const char *line_start;
  uint32_t line;
  tl_sv at;
  tl_location where;           /* of `at` */
  tl_location given[N_FIELDS]; /* where the field is in this block; line 0: not given */
} reader;

/* The nearest of several names, as a guess of what was meant. */
typedef struct guess {
  tl_sv wanted, found;
  size_t distance;
} guess;

static guess start_guess(tl_sv wanted) { return (guess){.wanted = wanted, .distance = 4}; }

static void try_guess(guess *g, const char *name) {
  size_t distance = tl_edit_distance(g->wanted, tl_sv_from(name), g->distance);
  if (distance >= g->distance)
    return;
  g->distance = distance;
  g->found = tl_sv_from(name);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c && strchr("_.+-", c));
}

/* Skips blanks, comments, and the separators that protobuf allows behind a field. */
static void skip(reader *r) {
  bool comment = false;
  for (; r->rest.n; r->rest.p++, r->rest.n--) {
    char c = *r->rest.p;
    if (c == '\n') {
      comment = false;
      r->line++;
      r->line_start = r->rest.p + 1;
    }
    comment = comment || c == '#';
    if (!comment && !strchr(" \t\r\n,;", c))
      return;
    if (!comment && !c)
      return;
  }
}

static void advance(reader *r) {
  skip(r);
  size_t n = 0;
  r->where = (tl_location){
      .file = r->file, .line = r->line, .column = (uint32_t)(r->rest.p - r->line_start) + 1};
  char c = r->rest.n ? *r->rest.p : '\0';
  if (c == '"' || c == '\'') {
    for (n = 1; n < r->rest.n && r->rest.p[n] != c && r->rest.p[n] != '\n'; n++)
      ;
    n += n < r->rest.n && r->rest.p[n] == c;
  } else {
    while (n < r->rest.n && is_word(r->rest.p[n]))
      n++;
    n = n ? n : r->rest.n > 0;
  }
  r->at = (tl_sv){r->rest.p, n};
  r->rest = (tl_sv){r->rest.p + n, r->rest.n - n};
}

static bool accept(reader *r, char c) {
  if (r->at.n != 1 || *r->at.p != c)
    return false;
  advance(r);
  return true;
}

static tl_status fail_expected(reader *r, const char *what) {
  if (!r->at.n)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "expected %s, found the end", what);
  return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "expected %s, found '%.*s'", what,
                 TL_SV_ARG(tl_sv_shown(r->at)));
}

/* ---- values ---------------------------------------------------------------------------------- */

static tl_status read_mode(reader *r, const field *f, int32_t *out) {
  if (tl_sv_is(r->at, "static"))
    *out = TL_AIPP_STATIC;
  else if (tl_sv_is(r->at, "dynamic"))
    *out = TL_AIPP_DYNAMIC;
  else
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "%s: '%.*s' is not static or dynamic",
                   f->name, TL_SV_ARG(tl_sv_shown(r->at)));
  return TL_OK;
}

static tl_status read_format(reader *r, const field *f, tl_aipp_op *op) {
  guess near = start_guess(r->at);
  for (size_t i = 0; i < N_FORMATS; i++) {
    if (tl_sv_is(r->at, formats[i].name)) {
      op->format = (int32_t)formats[i].format;
      op->format_name = formats[i].name;
      return TL_OK;
    }
    try_guess(&near, formats[i].name);
  }
  if (near.found.n)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where,
                   "%s: '%.*s' is no format of images\vdid you mean %.*s?", f->name,
                   TL_SV_ARG(tl_sv_shown(r->at)), TL_SV_ARG(near.found));
  return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where,
                 "%s: '%.*s' is no format of images\vwrite for example RGB888_U8", f->name,
                 TL_SV_ARG(tl_sv_shown(r->at)));
}

static tl_status read_bool(reader *r, const field *f, bool *out) {
  bool yes = tl_sv_is(r->at, "true") || tl_sv_is(r->at, "1") || tl_sv_is(r->at, "t") ||
             tl_sv_is(r->at, "True");
  bool no = tl_sv_is(r->at, "false") || tl_sv_is(r->at, "0") || tl_sv_is(r->at, "f") ||
            tl_sv_is(r->at, "False");
  *out = yes;
  if (yes || no)
    return TL_OK;
  return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "%s: '%.*s' is not true or false", f->name,
                 TL_SV_ARG(tl_sv_shown(r->at)));
}

static tl_status read_number(reader *r, const field *f, void *out) {
  double v;
  int64_t whole = 0;
  bool integer = f->kind == KIND_INT;
  tl_sv digits = r->at;
  if (digits.n > 1 && digits.p[digits.n - 1] == 'f') /* protobuf reads 0.5f */
    digits.n--;
  if (integer ? !tl_parse_i64(r->at, &whole) : !tl_parse_f64(digits, &v))
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "%s: '%.*s' is not a %snumber", f->name,
                   TL_SV_ARG(tl_sv_shown(r->at)), integer ? "whole " : "");
  if (integer)
    v = (double)whole;
  if (!(v >= f->low && v <= f->high))
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "%s: %.*s is not within %.0f to %.0f",
                   f->name, TL_SV_ARG(tl_sv_shown(r->at)), f->low, f->high);
  if (integer)
    *(int32_t *)out = (int32_t)whole;
  else
    *(double *)out = v;
  return TL_OK;
}

static tl_status read_word(reader *r, const field *f, const char **out) {
  size_t n = r->at.n;
  bool quoted = n >= 2 && strchr("\"'", r->at.p[0]) && r->at.p[n - 1] == r->at.p[0];
  if (!quoted)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "%s: expected a name in quotes",
                   f->name);
  *out = tl_arena_copy(r->arena, r->at.p + 1, n - 2);
  return *out ? TL_OK : tl_fail_memory(r->diag, r->where);
}

static tl_status read_value(reader *r, const field *f, tl_aipp_op *op) {
  void *member = (char *)op + f->at;
  if (!r->at.n)
    return fail_expected(r, "a value");
  switch ((field_kind)f->kind) {
  case KIND_MODE: return read_mode(r, f, member);
  case KIND_FORMAT: return read_format(r, f, op);
  case KIND_WORD: return read_word(r, f, member);
  case KIND_BOOL: return read_bool(r, f, member);
  default: return read_number(r, f, member);
  }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const field *find_field(tl_sv name, guess *near) {
  for (size_t i = 0; i < N_FIELDS; i++) {
    if (tl_sv_is(name, fields[i].name))
      return &fields[i];
    try_guess(near, fields[i].name);
  }
  return NULL;
}

static tl_status read_field(reader *r, tl_aipp_op *op) {
  guess near = start_guess(r->at);
  const field *f = find_field(r->at, &near);
  if (!f && near.found.n)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where,
                   "aipp_op has no field '%.*s'\vdid you mean '%.*s'?",
                   TL_SV_ARG(tl_sv_shown(r->at)), TL_SV_ARG(near.found));
  if (!f)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "aipp_op has no field '%.*s'",
                   TL_SV_ARG(tl_sv_shown(r->at)));
  tl_location *first = &r->given[f - fields];
  if (first->line)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, r->where, "%s is given twice, first in line %u",
                   f->name, first->line);
  *first = r->where;
  advance(r);
  if (!accept(r, ':'))
    return fail_expected(r, "':'");
  TL_TRY(read_value(r, f, op));
  advance(r);
  return TL_OK;
}

/* The defaults of the device compiler. */
static void set_defaults(tl_aipp_op *op) {
  static const int32_t to_bgr[9] = {298, 516, 0, 298, -100, -208, 298, 0, 409};
  static const int32_t bias[3] = {16, 128, 128};
  memcpy(op->matrix, to_bgr, sizeof to_bgr);
  memcpy(op->in_bias, bias, sizeof bias);
  memcpy(op->out_bias, bias, sizeof bias);
  for (int i = 0; i < 4; i++)
    op->var[i] = 1;
}

/* ---- what the file alone tells --------------------------------------------------------------- */

static bool is_given(const reader *r, const char *name) {
  for (size_t i = 0; i < N_FIELDS; i++)
    if (strcmp(fields[i].name, name) == 0)
      return r->given[i].line > 0;
  return false;
}

/* Returns where the field is, else where the block begins. */
static tl_location at_field(const reader *r, const tl_aipp_op *op, const char *name) {
  for (size_t i = 0; name && i < N_FIELDS; i++)
    if (strcmp(fields[i].name, name) == 0 && r->given[i].line)
      return r->given[i];
  return (tl_location){.file = r->file, .line = op->line, .column = op->column};
}

static bool has_effect(const tl_aipp_op *op, field_when when) {
  switch (when) {
  case WHEN_ANY: return true;
  case WHEN_DYNAMIC: return op->mode == TL_AIPP_DYNAMIC;
  case WHEN_STATIC: return op->mode == TL_AIPP_STATIC;
  case WHEN_CROP: return op->mode == TL_AIPP_STATIC && op->crop;
  case WHEN_RESIZE: return op->mode == TL_AIPP_STATIC && op->resize;
  case WHEN_PAD: return op->mode == TL_AIPP_STATIC && op->padding;
  default: return op->mode == TL_AIPP_STATIC && op->csc;
  }
}

/* Warns about fields that the switches make useless; zeros are no surprise. */
static void warn_useless(reader *r, const tl_aipp_op *op) {
  static const char *const reasons[] = {
      [WHEN_ANY] = "",
      [WHEN_DYNAMIC] = "aipp_mode is static",
      [WHEN_STATIC] = "aipp_mode is dynamic: parameters come with each image",
      [WHEN_CROP] = "crop is false",
      [WHEN_RESIZE] = "resize is false",
      [WHEN_PAD] = "padding is false",
      [WHEN_CSC] = "csc_switch is false"};
  for (size_t i = 0; i < N_FIELDS; i++) {
    const void *member = (const char *)op + fields[i].at;
    bool zero = (fields[i].kind == KIND_INT && *(const int32_t *)member == 0) ||
                (fields[i].kind == KIND_REAL && *(const double *)member == 0) ||
                (fields[i].kind == KIND_BOOL && !*(const bool *)member);
    bool colour = fields[i].when == WHEN_CSC; /* often left behind when the switch is turned */
    const char *why = op->mode == TL_AIPP_DYNAMIC && fields[i].when != WHEN_DYNAMIC
                          ? reasons[WHEN_STATIC]
                          : reasons[fields[i].when];
    if (r->given[i].line && !zero && !colour && !has_effect(op, (field_when)fields[i].when))
      tl_warn(r->diag, r->given[i], "%s has no effect: %s", fields[i].name, why);
  }
}

/* Pixels share U and V, so places and sizes are even. */
static tl_status check_even(reader *r, const tl_aipp_op *op) {
  const struct {
    const char *name;
    int32_t v;
  } even[] = {{"src_image_size_w", op->src_w},
              {"src_image_size_h", op->src_h},
              {"load_start_pos_w", op->crop ? op->crop_x : 0},
              {"load_start_pos_h", op->crop ? op->crop_y : 0}};
  for (size_t i = 0; tl_aipp_is_yuv(op->format) && i < sizeof even / sizeof *even; i++)
    if (even[i].v % 2)
      return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, even[i].name),
                     "%s is %d; with %s it has to be even", even[i].name, even[i].v,
                     op->format_name);
  return TL_OK;
}

static tl_status check_crop(reader *r, const tl_aipp_op *op) {
  const struct {
    const char *name, *size;
    int32_t from, n, of;
  } side[] = {{"crop_size_w", "src_image_size_w", op->crop_x, op->crop_w, op->src_w},
              {"crop_size_h", "src_image_size_h", op->crop_y, op->crop_h, op->src_h}};
  for (size_t i = 0; op->crop && i < 2; i++)
    if (side[i].of && side[i].from + side[i].n > side[i].of)
      return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, side[i].name),
                     "the part that crop takes ends at %d, but %s is %d", side[i].from + side[i].n,
                     side[i].size, side[i].of);
  return TL_OK;
}

static tl_status check_static(reader *r, const tl_aipp_op *op) {
  if (op->format == TL_AIPP_NO_FORMAT)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, NULL),
                   "input_format is missing\vwrite for example input_format: RGB888_U8");
  if ((op->src_w == 0) != (op->src_h == 0))
    return tl_fail(r->diag, TL_INVALID_ARGUMENT,
                   at_field(r, op, op->src_w ? "src_image_size_w" : "src_image_size_h"),
                   "src_image_size_w and src_image_size_h go together\vgive both, or neither if "
                   "images have the size of the input");
  if (op->ax_swap && !tl_aipp_is_wide(op->format))
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, "ax_swap_switch"),
                   "ax_swap_switch is for XRGB8888_U8, ARGB8888_U8 and AYUV444_U8, not for %s",
                   op->format_name);
  if (op->csc && op->format == TL_AIPP_YUV400)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, "csc_switch"),
                   "csc_switch: YUV400_U8 has no colours to convert");
  if (op->resize && (op->resize_w == 0) != (op->resize_h == 0))
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, "resize"),
                   "resize_output_w and resize_output_h go together");
  if (op->format == TL_AIPP_OTHER)
    tl_warn(r->diag, at_field(r, op, "input_format"),
            "input_format: how %s becomes pixels is not known here, so only names are checked",
            op->format_name);
  TL_TRY(check_even(r, op));
  return check_crop(r, op);
}

static tl_status check_op(reader *r, tl_aipp_op *op) {
  op->has_rank = is_given(r, "related_input_rank");
  if (op->mode == TL_AIPP_UNSAID)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, NULL),
                   "aipp_mode is missing\vwrite aipp_mode: static, or dynamic");
  warn_useless(r, op);
  if (op->mode == TL_AIPP_STATIC)
    return check_static(r, op);
  if (!op->max_size)
    return tl_fail(r->diag, TL_INVALID_ARGUMENT, at_field(r, op, NULL),
                   "max_src_image_size is missing\vaipp_mode: dynamic needs the bytes of the "
                   "largest image");
  return TL_OK;
}

static tl_status read_op(reader *r, tl_aipp_op *op) {
  *op = (tl_aipp_op){.file = r->file, .line = r->where.line, .column = r->where.column};
  memset(r->given, 0, sizeof r->given);
  set_defaults(op);
  if (!tl_sv_is(r->at, "aipp_op"))
    return fail_expected(r, "aipp_op");
  advance(r);
  (void)accept(r, ':');
  if (!accept(r, '{'))
    return fail_expected(r, "'{'");
  while (r->at.n && *r->at.p != '}')
    TL_TRY(read_field(r, op));
  if (!accept(r, '}'))
    return fail_expected(r, "'}'");
  return check_op(r, op);
}

/* Each input has one description; modes do not mix. */
static tl_status check_together(reader *r, const tl_aipp_op *ops, uint32_t n) {
  const tl_aipp_op *last = &ops[n - 1];
  for (uint32_t i = 0; i + 1 < n; i++) {
    if (ops[i].mode != last->mode)
      return tl_fail(r->diag, TL_INVALID_ARGUMENT,
                     (tl_location){.file = last->file, .line = last->line, .column = last->column},
                     "aipp_mode: static and dynamic cannot be together, line %u is %s", ops[i].line,
                     ops[i].mode == TL_AIPP_STATIC ? "static" : "dynamic");
    bool names = ops[i].related_name || last->related_name;
    if (!names && ops[i].related_rank == last->related_rank)
      return tl_fail(r->diag, TL_INVALID_ARGUMENT,
                     (tl_location){.file = last->file, .line = last->line, .column = last->column},
                     "input %d is described twice, first in line %u\vrelated_input_rank says which "
                     "input an aipp_op is for",
                     last->related_rank, ops[i].line);
  }
  return TL_OK;
}

tl_status tl_read_aipp(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                       tl_options *out) {
  static const tl_config_kind kind = {"AIPP configuration", NULL, NULL, false, 0};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, where, path, &kind, &text));
  tl_aipp_op *ops = tl_arena_calloc(a, MAX_OPS, sizeof *ops);
  tl_aipp_config *config = tl_arena_calloc(a, 1, sizeof *config);
  if (!ops || !config)
    return tl_fail_memory(d, where);
  reader r = {.diag = d, .arena = a, .file = path, .rest = tl_config_without_mark(text), .line = 1};
  r.line_start = r.rest.p;
  *config = (tl_aipp_config){.ops = ops};
  for (advance(&r); r.at.n;) {
    if (config->n == MAX_OPS)
      return tl_fail(d, TL_LIMIT, r.where, "more than %d aipp_op", MAX_OPS);
    TL_TRY(read_op(&r, &ops[config->n]));
    TL_TRY(check_together(&r, ops, ++config->n));
  }
  if (!config->n)
    return tl_fail(d, TL_INVALID_ARGUMENT, (tl_location){.file = path},
                   "there is no aipp_op in the file\vwrite aipp_op { aipp_mode: static ... }");
  out->aipp = config;
  return TL_OK;
}
