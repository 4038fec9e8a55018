/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of mix lists and of files of dtypes: what is taken, and what is said of what is not. The
 * forms and codes are those of the NPU stack's documents (docs/precision.md). */
#include <stdio.h>
#include <string.h>

#include "frontend/config/impl_modes.h"
#include "frontend/config/precision.h"
#include "tests/unit/unit.h"

typedef tl_status (*reader)(tl_diag *, tl_arena *, const char *, tl_sv, tl_precision_config *);

typedef struct reading {
  tl_arena arena;
  tl_precision_config c;
  char said[4096]; /* a line a diagnostic: "line:column code message" */
  uint32_t errors;
} reading;

static void remember(void *user, const tl_diagnostic *d) {
  reading *r = user;
  size_t n = strlen(r->said);
  snprintf(r->said + n, sizeof r->said - n, "%u:%u %s %s (%s)\n", d->where.line, d->where.column,
           d->code ? d->code : "-", d->message, d->hint ? d->hint : "");
}

static tl_status read_with(reading *r, reader fn, const char *text) {
  tl_diag diag = {.fn = remember, .user = r};
  *r = (reading){0};
  tl_arena_init(&r->arena, 0);
  tl_status status = fn(&diag, &r->arena, "f", tl_sv_from(text), &r->c);
  r->errors = (uint32_t)diag.errors;
  CU_ASSERT_EQUAL(status == TL_OK, diag.errors == 0);
  return status;
}

static void taken(reading *r, reader fn, const char *text) {
  CU_ASSERT_EQUAL(read_with(r, fn, text), TL_OK);
  if (r->errors)
    printf("\n  refused: %s\n%s", text, r->said);
}

/* Refused, and each of the texts, which end with NULL, is part of what was said. */
static void refused(reader fn, const char *text, const char *const *parts) {
  reading r;
  CU_ASSERT_NOT_EQUAL(read_with(&r, fn, text), TL_OK);
  for (; *parts; parts++) {
    CU_ASSERT_PTR_NOT_NULL(strstr(r.said, *parts));
    if (!strstr(r.said, *parts))
      printf("\n  '%s' is not in:\n%s", *parts, r.said);
  }
  tl_arena_release(&r.arena);
}
#define REFUSED(fn, text, ...) refused(fn, text, (const char *const[]){__VA_ARGS__, NULL})

/* ---- modify_mixlist -------------------------------------------------------------------------- */

/* A file in which one type stands in every list of the set. */
static void mix_text(uint8_t edits, char *out, size_t n) {
  static const char *const lists[] = {"black-list", "white-list", "gray-list"};
  size_t used = (size_t)snprintf(out, n, "{");
  for (int i = 0; i < 3; i++) {
    unsigned two = edits >> (2 * i) & 3;
    used += (size_t)snprintf(out + used, n - used, "%s\"%s\": {%s%s%s}", i ? ", " : "", lists[i],
                             two & 1 ? "\"to-add\": [\"Add\"]" : "", two == 3 ? ", " : "",
                             two & 2 ? "\"to-remove\": [\"Add\"]" : "");
  }
  snprintf(out + used, n - used, "}");
}

/* The eleven of the documents: a removal from black or white, an addition, and an addition with the
 * removal from another list. */
static bool is_legal(uint8_t e) {
  static const uint8_t legal[] = {2, 8, 16, 18, 24, 4, 36, 6, 1, 33, 9};
  for (size_t i = 0; i < sizeof legal; i++)
    if (legal[i] == e)
      return true;
  return false;
}

static void eleven_sets_are_legal(void) {
  int n = 0;
  for (unsigned edits = 1; edits < 64; edits++) {
    char text[512];
    reading r;
    mix_text((uint8_t)edits, text, sizeof text);
    tl_status status = read_with(&r, tl_read_mixlist_text, text);
    CU_ASSERT_EQUAL(status == TL_OK, is_legal((uint8_t)edits));
    n += status == TL_OK;
    if (status == TL_OK) {
      CU_ASSERT_EQUAL_FATAL(r.c.n_mix, 1);
      CU_ASSERT_EQUAL(r.c.mix[0].edits, edits);
    } else {
      CU_ASSERT_PTR_NOT_NULL(strstr(r.said, "E20003"));
    }
    tl_arena_release(&r.arena);
  }
  CU_ASSERT_EQUAL(n, 11);
}

