/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in op information and the table of chips. */
#include "ir/chip/op_info.h"
#include "ir/options/options.h"
#include "tests/unit/unit.h"

static tl_op_info find(tl_soc_family family, const char *op) {
  return tl_op_info_find(tl_op_info_builtin(family), tl_sv_from(op));
}

/* Column k as text: dtypes of the required inputs, '>', those of the outputs. */
static void signature(tl_op_info i, uint32_t k, char *out, size_t size) {
  size_t n = 0;
  out[0] = '\0';
  for (uint32_t s = 0; s < i.row->n_inputs + (uint32_t)i.row->n_outputs; s++) {
    bool output = s >= i.row->n_inputs;
    const tl_op_info_slot *slot = tl_op_info_slot_at(i, output, output ? s - i.row->n_inputs : s);
    if (!output && slot->kind == TL_SLOT_OPTIONAL)
      continue;
    const char *name = tl_dtype_get((tl_dtype)tl_op_info_columns(i, slot)[k])->name;
    n += (size_t)snprintf(out + n, size - n, "%s%s",
                          s == i.row->n_inputs ? ">"
                          : n                  ? ","
                                               : "",
                          name);
  }
}

static void check_columns(tl_soc_family family, const char *op, const char *expected) {
  tl_op_info i = find(family, op);
  char all[512] = "";
  CU_ASSERT_PTR_NOT_NULL_FATAL(i.row);
  for (uint32_t k = 0; k < i.row->n_columns; k++) {
    char one[128];
    signature(i, k, one, sizeof one);
    strcat(strcat(all, k ? " " : ""), one);
  }
  CU_ASSERT_STRING_EQUAL(all, expected);
}

/* Products prefer half with half results (first column); a half product may accumulate into f32. */
static void columns_are_in_table_order(void) {
  check_columns(TL_SOC_A2, "Conv2D",
                "f16,f16>f16 f16,f16>f32 f32,f32>f32 bf16,bf16>bf16 i8,i8>i32");
  check_columns(TL_SOC_A2, "Log", "bf16>bf16 f16>f16 f32>f32");
  check_columns(TL_SOC_A2, "SelectV2",
                "bool,bf16,bf16>bf16 bool,f16,f16>f16 bool,f32,f32>f32 bool,i32,i32>i32 "
                "bool,i8,i8>i8 bool,u8,u8>u8 bool,i64,i64>i64");
}

static void the_older_chip_has_no_bfloat16(void) {
  check_columns(TL_SOC_910, "Conv2D", "f16,f16>f16 f16,f16>f32 i8,i8>i32");
  check_columns(TL_SOC_910, "Log", "f16>f16 f32>f32");
  CU_ASSERT_PTR_NULL(find(TL_SOC_910, "FlashAttentionScore").row); /* a newer library */
  CU_ASSERT_PTR_NOT_NULL(find(TL_SOC_A2, "FlashAttentionScore").row);
  const tl_op_info_table *t = tl_op_info_builtin(TL_SOC_910)->tables[0];
  for (uint32_t r = 0; r < t->n_rows; r++) {
    tl_op_info i = {t, &t->rows[r]};
    for (uint32_t s = 0; s < i.row->n_inputs + (uint32_t)i.row->n_outputs; s++) {
      const uint8_t *dtypes = tl_op_info_columns(i, &t->slots[i.row->slots + s]);
      for (uint32_t k = 0; k < i.row->n_columns; k++)
        CU_ASSERT(dtypes[k] != TL_DTYPE_BF16 && dtypes[k] != TL_DTYPE_NONE);
    }
    CU_ASSERT_EQUAL(i.row->source, TL_INFO_INFERRED);
  }
}

/* The published library has 1196 ops: 380 white, 95 black, 721 gray. */
static void the_table_is_whole(void) {
  const tl_op_info_table *t = tl_op_info_builtin(TL_SOC_A2)->tables[0];
  uint32_t count[3] = {0};
  CU_ASSERT_EQUAL(t->n_rows, 1196);
  for (uint32_t r = 0; r < t->n_rows; r++) {
    tl_sv name = tl_sv_from(t->text + t->rows[r].op);
    count[t->rows[r].colour]++;
    CU_ASSERT(r == 0 || tl_sv_compare(tl_sv_from(t->text + t->rows[r - 1].op), name) < 0);
    CU_ASSERT_PTR_EQUAL(tl_op_info_find(tl_op_info_builtin(TL_SOC_A2), name).row, &t->rows[r]);
  }
  CU_ASSERT_EQUAL(count[TL_COLOUR_WHITE], 380);
  CU_ASSERT_EQUAL(count[TL_COLOUR_BLACK], 95);
  CU_ASSERT_EQUAL(count[TL_COLOUR_GRAY], 721);
}

