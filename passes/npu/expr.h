/* SPDX-License-Identifier: Apache-2.0 */
/* The language of NPU candidates in the op table, parsed into trees; evaluation is in eval.h. It
 * has guards, operands and attributes; docs/op-table.md has the notation. Candidates are parsed
 * once per pass run. */
#ifndef TL_PASSES_NPU_EXPR_H
#define TL_PASSES_NPU_EXPR_H

#include "ir/module.h"
#include "ir/options/options.h"

typedef enum tl_npu_kind {
  TL_NPU_INT,      /* u.i */
  TL_NPU_FLOAT,    /* u.f */
  TL_NPU_STRING,   /* u.name */
  TL_NPU_NAME,     /* u.name: an attribute */
  TL_NPU_OPERAND,  /* index u.i; `optional` for "inK?" */
  TL_NPU_RESULT,   /* index u.i */
  TL_NPU_OPERANDS, /* in*: all operands present */
  TL_NPU_SET,      /* u.mask: dtypes, or chip families after `soc in` */
  TL_NPU_LIST,     /* args */
  TL_NPU_CALL      /* fn, args */
} tl_npu_kind;

/* Every function and operator: FN(enumerator, "name", fewest arguments, most arguments). A name
 * without arguments is a keyword, not an attribute. The order of the list is free. */
#define TL_NPU_FUNCTIONS(FN)                                                                    \
  FN(AND, "&&", 2, 2) FN(OR, "||", 2, 2) FN(NOT, "!", 1, 1) FN(EQ, "==", 2, 2)                  \
  FN(NE, "!=", 2, 2) FN(LT, "<", 2, 2) FN(GT, ">", 2, 2) FN(ADD, "+", 2, 2) FN(SUB, "-", 2, 2)  \
  FN(MUL, "*", 2, 2) FN(DIV, "/", 2, 2) FN(IN, "in", 2, 2) FN(ALWAYS, "always", 0, 0)           \
  FN(STATIC, "static", 0, 0) FN(NIN, "nin", 0, 0) FN(NOUT, "nout", 0, 0)                        \
  FN(OPSET, "opset", 0, 0) FN(SOC, "soc", 0, 0) FN(CHANNELS, "channels", 0, 0)                  \
  FN(TRUE, "true", 0, 0) FN(FALSE, "false", 0, 0) FN(ABSENT_OPERAND, "none", 0, 0)              \
  FN(CONST, "const", 1, 1) FN(PRESENT, "present", 1, 1) FN(ABSENT, "absent", 1, 1)              \
  FN(CONST_OR_ABSENT, "const_or_absent", 1, 1) FN(USED, "used", 1, 1) FN(SET, "set", 1, 1)      \
  FN(ATTR, "attr", 1, 1) FN(VALUE, "value", 1, 1) FN(ZERO, "zero", 1, 1) FN(RANK, "rank", 1, 1) \
  FN(NUMEL, "numel", 1, 1) FN(DTYPE, "dtype", 1, 1) FN(MIN, "min", 1, 1) FN(MAX, "max", 1, 1)   \
  FN(PROD, "prod", 1, 1) FN(ALL1, "all1", 1, 1) FN(APPROX, "approx", 3, 3)                      \
  FN(DIVIDES, "divides", 2, 2) FN(SAMESHAPE, "sameshape", 1, 1) FN(LAST_TWO, "last_two", 1, 1)  \
  FN(REVERSE, "reverse", 3, 3) FN(FROM_CUBE, "from_cube", 1, 1) FN(DIM, "dim", 2, 2)            \
  FN(HALF, "half", 1, 1) FN(HALVABLE, "halvable", 1, 1) FN(WIDE, "wide", 1, 1)                  \
  FN(SAMEDIM, "samedim", 4, 4) FN(SPANS, "spans", 2, 2)                                         \
  FN(SHAPE, "shape", 1, 1) FN(OUT_HW, "out_hw", 1, 1) FN(RANGE, "range", 2, 2)                  \
  FN(ZEROS, "zeros", 1, 1) FN(SPLIT_SIZES, "split_sizes", 2, 2) FN(TO_INT, "int", 1, 1)         \
  FN(TO_FLOAT, "float", 1, 1) FN(TO_BOOL, "bool", 1, 1) FN(TO_STR, "str", 1, 1)                 \
  FN(TO_INTS, "ints", 1, 1) FN(TO_BOOLS, "bools", 1, 1) FN(TO_LIST, "list", 1, 1)               \
  FN(INVERT, "not", 1, 1) FN(EQUALS, "eq", 2, 2) FN(ITEM, "item", 2, 2) FN(AXES, "axes", 1, 1)  \
  FN(AXES_OR_ALL, "axes_or_all", 1, 1) FN(NCHW, "nchw", 1, 1) FN(NCDHW, "ncdhw", 1, 1)          \
  FN(ONCHW, "onchw", 1, 1) FN(ONCDHW, "oncdhw", 1, 1) FN(HHWW, "hhww", 1, 1)                    \
  FN(DDHHWW, "ddhhww", 1, 1) FN(GE, "ge", 1, 1) FN(GE_OF, "ge_of", 1, 1)                        \
  FN(GEDT, "gedt", 1, 1) FN(DT, "dt", 1, 1) FN(PADMODE, "padmode", 1, 1)                        \
  FN(GSMODE, "gsmode", 1, 1) FN(HALF_PIXEL, "half_pixel", 1, 1) FN(QNAME, "qname", 1, 1)        \
  FN(SCALE_OR_RSQRT_D, "scale_or_rsqrt_d", 1, 1)                     \
  FN(TENSOR, "tensor", 1, 1) FN(EYE, "eye", 3, 3) FN(I32, "i32", 1, 1) FN(I64, "i64", 1, 1)     \
  FN(I32S, "i32s", 1, 1) FN(I64S, "i64s", 1, 1) FN(F32S, "f32s", 1, 1)                          \
  FN(TENSOR_OR_F32_0, "tensor_or_f32_0", 1, 1) FN(LIKE_CONST, "like_const", 2, 2)               \
  FN(OR_EMPTY_I32, "or_empty_i32", 1, 1) FN(OR_EMPTY_F32, "or_empty_f32", 1, 1)                 \
  FN(OR_EMPTY_HALF, "or_empty_half", 2, 2)                                                      \
  FN(OR_ZEROS, "or_zeros", 2, 2) FN(OR_ONES, "or_ones", 2, 2)                                   \
  FN(FULL_PADS, "full_pads", 2, 2) FN(REPEAT_CHANNELS, "repeat_channels", 1, 1)                 \
  FN(TF_NEAREST, "tf_nearest", 0, 0) FN(OR_ELSE, "or", 2, 2)                                    \
  FN(CAPTURED, "captured", 0, 0) FN(DEQSCALE, "deqscale", 1, 1)