static void lists_keep_the_order_of_the_file(void) {
  reading r;
  taken(&r, tl_read_mixlist_text,
        "\xef\xbb\xbf{ // comment with \"quotes\"\n"
        " \"white-list\": {\"to-add\": [\"MatMulV2\", \"Conv2D\", \"MatMulV2\"]}, /* {\n } */\n"
        " \"black-list\": {\n  \"to-add\": [\"Add\"], \"to-remove\": []}\n}");
  CU_ASSERT_EQUAL_FATAL(r.c.n_mix, 3);
  CU_ASSERT_TRUE(tl_sv_is(r.c.mix[0].type, "Conv2D"));
  CU_ASSERT_TRUE(tl_sv_is(r.c.mix[1].type, "MatMulV2"));
  CU_ASSERT_TRUE(tl_sv_is(r.c.mix[2].type, "Add"));
  CU_ASSERT_EQUAL(r.c.mix[1].line, 2);
  CU_ASSERT_EQUAL(r.c.mix[2].line, 5);
  tl_arena_release(&r.arena);
  taken(&r, tl_read_mixlist_text, "{}");
  CU_ASSERT_EQUAL(r.c.n_mix, 0);
  tl_arena_release(&r.arena);
}

static void the_last_of_equal_keys_counts(void) {
  reading r;
  taken(&r, tl_read_mixlist_text,
        "{\"white-list\": {\"to-add\": [\"Add\"], \"to-add\": [\"Mul\"]}}");
  CU_ASSERT_EQUAL_FATAL(r.c.n_mix, 1);
  CU_ASSERT_TRUE(tl_sv_is(r.c.mix[0].type, "Mul"));
  CU_ASSERT_PTR_NOT_NULL(strstr(r.said, "W_MIXLIST_DUP_KEY"));
  tl_arena_release(&r.arena);
}

static void all_problems_of_a_list_are_said(void) {
  REFUSED(tl_read_mixlist_text,
          "{\"grey-list\": {}, \"white-list\": [],\n \"black-list\": {\"toadd\": [], \"to-add\": "
          "[1, \"\"],\n \"to-remove\": \"Add\"}}",
          "1:2 E21002 unknown key 'grey-list'", "'gray-list'", "1:19 E21002 'white-list' must be",
          "2:17 E21002 unknown key 'toadd'", "'to-add'", "must be a list of op types", "is empty",
          "3:2 E21002 'to-remove' must be an array");
  REFUSED(tl_read_mixlist_text, "[]", "must be an object");
  REFUSED(tl_read_mixlist_text, " \n", "is empty");
  REFUSED(tl_read_mixlist_text, "{\"white-list\": {} \"black-list\": {}}", "1:19 E21002 not JSON");
  REFUSED(tl_read_mixlist_text, "{} /* no end", "not JSON");
  REFUSED(tl_read_mixlist_text, "{\"white-list\": {\"to-add\": [\"\xff\"]}}", "not JSON");
  REFUSED(tl_read_mixlist_text,
          "{\"white-list\": {\"to-add\": [\"A\", \"B\"]},\n \"black-list\": {\"to-add\": [\"A\", "
          "\"B\"]}}",
          "op type 'A'", "op type 'B'", "black-list.to-add, white-list.to-add", "2:");
}

/* ---- keep_dtype ------------------------------------------------------------------------------ */

static void kept_ops_are_names_and_types(void) {
  reading r;
  taken(&r, tl_read_keep_dtype_text,
        "Mul_60\r\n\n# a comment\n  /layer.0/Add:0 \nOpType::MatMulV2");
  CU_ASSERT_EQUAL_FATAL(r.c.n_keep, 3);
  CU_ASSERT_TRUE(tl_sv_is(r.c.keep[0].name, "Mul_60") && !r.c.keep[0].is_type);
  CU_ASSERT_TRUE(tl_sv_is(r.c.keep[1].name, "/layer.0/Add:0") && r.c.keep[1].line == 4);
  CU_ASSERT_TRUE(tl_sv_is(r.c.keep[2].name, "MatMulV2") && r.c.keep[2].is_type);
  tl_arena_release(&r.arena);
  taken(&r, tl_read_keep_dtype_text, "");
  CU_ASSERT_EQUAL(r.c.n_keep, 0);
  tl_arena_release(&r.arena);
  REFUSED(tl_read_keep_dtype_text, "a\nOpType::matMul\nOpType::\nOpType::A_B", "2:1 E10003",
          "3:1 E10003", "4:1 E10003");
  REFUSED(tl_read_keep_dtype_text, "a\nb\x01", "2:1 E13001");
}

