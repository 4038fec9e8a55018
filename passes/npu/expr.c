/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive-descent parser of the candidate language. The texts are those of our own tables;
 * nesting and arguments are bounded nevertheless. Precedence, weakest first: ||, &&, !, comparisons
 * and `in`, + -, * /, primary. */
#include "passes/npu/expr.h"

enum { MAX_DEPTH = 32, MAX_ARGS = 16 }; /* bounds of brackets and of one call */

typedef struct parser {
  tl_module *m;
  tl_arena *arena;
  const char *p;
  const char *end;
  const char *why;
  unsigned depth;
} parser;

/* Name and number of arguments by tl_npu_fn. */
static const struct {
  const char *name;
  uint8_t low;
  uint8_t high;
} functions[] = {
#define ROW(id, name, low, high) {name, low, high},
    TL_NPU_FUNCTIONS(ROW)
#undef ROW
};

const char *tl_npu_fn_name(tl_npu_fn fn) { return functions[fn].name; }

static const tl_npu_expr *parse_or(parser *s);

/* Keeps the first mistake; later ones follow from it. */
static const tl_npu_expr *fail(parser *s, const char *why) {
  if (!s->why)
    s->why = why;
  return NULL;
}

static void skip_blanks(parser *s) {
  while (s->p < s->end && *s->p == ' ')
    s->p++;
}

