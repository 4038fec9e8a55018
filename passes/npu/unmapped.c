/* SPDX-License-Identifier: Apache-2.0 */
/* Groups nodes without an NPU form by op and reason, and words the report (unmapped.h). */
#include "passes/npu/unmapped.h"

/* Returns the model's name of a node without one as it is in the file, or the name it got. */
static tl_sv name_of(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  return node->name ? tl_sym(m, node->name) : tl_value_name(m, node->results);
}

/* Returns true if an expansion made `part` of a node: what it makes is named NODE/Op, and its last
 * node NODE. */
static bool is_part_of(tl_sv part, tl_sv node) {
  return node.n && part.n > node.n && part.p[node.n] == '/' && memcmp(part.p, node.p, node.n) == 0;
}

/* Returns true if the group names the node of the model that n is a part of, from now on if n is
 * that node itself. */
static bool is_named(tl_unmapped_group *g, const tl_module *m, tl_node_id n) {
  for (uint32_t i = 0; i < g->count && i < TL_UNMAPPED_NAMES; i++) {
    if (is_part_of(name_of(m, n), name_of(m, g->nodes[i])))
      return true;
    if (is_part_of(name_of(m, g->nodes[i]), name_of(m, n))) {
      g->nodes[i] = n;
      return true;
    }
  }
  return false;
}

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
  if (is_named(g, m, n))
    return TL_OK;
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

/* Returns true for an op that has a form where its sizes are known. */
static bool wants_sizes(const tl_module *m, tl_op_id op) {
  static const struct {
    const char *domain;
    const char *op;
  } rows[] = {
#define SIZED(domain, op) {domain, op},
#include "passes/npu/unmapped_advice.tbl"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (tl_sv_is(tl_op_domain(m, op), rows[i].domain) && tl_sv_is(tl_op_name(m, op), rows[i].op))
      return true;
  return false;
}

/* Returns true for a node that has no form whatever its sizes are. */
static bool lacks_any(tl_module *m, tl_node_id n) {
  static const struct {
    const char *domain, *op, *attr, *attr2, *values;
  } rows[] = {
#define LACKS(domain, op, attr, attr2, values) {domain, op, attr, attr2, values},
#include "passes/npu/unmapped_advice.tbl"
  };
  tl_op_id op = tl_node_get(m, n)->op;
  bool found = false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_sv values = tl_sv_from(rows[i].values);
    tl_symbol one = tl_module_intern(m, tl_sv_from(rows[i].attr));
    tl_sv value = tl_node_attr_string(m, n, tl_module_intern(m, tl_sv_from(rows[i].attr2)));
    bool same = tl_sv_is(tl_op_domain(m, op), rows[i].domain) &&
                tl_sv_is(tl_op_name(m, op), rows[i].op) && tl_node_attr_int(m, n, one, 0) == 1;
    while (same && values.n)
      found |= tl_sv_eq(tl_sv_split(&values, '|'), value);
  }
  return found;
}

static const tl_type *tensor_of(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return t->kind == TL_KIND_TENSOR ? t : NULL;
}

/* Returns true if an open size of the node's operands may follow from dim d of an input: its name
 * is among their words, or one of them is unknown. *any: there is an open size. */
static bool follows_from(const tl_module *m, tl_node_id n, tl_dim d, bool *any) {
  tl_sv name = tl_dim_is_symbol(d) ? tl_sym(m, tl_dim_symbol(d)) : (tl_sv){0};
  bool found = false;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    const tl_type *t = v ? tensor_of(m, v) : NULL;
    for (int k = 0; t && k < t->rank; k++) {
      if (tl_dim_is_static(t->dims[k]))
        continue;
      tl_sv text = tl_dim_is_symbol(t->dims[k]) ? tl_sym(m, tl_dim_symbol(t->dims[k])) : name;
      found = found || !name.n || memmem(text.p, text.n, name.p, name.n);
      *any = true;
    }
    *any = *any || (t && t->rank < 0);
    found = found || (t && t->rank < 0);
  }
  return found;
}