/* ---- customize_dtypes ------------------------------------------------------------------------ */

static void dtypes_are_lists_with_holes(void) {
  reading r;
  taken(&r, tl_read_custom_dtypes_text,
        "# as users write it\nOpType::MatMulV2:InputDtype:float16,float16,float32,OutputDtype:"
        "float32\nGemm_1732::InputDtype:float16,OutputDtype:float16\nx:OutputDtype:,int8,\n"
        "y:InputDtype:DT_BF16, double\nx:InputDtype:bool");
  CU_ASSERT_EQUAL_FATAL(r.c.n_custom, 5);
  const tl_custom_entry *e = r.c.custom;
  CU_ASSERT_TRUE(e[0].is_type && e[0].n_in == 3 && e[0].in[2] == TL_DTYPE_F32 && e[0].n_out == 1);
  CU_ASSERT_TRUE(!e[1].is_type && tl_sv_is(e[1].name, "Gemm_1732") && e[1].n_in == 1);
  CU_ASSERT_TRUE(e[2].n_in == 0 && e[2].n_out == 2 && e[2].out[0] == TL_DTYPE_NONE &&
                 e[2].out[1] == TL_DTYPE_I8);
  CU_ASSERT_TRUE(e[3].n_in == 2 && e[3].in[0] == TL_DTYPE_BF16 && e[3].in[1] == TL_DTYPE_F64);
  CU_ASSERT_PTR_NOT_NULL(strstr(r.said, "6:1 W_DTYPES_REPEATED 'x' is given twice; line 4"));
  tl_arena_release(&r.arena);
}

static void malformed_lines_are_all_said(void) {
  REFUSED(tl_read_custom_dtypes_text,
          "x\n:InputDtype:float\nx:y:InputDtype:float\nx:OutputDtype:float,InputDtype:float\n"
          "x:InputDtype:flaot\nx:InputDtype:float,InputDtype:float",
          "1:1 E20101", "2:1 E20101", "3:1 E20101", "4:1 E20101",
          "5:1 E20003 'flaot' is not a dtype", "6:1 E20101");
}

/* ---- options --------------------------------------------------------------------------------- */

static void outputs_are_named_with_their_nodes(void) {
  reading r = {0};
  tl_diag diag = {.fn = remember, .user = &r};
  tl_out_node nodes[] = {{TL_SV("a:b"), 1, true}, {TL_SV("c"), 0, true}};
  tl_options o = {.out_nodes = nodes, .n_out_nodes = 2};
  tl_location at = {0};
  tl_arena_init(&r.arena, 0);
  CU_ASSERT_EQUAL(tl_read_output_type(&diag, &r.arena, at, TL_SV("FP16"), &o, &r.c), TL_OK);
  CU_ASSERT_TRUE(r.c.n_outputs == 1 && r.c.outputs[0].node.n == 0 &&
                 r.c.outputs[0].dtype == TL_DTYPE_F16);
  CU_ASSERT_EQUAL(
      tl_read_output_type(&diag, &r.arena, at, TL_SV("a:b:1:BF16; c:0:DOUBLE;"), &o, &r.c), TL_OK);
  CU_ASSERT_TRUE(r.c.n_outputs == 2 && tl_sv_is(r.c.outputs[0].node, "a:b") &&
                 r.c.outputs[0].index == 1 && r.c.outputs[1].dtype == TL_DTYPE_F64);
  static const char *const bad[] = {"",
                                    "fp16",
                                    "STRING",
                                    "c:0",
                                    "c:0:",
                                    "c:1:FP16",
                                    "c:-1:FP16",
                                    "c:x:FP16",
                                    ":0:FP16",
                                    "c:0:FP16;d:0:FP16",
                                    "c:99999999999999999999:FP16"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CU_ASSERT_NOT_EQUAL(tl_read_output_type(&diag, &r.arena, at, tl_sv_from(bad[i]), &o, &r.c),
                        TL_OK);
  tl_arena_release(&r.arena);
}

static void globs_come_with_a_dtype(void) {
  reading r = {0};
  tl_diag diag = {.fn = remember, .user = &r};
  tl_location at = {0};
  tl_arena_init(&r.arena, 0);
  tl_sv text = TL_SV("layer.*/x=y=float16\nhead=bfloat16\n*=float32");
  CU_ASSERT_EQUAL(tl_read_to_float(&diag, &r.arena, at, text, &r.c), TL_OK);
  CU_ASSERT_EQUAL_FATAL(r.c.n_to_float, 3);
  CU_ASSERT_TRUE(tl_sv_is(r.c.to_float[0].glob, "layer.*/x=y"));
  CU_ASSERT_EQUAL(r.c.to_float[1].dtype, TL_DTYPE_BF16);
  static const char *const bad[] = {"x", "=float16", "x=", "x=int8", "x=float17"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CU_ASSERT_NOT_EQUAL(tl_read_to_float(&diag, &r.arena, at, tl_sv_from(bad[i]), &r.c), TL_OK);
  CU_ASSERT_EQUAL(tl_read_fp16_inputs(&diag, &r.arena, at, TL_SV("a; b ;;"), &r.c), TL_OK);
  CU_ASSERT_EQUAL(r.c.n_fp16_inputs, 2);
  tl_arena_release(&r.arena);
}

static void dtypes_have_many_names(void) {
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("float")), TL_DTYPE_F32);
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("Float32")), TL_DTYPE_F32);
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("FP16")), TL_DTYPE_F16);
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("bf16")), TL_DTYPE_BF16);
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("DT_INT64")), TL_DTYPE_I64);
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("bool")), TL_DTYPE_BOOL);
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("")), TL_DTYPE_NONE);
  CU_ASSERT_EQUAL(tl_user_dtype(TL_SV("flaot")), TL_DTYPE_NONE);
}