/* Takes the punctuation `z` if it comes next. */
static bool take(parser *s, const char *z) {
  skip_blanks(s);
  size_t n = strlen(z);
  if ((size_t)(s->end - s->p) < n || memcmp(s->p, z, n) != 0)
    return false;
  s->p += n;
  return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
/* Returns true for a byte of a name. */
static bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static tl_sv take_word(parser *s) {
  skip_blanks(s);
  const char *from = s->p;
  while (s->p < s->end && is_word(*s->p))
    s->p++;
  return (tl_sv){from, (size_t)(s->p - from)};
}

static tl_npu_expr *new_expr(parser *s, tl_npu_kind kind) {
  tl_npu_expr *e = tl_arena_calloc(s->arena, 1, sizeof *e);
  if (e)
    e->kind = (uint8_t)kind;
  return e;
}

static const tl_npu_expr *new_call(parser *s, tl_npu_fn fn, const tl_npu_expr *const *args,
                                   uint8_t n) {
  if (n < functions[fn].low || n > functions[fn].high)
    return fail(s, "wrong number of arguments");
  tl_npu_expr *e = new_expr(s, TL_NPU_CALL);
  const tl_npu_expr **copy = tl_arena_calloc(s->arena, n, sizeof *copy);
  if (!e || !copy)
    return NULL;
  for (uint8_t i = 0; i < n; i++) {
    if (!args[i])
      return NULL;
    copy[i] = args[i];
  }
  e->fn = (uint8_t)fn;
  e->args = copy;
  e->n_args = n;
  return e;
}

static const tl_npu_expr *new_pair(parser *s, tl_npu_fn fn, const tl_npu_expr *a,
                                   const tl_npu_expr *b) {
  const tl_npu_expr *args[2] = {a, b};
  return a && b ? new_call(s, fn, args, 2) : NULL;
}

/* Parses comma-separated arguments up to `close`. */
static bool parse_args(parser *s, const char *close, const tl_npu_expr **args, uint8_t *n) {
  *n = 0;
  if (take(s, close))
    return true;
  do {
    if (*n == MAX_ARGS || !(args[*n] = parse_or(s)))
      return fail(s, "too many arguments") != NULL;
    ++*n;
  } while (take(s, ","));
  return take(s, close) || fail(s, "missing closing bracket") != NULL;
}

/* Parses an integer or a float; a '-' is part of it only behind the 'e' of an exponent. */
static const tl_npu_expr *parse_number(parser *s) {
  const char *from = s->p;
  bool whole = true;
  while (s->p < s->end && (is_digit(*s->p) || *s->p == '.' || *s->p == 'e' ||
                           (*s->p == '-' && s->p > from && s->p[-1] == 'e'))) {
    whole = whole && is_digit(*s->p);
    s->p++;
  }
  tl_sv text = {from, (size_t)(s->p - from)};
  tl_npu_expr *e = new_expr(s, whole ? TL_NPU_INT : TL_NPU_FLOAT);
  if (!e)
    return NULL;
  bool ok = whole ? tl_parse_i64(text, &e->u.i) : tl_parse_f64(text, &e->u.f);
  return ok ? e : fail(s, "bad number");
}

static const tl_npu_expr *parse_string(parser *s, char quote) {
  const char *from = s->p;
  while (s->p < s->end && *s->p != quote)
    s->p++;
  tl_sv text = {from, (size_t)(s->p - from)};
  if (s->p == s->end)
    return fail(s, "unterminated string");
  s->p++;
  tl_npu_expr *e = new_expr(s, TL_NPU_STRING);
  if (e && (e->u.name = tl_module_intern(s->m, text)) == TL_NO_SYMBOL)
    return NULL;
  return e;
}

/* Returns the dtype of a word. The tables write dtypes as ONNX does (int8, uint16) or as the IR
 * does (i8, u16). */
static tl_dtype dtype_word(tl_sv w) {
  char text[8];
  size_t prefix = tl_sv_starts_with(w, "uint") ? 4 : tl_sv_starts_with(w, "int") ? 3 : 0;
  if (!prefix || w.n - prefix + 1 >= sizeof text)
    return tl_dtype_from_name(w);
  text[0] = prefix == 4 ? 'u' : 'i';
  memcpy(text + 1, w.p + prefix, w.n - prefix);
  return tl_dtype_from_name((tl_sv){text, w.n - prefix + 1});
}

/* Parses {word,...} behind `in` into a mask: of chip families behind `soc`, else of dtypes. */
static const tl_npu_expr *parse_set(parser *s, bool chips) {
  tl_npu_expr *e = new_expr(s, TL_NPU_SET);
  if (!e || !take(s, "{"))
    return fail(s, "missing {");
  do {
    tl_sv w = take_word(s);
    unsigned bit = chips ? (tl_sv_is(w, "910") ? TL_SOC_910 : TL_SOC_A2) : dtype_word(w);
    if (chips ? !tl_sv_is(w, "910") && !tl_sv_is(w, "a2") : bit == TL_DTYPE_NONE)
      return fail(s, "unknown word in a set");
    e->u.mask |= UINT64_C(1) << bit;
  } while (take(s, ","));
  return take(s, "}") ? e : fail(s, "missing }");
}

/* Parses inK, inK?, in* or outK. Returns NULL without a reason if the word is something else. */
static const tl_npu_expr *parse_port(parser *s, tl_sv w) {
  bool in = tl_sv_starts_with(w, "in");
  size_t prefix = in ? 2 : tl_sv_starts_with(w, "out") ? 3 : w.n;
  if (in && w.n == 2 && take(s, "*"))
    return new_expr(s, TL_NPU_OPERANDS);
  int64_t index;
  if (prefix >= w.n || !is_digit(w.p[prefix]) ||
      !tl_parse_i64((tl_sv){w.p + prefix, w.n - prefix}, &index))
    return NULL;
  tl_npu_expr *e = new_expr(s, in ? TL_NPU_OPERAND : TL_NPU_RESULT);
  if (e) {
    e->u.i = index;
    e->optional = in && take(s, "?");
  }
  return e;
}

/* Parses the argument of dt(int64), which is a dtype and no attribute. */
static const tl_npu_expr *parse_dtype(parser *s) {
  tl_npu_expr *e = new_expr(s, TL_NPU_INT);
  if (!e)
    return NULL;
  e->u.i = dtype_word(take_word(s));
  if (e->u.i == TL_DTYPE_NONE || !take(s, ")"))
    return fail(s, "unknown dtype");
  const tl_npu_expr *arg = e;
  return new_call(s, TL_NPU_FN_DT, &arg, 1);
}

/* Parses the call of function w behind its '('. Operators are in the same table; they start with no
 * letter and cannot be called by name. */
static const tl_npu_expr *parse_call(parser *s, tl_sv w) {
  const tl_npu_expr *args[MAX_ARGS];
  uint8_t n;
  if (tl_sv_is(w, functions[TL_NPU_FN_DT].name))
    return parse_dtype(s);
  if (!parse_args(s, ")", args, &n))
    return NULL;
  for (unsigned f = 0; f < TL_N_NPU_FNS; f++)
    if (is_word(functions[f].name[0]) && tl_sv_is(w, functions[f].name))
      return new_call(s, (tl_npu_fn)f, args, n);
  return fail(s, "unknown function");
}

/* Parses a port, a call, a keyword, or else the name of an attribute. */
static const tl_npu_expr *parse_name(parser *s) {
  tl_sv w = take_word(s);
  if (!w.n)
    return fail(s, "expected a name, a number or a bracket");
  const tl_npu_expr *port = parse_port(s, w);
  if (port || s->why)
    return port;
  if (take(s, "("))
    return parse_call(s, w);
  for (unsigned f = 0; f < TL_N_NPU_FNS; f++)
    if (functions[f].high == 0 && tl_sv_is(w, functions[f].name))
      return new_call(s, (tl_npu_fn)f, NULL, 0);
  tl_npu_expr *e = new_expr(s, TL_NPU_NAME);
  if (e && (e->u.name = tl_module_intern(s->m, w)) == TL_NO_SYMBOL)
    return NULL;
  return e;
}

static const tl_npu_expr *parse_list(parser *s) {
  const tl_npu_expr *args[MAX_ARGS];
  uint8_t n;
  if (!parse_args(s, "]", args, &n))
    return NULL;
  tl_npu_expr *e = new_expr(s, TL_NPU_LIST);
  const tl_npu_expr **copy = tl_arena_calloc(s->arena, n, sizeof *copy);
  if (!e || !copy)
    return NULL;
  for (uint8_t i = 0; i < n; i++)
    copy[i] = args[i];
  e->args = copy;
  e->n_args = n;
  return e;
}

static const tl_npu_expr *parse_primary(parser *s) {
  skip_blanks(s);
  if (s->p == s->end)
    return fail(s, "unexpected end");
  if (take(s, "(")) {
    const tl_npu_expr *e = parse_or(s);
    return e && !take(s, ")") ? fail(s, "missing )") : e;
  }
  if (take(s, "["))
    return parse_list(s);
  if (take(s, "\""))
    return parse_string(s, '"');
  if (take(s, "'"))
    return parse_string(s, '\'');
  if (take(s, "-")) {
    const tl_npu_expr *zero = new_expr(s, TL_NPU_INT);
    return new_pair(s, TL_NPU_FN_SUB, zero, parse_primary(s));
  }
  return is_digit(*s->p) ? parse_number(s) : parse_name(s);
}

static const tl_npu_expr *parse_product(parser *s) {
  const tl_npu_expr *e = parse_primary(s);
  while (e) {
    if (take(s, "*"))
      e = new_pair(s, TL_NPU_FN_MUL, e, parse_primary(s));
    else if (take(s, "/"))
      e = new_pair(s, TL_NPU_FN_DIV, e, parse_primary(s));
    else
      break;
  }
  return e;
}

static const tl_npu_expr *parse_sum(parser *s) {
  const tl_npu_expr *e = parse_product(s);
  while (e) {
    if (take(s, "+"))
      e = new_pair(s, TL_NPU_FN_ADD, e, parse_product(s));
    else if (take(s, "-"))
      e = new_pair(s, TL_NPU_FN_SUB, e, parse_product(s));
    else
      break;
  }
  return e;
}

/* Returns true for expressions of dtypes. A comparison of one with anything else is refused: in
 * dtype(in0)==f32 the word f32 would be an attribute, and the guard would never hold. */
static bool is_dtype(const tl_npu_expr *e) {
  return e && e->kind == TL_NPU_CALL && (e->fn == TL_NPU_FN_DTYPE || e->fn == TL_NPU_FN_DT);
}

static const tl_npu_expr *compared(parser *s, tl_npu_fn fn, const tl_npu_expr *a,
                                   const tl_npu_expr *b) {
  if (a && b && is_dtype(a) != is_dtype(b))
    return fail(s, "a dtype is compared with a set, in {f32}, or another dtype, dt(f32)");
  return new_pair(s, fn, a, b);
}

static const tl_npu_expr *parse_comparison(parser *s) {
  static const uint8_t signs[] = {TL_NPU_FN_EQ, TL_NPU_FN_NE, TL_NPU_FN_LT, TL_NPU_FN_GT};
  const tl_npu_expr *e = parse_sum(s);
  if (!e)
    return NULL;
  for (size_t i = 0; i < sizeof signs; i++)
    if (take(s, functions[signs[i]].name))
      return compared(s, (tl_npu_fn)signs[i], e, parse_sum(s));
  if (take(s, "in "))
    return new_pair(s, TL_NPU_FN_IN, e,
                    parse_set(s, e->kind == TL_NPU_CALL && e->fn == TL_NPU_FN_SOC));
  return e;
}

/* Parses '!' in front of a comparison; it binds weaker than the comparison. */
static const tl_npu_expr *parse_not(parser *s) {
  skip_blanks(s);
  if (s->p + 1 < s->end && s->p[0] == '!' && s->p[1] != '=' && take(s, "!")) {
    const tl_npu_expr *e = parse_comparison(s);
    return e ? new_call(s, TL_NPU_FN_NOT, &e, 1) : NULL;
  }
  return parse_comparison(s);
}

static const tl_npu_expr *parse_and(parser *s) {
  const tl_npu_expr *e = parse_not(s);
  while (e && take(s, "&&"))
    e = new_pair(s, TL_NPU_FN_AND, e, parse_not(s));
  return e;
}

static const tl_npu_expr *parse_or(parser *s) {
  if (++s->depth > MAX_DEPTH)
    return fail(s, "nested too deeply");
  const tl_npu_expr *e = parse_and(s);
  while (e && take(s, "||"))
    e = new_pair(s, TL_NPU_FN_OR, e, parse_and(s));
  s->depth--;
  return e;
}

const tl_npu_expr *tl_npu_expr_parse(tl_module *m, tl_arena *arena, tl_sv text, const char **why) {
  parser s = {.m = m, .arena = arena, .p = text.p, .end = text.p + text.n};
  const tl_npu_expr *e = parse_or(&s);
  skip_blanks(&s);
  if (e && s.p != s.end)
    e = fail(&s, "text after the end");
  *why = s.why;
  return e;
}