/* Writes the open dims of an input that the node's sizes follow from, by name or by place; returns
 * the option that lists sizes for them, NULL if there are none. */
static const char *name_dims(tl_buf *out, const tl_module *m, tl_node_id n, tl_value_id input) {
  const tl_type *t = tensor_of(m, input);
  const char *option = NULL;
  bool any = false, images = true, batch = true;
  int count = 0, last = -1;
  for (int i = 0; t && i < t->rank; i++)
    if (!tl_dim_is_static(t->dims[i]) && follows_from(m, n, t->dims[i], &any)) {
      count++;
      last = i;
    }
  for (int i = 0, nth = 0; t && i < t->rank; i++) {
    if (tl_dim_is_static(t->dims[i]) || !follows_from(m, n, t->dims[i], &any))
      continue;
    tl_buf_add_z(out, nth == 0 ? "" : i == last ? " and " : ", ");
    if (tl_dim_is_symbol(t->dims[i]))
      tl_buf_printf(out, "%.*s", TL_SV_ARG(tl_sym(m, tl_dim_symbol(t->dims[i]))));
    else
      tl_buf_printf(out, "dim %d", i);
    nth++;
    images = images && t->rank == 4 && i >= 2;
    batch = batch && i == 0;
    option = images ? "--dynamic-image-size" : batch ? "--dynamic-batch-size" : "--dynamic-dims";
  }
  if (count)
    tl_buf_printf(out, " of '%.*s'", TL_SV_ARG(tl_value_name(m, input)));
  return option;
}

/* Says which dims of which inputs are open where a form needs sizes, and what fixes them. */
static void tell_open(tl_buf *out, tl_module *m, const tl_unmapped_group *g) {
  const tl_graph *main = m->graphs.at[0];
  bool any = false, one = true;
  const char *option = NULL;
  follows_from(m, g->nodes[0], 0, &any);
  if (!any || !wants_sizes(m, g->op) || lacks_any(m, g->nodes[0]))
    return;
  for (uint32_t i = 0; i < main->inputs.n; i++) {
    tl_buf part;
    tl_buf_init(&part);
    const char *found = name_dims(&part, m, g->nodes[0], main->inputs.at[i]);
    if (found)
      tl_buf_printf(out, "%s%s", option ? ", " : "; ", part.p ? part.p : "");
    one = one && (!found || (!option && !strstr(part.p ? part.p : "", " and ")));
    option = !found || (option && strcmp(option, found) != 0) ? (found ? "--dynamic-dims" : option)
                                                              : found;
    out->failed = out->failed || part.failed;
    tl_buf_release(&part);
  }
  if (option)
    tl_buf_printf(out, " %s open; fix %s with --input-shape or list %s with %s", one ? "is" : "are",
                  one ? "it" : "them", one ? "it" : "them", option);
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
  tell_open(out, m, g);
}

static void describe_all(tl_buf *out, const tl_unmapped_vec *list, tl_module *m) {
  tl_buf_init(out);
  for (uint32_t i = 0; i < list->n; i++) {
    tl_buf_add_z(out, i ? "; " : "");
    describe(out, m, &list->at[i]);
  }
}

tl_status tl_custom_warn(const tl_unmapped_vec *list, tl_module *m) {
  tl_buf text;
  describe_all(&text, list, m);
  if (list->n && !text.failed)
    tl_warn_code(m->diag, "W_CUSTOM_OP", TL_AT_FILE(m->path),
                 "%u op type%s outside of Tailor's tables: %s\vatc needs the package installed",
                 list->n, list->n == 1 ? "" : "s", text.p);
  tl_status status = text.failed ? tl_no_memory(m) : TL_OK;
  tl_buf_release(&text);
  return status;
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
