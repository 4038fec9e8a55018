/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names that completion offers as values: chips, passes, fusions, ops of ONNX and NPU. */
#include "ir/chip/soc.h"
#include "ir/op.h"
#include "ir/options/fusion_names.h"
#include "passes/manager.h"
#include "tools/cli/cli.h"

const char *tl_completion_list(tl_option_id id) {
  switch (id) {
  case TL_OPTION_SOC_VERSION: return "chips";
  case TL_OPTION_PASSES:
  case TL_OPTION_PRINT_BEFORE:
  case TL_OPTION_PRINT_AFTER:
  case TL_OPTION_PRINT_CHANGED: return "passes";
  case TL_OPTION_FUSION:
  case TL_OPTION_FUSION_LIST:
  case TL_OPTION_EXPLAIN_FUSION:
  case TL_OPTION_WHY_NOT:
  case TL_OPTION_OPTIMIZATION_SWITCH: return "fusions";
  case TL_OPTION_ENABLE_SCOPE_FUSION_PASSES:
  case TL_OPTION_DISABLE_SCOPE_FUSION_PASSES: return "scopes";
  case TL_OPTION_OP_BLOCK_LIST:
  case TL_OPTION_OP_INCLUDE_LIST:
  case TL_OPTION_EXPLAIN_TYPE: return "ops";
  case TL_OPTION_OPTYPELIST_FOR_IMPLMODE: return "types";
  default: return NULL;
  }
}

static void add_word(tl_buf *out, const char *word) {
  if (out->n && out->p[out->n - 1] != '"' && out->p[out->n - 1] != '(')
    tl_buf_add_char(out, ' ');
  tl_buf_add_z(out, word);
}

static void add_chips(tl_buf *out) {
  const char *name;
  for (uint32_t i = 0; (name = tl_soc_name(i)); i++)
    add_word(out, name);
}

static void add_passes(tl_buf *out) {
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  for (uint32_t i = 0; i < n; i++)
    add_word(out, rows[i].name);
}

static void add_fusions(tl_buf *out, bool scopes) {
  uint32_t n;
  const tl_fusion_name *rows = tl_fusion_names(&n);
  for (uint32_t i = 0; i < n; i++)
    if (!scopes || rows[i].kind == TL_FUSION_SCOPE)
      add_word(out, rows[i].name);
}

/* Adds ops of a domain without its name: '::' is no part of a word for shells. */
static void add_ops(tl_buf *out, const char *domain) {
  for (uint32_t i = 0; i < tl_n_op_rows; i++)
    if (tl_op_row(i) && strcmp(tl_op_row(i)->domain, domain) == 0)
      add_word(out, tl_op_row(i)->name);
}

void tl_completion_words(tl_buf *out, const char *list) {
  if (strcmp(list, "chips") == 0)
    add_chips(out);
  else if (strcmp(list, "passes") == 0)
    add_passes(out);
  else if (strcmp(list, "ops") == 0)
    add_ops(out, "");
  else if (strcmp(list, "types") == 0)
    add_ops(out, "npu");
  else
    add_fusions(out, strcmp(list, "scopes") == 0);
}
