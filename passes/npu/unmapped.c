/* SPDX-License-Identifier: Apache-2.0 */
/* Groups nodes without an NPU form by op and reason, and words the report (unmapped.h). */
#include "passes/npu/unmapped.h"

/* Reasons are static strings, so that equal ones have equal addresses. */
tl_status tl_unmapped_add(tl_unmapped_vec *list, const tl_module *m, tl_node_id n,
                          const char *why) {
  tl_op_id op = tl_node_get(m, n)->op;
  uint32_t i = 0;
  while (i < list->n && (list->at[i].op != op || list->at[i].why != why))
    i++;
  if (i == list->n && !tl_unmapped_vec_push(list, (tl_unmapped_group){.op = op, .why = why}))
    return TL_NO_MEMORY;
  tl_unmapped_group *g = &list->at[i];
  if (g->count < TL_UNMAPPED_NAMES)
    g->nodes[g->count] = n;
  g->count++;
  return TL_OK;
}

/* Returns advice for an op, or NULL if there is none in particular. */
static const char *advice_of(const tl_module *m, tl_op_id op) {
  static const struct {
    const char *domain;
    const char *op;
    const char *text;
  } rows[] = {
#define ADVICE(domain, op, text) {domain, op, text},
#include "passes/npu/unmapped_advice.tbl"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (tl_sv_is(tl_op_domain(m, op), rows[i].domain) && tl_sv_is(tl_op_name(m, op), rows[i].op))
      return rows[i].text;
  return NULL;
}

/* Appends one group: op, number of nodes, the first names, the reason and, if there is one,
 * advice. */
static void describe(tl_buf *out, tl_module *m, const tl_unmapped_group *g) {
  tl_sv domain = tl_op_domain(m, g->op);
  tl_buf_printf(out, "%.*s%s%.*s x%u (", TL_SV_ARG(domain), domain.n ? "::" : "",
                TL_SV_ARG(tl_op_name(m, g->op)), g->count);
  for (uint32_t i = 0; i < g->count && i < TL_UNMAPPED_NAMES; i++)
    tl_buf_printf(out, "%s'%.*s'", i ? ", " : "", TL_SV_ARG(tl_node_where(m, g->nodes[i]).node));
  if (g->count > TL_UNMAPPED_NAMES)
    tl_buf_printf(out, " and %u more", g->count - TL_UNMAPPED_NAMES);
  tl_buf_printf(out, "): %s", g->why);
  if (advice_of(m, g->op))
    tl_buf_printf(out, "; %s", advice_of(m, g->op));
}

static void describe_all(tl_buf *out, const tl_unmapped_vec *list, tl_module *m) {
  tl_buf_init(out);
  for (uint32_t i = 0; i < list->n; i++) {
    tl_buf_add_z(out, i ? "; " : "");
    describe(out, m, &list->at[i]);
  }
}

tl_status tl_unmapped_warn(const tl_unmapped_vec *list, tl_module *m) {
  tl_buf text;
  describe_all(&text, list, m);
  m->chip_fit.unmapped = 0;
  for (uint32_t i = 0; i < list->n; i++)
    m->chip_fit.unmapped += list->at[i].count;
  if (list->n && !text.failed)
    tl_warn_code(m->diag, "W_UNMAPPED", TL_AT_FILE(m->path),
                 "%u op type%s without an NPU form %s as %s: %s"
                 "\va file with them is for inspection: atc refuses them",
                 list->n, list->n == 1 ? "" : "s", list->n == 1 ? "stays" : "stay",
                 list->n == 1 ? "it is" : "they are", text.p);
  tl_status status = text.failed ? tl_no_memory(m) : TL_OK;
  tl_buf_release(&text);
  return status;
}

tl_status tl_unmapped_report(const tl_unmapped_vec *list, tl_module *m) {
  tl_buf text;
  describe_all(&text, list, m);
  tl_status status = text.failed
                         ? tl_no_memory(m)
                         : tl_fail_code(m->diag, TL_UNSUPPORTED, "E10501", TL_AT_FILE(m->path),
                                        "%u op %s no NPU form: %s"
                                        "\v--allow-unmapped writes them under their ONNX names; "
                                        "'tailor ops NAME' shows what an op needs, "
                                        "'tailor explain MODEL --expand' why no expansion matches",
                                        list->n, list->n == 1 ? "type has" : "types have", text.p);
  tl_buf_release(&text);
  return status;
}