typedef enum tl_npu_fn {
#define TL_NPU_ENUM(id, name, low, high) TL_NPU_FN_##id,
  TL_NPU_FUNCTIONS(TL_NPU_ENUM)
#undef TL_NPU_ENUM
  TL_N_NPU_FNS
} tl_npu_fn;

/* Returns the name of a function as the tables write it. */
const char *tl_npu_fn_name(tl_npu_fn fn);

typedef struct tl_npu_expr tl_npu_expr;
struct tl_npu_expr {
  uint8_t kind; /* tl_npu_kind */
  uint8_t fn;   /* tl_npu_fn of a CALL */
  bool optional;
  uint8_t n_args;
  const tl_npu_expr **args; /* arena */
  union {
    int64_t i;
    double f;
    tl_symbol name;
    uint64_t mask;
  } u;
};

/* One port=expr or attribute=expr. */
typedef struct tl_npu_binding {
  tl_symbol name;
  uint32_t index; /* index of the port or attribute in the prototype; UINT32_MAX: an extra
                   * attribute, "+attr" */
  const tl_npu_expr *value;
} tl_npu_binding;

/* A compiled candidate: guard, and how operands and attributes of the NPU node are made. */
typedef struct tl_npu_form {
  const tl_npu_candidate *row;
  const tl_npu_expr *guard; /* NULL: always */
  const tl_op *npu;         /* prototype; NULL for kind NONE */
  tl_op_id npu_id;
  const tl_npu_binding *operands;
  const tl_npu_binding *attrs;
  uint32_t n_operands;
  uint32_t n_attrs;
} tl_npu_form;

/* Compiled candidates of all ops, each compiled on first use; lives in the scratch arena of a
 * pass. */
typedef struct tl_npu_forms {
  tl_module *m;
  tl_arena *arena;
  const tl_npu_form **by_op; /* [tl_n_op_rows] */
} tl_npu_forms;

/* Initializes an empty table of forms; `arena` owns everything. Returns TL_NO_MEMORY, reported. */
tl_status tl_npu_forms_init(tl_npu_forms *f, tl_module *m, tl_arena *arena) TL_NODISCARD;
/* Returns in *out all candidates of op < tl_n_op_rows, in order of preference; NULL if it has none.
 * Reports TL_NO_MEMORY, or TL_INTERNAL for a mistake in the op table. */
tl_status tl_npu_forms_get(tl_npu_forms *f, tl_op_id op, const tl_npu_form **out) TL_NODISCARD;

/* Parses one expression. Returns NULL on failure; *why is then a constant text, or NULL for out of
 * memory. The tree is in `arena`. O(length of text). */
const tl_npu_expr *tl_npu_expr_parse(tl_module *m, tl_arena *arena, tl_sv text, const char **why);

/* Returns false if the guard fails for every node on such a chip; true if it may hold (NULL:
 * always). */
bool tl_npu_may_hold_on(const tl_npu_expr *guard, tl_soc_family chip);

#endif