static void rows_tell_more_than_dtypes(void) {
  tl_op_info conv = find(TL_SOC_A2, "Conv2D");
  tl_op_info sum = find(TL_SOC_A2, "AccumulateNV2");
  CU_ASSERT_EQUAL(conv.row->colour, TL_COLOUR_WHITE);
  CU_ASSERT_STRING_EQUAL(tl_op_info_text(conv, conv.row->kernel), "Convolution");
  CU_ASSERT_STRING_EQUAL(tl_op_info_text(conv, conv.row->file), "legacy");
  CU_ASSERT_EQUAL(conv.row->flags, TL_INFO_DYNAMIC_SHAPE | TL_INFO_HEAVY);
  CU_ASSERT_EQUAL(conv.row->source, TL_INFO_DOCUMENTS);
  CU_ASSERT_STRING_EQUAL(tl_op_info_text(sum, sum.row->pattern), "broadcast");
  CU_ASSERT_EQUAL(find(TL_SOC_A2, "Log").row->colour, TL_COLOUR_BLACK);
  CU_ASSERT_EQUAL(find(TL_SOC_A2, "Reshape").row->flags & TL_INFO_NO_KERNEL, TL_INFO_NO_KERNEL);
  CU_ASSERT_PTR_NULL(find(TL_SOC_A2, "NoSuchOp").row);
  CU_ASSERT_PTR_NULL(find(TL_SOC_A2, "").row);
  const tl_op_info_slot *bias = tl_op_info_slot_named(conv, false, TL_SV("bias"));
  CU_ASSERT_PTR_EQUAL(bias, tl_op_info_slot_at(conv, false, 2));
  CU_ASSERT_EQUAL(bias->kind, TL_SLOT_OPTIONAL);
  CU_ASSERT_PTR_EQUAL(tl_op_info_slot_named(conv, true, TL_SV("y")),
                      tl_op_info_slot_at(conv, true, 0));
  CU_ASSERT_PTR_NULL(tl_op_info_slot_named(conv, true, TL_SV("bias")));
}

/* A file over the built-in table replaces whole rows and leaves the others. */
static void a_later_table_wins(void) {
  static const char text[] = "\0Log\0mine";
  static const tl_op_info_row row = {.op = 1, .file = 5, .colour = TL_COLOUR_WHITE};
  static const tl_op_info_table own = {.name = "own", .rows = &row, .text = text, .n_rows = 1};
  const tl_op_info_table *tables[] = {tl_op_info_builtin(TL_SOC_A2)->tables[0], &own};
  tl_op_info_set set = {tables, 2};
  tl_op_info i = tl_op_info_find(&set, TL_SV("Log"));
  CU_ASSERT_PTR_EQUAL(i.row, &row);
  CU_ASSERT_STRING_EQUAL(tl_op_info_text(i, i.row->file), "mine");
  CU_ASSERT_PTR_EQUAL(tl_op_info_find(&set, TL_SV("Exp")).table, tables[0]);
}

static void check_chip(const char *name, const char *family, const char *spelling) {
  tl_sv canonical = {0};
  const tl_soc *chip = tl_soc_find(tl_sv_from(name), &canonical);
  CU_ASSERT_PTR_NOT_NULL_FATAL(chip);
  CU_ASSERT_STRING_EQUAL(chip->name, family);
  CU_ASSERT(tl_sv_is(canonical, spelling));
}

static void chips_are_known_by_the_names_users_write(void) {
  check_chip("Ascend910B1", "Ascend910B", "Ascend910B1");
  check_chip("ascend910b4-1", "Ascend910B", "Ascend910B4-1");
  check_chip("Ascend910B", "Ascend910", "Ascend910B"); /* no digit: a 910A */
  check_chip("Ascend910_9362", "Ascend910_93", "Ascend910_9362");
  check_chip("Ascend910_9399", "Ascend910_93", "Ascend910_9399"); /* the line grows */
  check_chip("Ascend950PR_957b", "Ascend950", "Ascend950PR_957b");
  check_chip("Ascend710", "Ascend310P", "Ascend710");
  check_chip("Ascend310B", "Ascend310B", "Ascend310B");
  static const char *const wrong[] = {"",
                                      "Ascend",
                                      "310P3",
                                      "Ascend910B9",
                                      "Ascend910B1 ",
                                      "Ascend910_93$1",
                                      "Ascend950PR_95999",
                                      "Ascend31"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CU_ASSERT_PTR_NULL(tl_soc_find(tl_sv_from(wrong[i]), NULL));
  CU_ASSERT_STRING_EQUAL(tl_soc_nearest(TL_SV("310P3")), "Ascend310P3");
  CU_ASSERT_STRING_EQUAL(tl_soc_nearest(TL_SV("Ascned910A")), "Ascend910A");
  CU_ASSERT_PTR_NULL(tl_soc_nearest(TL_SV("GTX1080")));
}

/* Only chips whose products take f32 keep the model's own types when they train. */
static void chips_have_facts(void) {
  const tl_soc *old = tl_soc_find(TL_SV("Ascend910A"), NULL);
  const tl_soc *new = tl_soc_find(TL_SV("Ascend950PR_9599"), NULL);
  CU_ASSERT(!old->bf16 && !old->hif8 && !old->cube_f32 && old->table == TL_SOC_910);
  CU_ASSERT(new->bf16 &&new->hif8 &&new->cube_f32 &&new->table == TL_SOC_A2);
  CU_ASSERT_STRING_EQUAL(old->training, "allow_fp32_to_fp16");
  CU_ASSERT_STRING_EQUAL(new->training, "must_keep_origin_dtype");
  CU_ASSERT_STRING_EQUAL(tl_soc_find(TL_SV("Ascend310P3"), NULL)->training, "");
  tl_options defaults = tl_options_default();
  CU_ASSERT_STRING_EQUAL(tl_options_chip(&defaults)->name, "Ascend910B");
  CU_ASSERT_PTR_EQUAL(tl_options_op_info(&defaults), tl_op_info_builtin(TL_SOC_A2));
}

static const unit_test tests[] = {
    {"columns are in table order", columns_are_in_table_order},
    {"the older chip has no bfloat16", the_older_chip_has_no_bfloat16},
    {"the table is whole", the_table_is_whole},
    {"rows tell more than dtypes", rows_tell_more_than_dtypes},
    {"a later table wins", a_later_table_wins},
    {"chips are known by the names users write", chips_are_known_by_the_names_users_write},
    {"chips have facts", chips_have_facts},
    {NULL, NULL}};
const unit_suite unit_suite_op_info = {"op info", tests};