/* ---- --amp-level ----------------------------------------------------------------------------- */

static int edits_of(const tl_precision_config *c, const char *type) {
  int edits = -1;
  for (uint32_t i = 0; i < c->n_mix; i++)
    if (tl_sv_is(c->mix[i].type, type))
      edits = edits < 0 ? c->mix[i].edits : -2; /* named twice */
  return edits;
}

/* Levels of MindSpore: what is white, black and neither, and that a mix list edits it. */
static void levels_are_modes_and_colours(void) {
  reading r;
  tl_location at = {0};
  tl_precision_mode mode;
  bool lists;
  CU_ASSERT_TRUE(tl_amp_level_mode(TL_SV("O0"), true, &mode, &lists));
  CU_ASSERT_TRUE(mode == TL_PRECISION_ORIGIN && !lists);
  CU_ASSERT_TRUE(tl_amp_level_mode(TL_SV("O3"), false, &mode, &lists));
  CU_ASSERT_TRUE(mode == TL_PRECISION_FORCE_FP16 && !lists);
  CU_ASSERT_TRUE(tl_amp_level_mode(TL_SV("O3"), true, &mode, &lists));
  CU_ASSERT_EQUAL(mode, TL_PRECISION_MIX_BF16); /* no mode forces bf16: all types are white */
  CU_ASSERT_TRUE(tl_amp_level_mode(TL_SV("auto"), false, &mode, &lists));
  CU_ASSERT_TRUE(mode == TL_PRECISION_MIX_FP16 && lists);
  CU_ASSERT_FALSE(tl_amp_level_mode(TL_SV("AUTO"), false, &mode, &lists));
  CU_ASSERT_FALSE(tl_amp_level_mode(TL_SV("o1"), false, &mode, &lists));
  taken(&r, tl_read_mixlist_text,
        "{\"black-list\": {\"to-add\": [\"MatMulV2\"]}, \"white-list\": {\"to-remove\": "
        "[\"Conv2D\"], \"to-add\": [\"Add\"]}}");
  tl_diag diag = {.fn = remember, .user = &r};
  CU_ASSERT_EQUAL(tl_apply_amp_level(&diag, &r.arena, at, TL_SV("O1"), &r.c), TL_OK);
  CU_ASSERT_TRUE(r.c.recoloured && r.c.unlisted == TL_COLOUR_BLACK && r.c.n_promote == 0);
  CU_ASSERT_EQUAL(edits_of(&r.c, "BatchMatMulV2"), TL_MIX_ADD_WHITE);
  CU_ASSERT_EQUAL(edits_of(&r.c, "MatMulV2"), TL_MIX_ADD_BLACK);
  CU_ASSERT_EQUAL(edits_of(&r.c, "Conv2D"), TL_MIX_ADD_GRAY);
  CU_ASSERT_EQUAL(edits_of(&r.c, "Add"), TL_MIX_ADD_WHITE);
  CU_ASSERT_EQUAL(edits_of(&r.c, "LayerNorm"), -1);
  tl_arena_release(&r.arena);
  taken(&r, tl_read_mixlist_text, "{}");
  CU_ASSERT_EQUAL(tl_apply_amp_level(&diag, &r.arena, at, TL_SV("O2"), &r.c), TL_OK);
  CU_ASSERT_TRUE(r.c.unlisted == TL_COLOUR_WHITE);
  CU_ASSERT_EQUAL(edits_of(&r.c, "LayerNorm"), TL_MIX_ADD_BLACK);
  tl_arena_release(&r.arena);
  taken(&r, tl_read_mixlist_text, "{}");
  CU_ASSERT_EQUAL(tl_apply_amp_level(&diag, &r.arena, at, TL_SV("auto"), &r.c), TL_OK);
  CU_ASSERT_TRUE(r.c.unlisted == TL_COLOUR_GRAY && r.c.n_promote > 0);
  CU_ASSERT_EQUAL(edits_of(&r.c, "SoftmaxV2"), TL_MIX_ADD_BLACK);
  tl_arena_release(&r.arena);
}

/* ---- implementation modes -------------------------------------------------------------------- */

static void modes_are_for_types_and_nodes(void) {
  reading r = {0};
  tl_diag diag = {.fn = remember, .user = &r};
  tl_impl_config c = {0};
  tl_arena_init(&r.arena, 0);
  tl_sv text =
      TL_SV("\r\nGelu = high_performance\n# a comment\n[ByNodeName]\nb/Add=high_precision\n"
            "a=norm_class\n[ByOpType]\nAdd=super_performance\nGelu=high_precision\n"
            "fff=\n= high_precision\nabc:high_performance\nx=fast\n[Else]\ny=fast\n");
  CU_ASSERT_EQUAL(tl_read_impl_modes_text(&diag, &r.arena, "f", text, &c), TL_OK);
  CU_ASSERT_EQUAL_FATAL(c.n_types, 2);
  CU_ASSERT_EQUAL_FATAL(c.n_nodes, 2);
  CU_ASSERT_TRUE(tl_sv_is(c.types[0].name, "Add") && c.types[0].mode->number == 0x8);
  CU_ASSERT_TRUE(tl_sv_is(c.types[1].name, "Gelu") && c.types[1].mode->number == 0x2);
  CU_ASSERT_TRUE(tl_sv_is(c.nodes[0].name, "a") && c.nodes[0].mode->number == 0);
  CU_ASSERT_TRUE(tl_sv_is(c.nodes[1].name, "b/Add") && c.nodes[1].mode->number == 0x4);
  CU_ASSERT_EQUAL(diag.warnings, 6); /* lines 9 to 13 and the section */
  CU_ASSERT_PTR_NOT_NULL(strstr(r.said, "13:1 W_IMPL_MODE the line is ignored: 'fast'"));
  CU_ASSERT_PTR_NOT_NULL(strstr(r.said, "9:1 W_IMPL_MODE the line is ignored: 'Gelu' was given"));
  tl_arena_release(&r.arena);
}

static const unit_test tests[] = {
    {"modes are for types and nodes", modes_are_for_types_and_nodes},
    {"levels are modes and colours", levels_are_modes_and_colours},
    {"eleven sets of edits are legal", eleven_sets_are_legal},
    {"lists keep the order of the file", lists_keep_the_order_of_the_file},
    {"the last of equal keys counts", the_last_of_equal_keys_counts},
    {"all problems of a list are said", all_problems_of_a_list_are_said},
    {"kept ops are names and types", kept_ops_are_names_and_types},
    {"dtypes are lists with holes", dtypes_are_lists_with_holes},
    {"malformed lines are all said", malformed_lines_are_all_said},
    {"outputs are named with their nodes", outputs_are_named_with_their_nodes},
    {"globs come with a dtype", globs_come_with_a_dtype},
    {"dtypes have many names", dtypes_have_many_names},
    {NULL, NULL}};

const unit_suite unit_suite_precision_lists = {"precision_lists", tests};
