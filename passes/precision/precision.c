/* SPDX-License-Identifier: Apache-2.0 */
/* precision: every tensor gets the dtype that the precision mode, lists and colours decide.
 *
 * Requires:  select; types inferred.   Keeps: names of inputs and outputs, and their dtypes unless
 *            options change them; everything when no mode is asked for.
 * After:     dtypes agree on every edge; nodes whose dtypes ONNX's op does not have are marked
 *            mixed; inserted casts carry the metadata `inserted`; no cast is on a constant.
 * Cost:      two sweeps, O(nodes + edges) times the columns of an op.
 * Tests:     tests/golden/precision/, tests/precision/, tests/unit/test_precision.c */
#include "passes/edit/passes.h"
#include "passes/precision/casts.h"
#include "passes/precision/decide.h"
#include "passes/precision/precision.h"

#include "ir/ge_format.h"

/* Returns true if the decision changes a value or needs a cast. */
static bool changes_anything(const tl_module *m, const tl_precision *d) {
  for (tl_value_id v = 1; v < d->n_values; v++)
    if (d->values[v].chosen != d->values[v].original)
      return true;
  for (tl_use_id u = 1; u < d->n_uses; u++) {
    tl_value_id v = tl_use_get(m, u)->value;
    if (v && d->uses[u].chosen != TL_DTYPE_NONE && d->uses[u].chosen != d->values[v].chosen)
      return true;
  }
  return false;
}

/* Without a chip an op must keep its dtypes rather than fail. With a chip and no requested mode,
 * f32 stays where the chip has it and becomes f16 elsewhere (allow_fp32_to_fp16). */
bool tl_precision_settle(const tl_options *given, bool off_chip, tl_precision_own *own) {
  const tl_precision_config *c = given->precision;
  if (off_chip && (!c || tl_precision_is_inert(c)))
    return false;
  own->options = *given;
  own->config = c ? *c : tl_precision_default();
  own->options.precision = &own->config;
  if (off_chip) {
    own->config.infeasible = TL_INFEASIBLE_KEEP;
  } else if (own->config.mode == TL_PRECISION_ORIGIN && !own->config.mode_name) {
    own->config.mode = TL_PRECISION_ALLOW_FP16;
    own->config.by_chip = true;
  }
  return true;
}

/* Returns true if an f32 tensor becomes a half. */
static bool is_lowered(const tl_precision_slot *s) {
  return s->original == TL_DTYPE_F32 && (s->chosen == TL_DTYPE_F16 || s->chosen == TL_DTYPE_BF16);
}

/* Returns true if an f32 tensor of the node is now f16 or bf16. */
static bool lowers(const tl_module *m, const tl_precision *d, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  bool found = false;
  for (uint32_t i = 0; !found && i < node->n_operands; i++)
    found = is_lowered(&d->uses[node->operands + i]);
  for (uint32_t i = 0; !found && i < node->n_results; i++)
    found = is_lowered(&d->values[node->results + i]);
  return found;
}

/* Counts a lowered node; the first is kept as an example for the message. */
static void count_node(tl_module *m, const tl_precision *d, tl_node_id n) {
  const tl_precision_choice *choice = &d->nodes[n];
  tl_node_count *c = &m->chip_fit.lowered;
  if (!choice->form || !(choice->flags & TL_CHOICE_CHANGED) || !lowers(m, d, n) || c->n++)
    return;
  c->type = tl_module_intern(m, choice->form->type);
  c->name = tl_node_get(m, n)->name;
  c->dtype = TL_DTYPE_F16;
}

/* Counts the nodes lowered because of the chip, not by a user's request. Returns false if memory is
 * out. */
static bool count(tl_module *m, const tl_precision *d) {
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_FOR_NODES(m, m->graphs.at[i], n)
        count_node(m, d, n);
  return m->chip_fit.lowered.type != TL_NO_SYMBOL;
}

/* Tensors of bfloat16 for a chip that lacks it. */
typedef struct strange {
  uint32_t n;
  tl_value_id first;
} strange;

/* Counts v if it has the dtype bf16. */
static void look_at(const tl_module *m, tl_value_id v, strange *s) {
  if (tl_type_dtype(m, tl_value_type(m, v)) == TL_DTYPE_BF16 && s->n++ == 0)
    s->first = v;
}

/* Looks at the inputs and results of all graphs. */
static strange find_bf16(const tl_module *m) {
  strange s = {0, TL_NO_VALUE};
  for (uint32_t k = 0; k < m->graphs.n; k++) {
    const tl_graph *g = m->graphs.at[k];
    for (uint32_t i = 0; !g->erased && i < g->inputs.n; i++)
      look_at(m, g->inputs.at[i], &s);
    if (!g->erased)
      TL_FOR_NODES(m, g, n)
        for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
          look_at(m, tl_result(m, n, i), &s);
  }
  return s;
}

/* Refuses bf16 tensors for a chip without bfloat16: no precision mode makes a chip read a format
 * that it lacks. */
static tl_status check_formats(const tl_pass *p, const tl_module *m) {
  const tl_soc *chip = tl_options_chip(p->options);
  const char *name = p->options->soc_version ? p->options->soc_version : chip->name;
  strange s = {0, TL_NO_VALUE};
  if (!p->off_chip && !chip->bf16)
    s = find_bf16(m);
  if (s.n == 0)
    return TL_OK;
  return tl_fail_code(m->diag, TL_UNSUPPORTED, "P0205", TL_AT_FILE(m->path),
                      "%u tensor%s bfloat16 (`%.*s`%s), which %s does not have\vconvert a model in "
                      "f16 or f32, or name a chip that has it, such as Ascend910B1",
                      s.n, s.n == 1 ? " is" : "s are", TL_SV_ARG(tl_value_name(m, s.first)),
                      s.n == 1 ? "" : " the first", name);
}

/* Returns the first tensor of the node that gets another dtype, NULL if there is none. */
static const tl_precision_slot *first_change(const tl_module *m, const tl_precision *d,
                                             tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (d->values[node->results + i].chosen != d->values[node->results + i].original)
      return &d->values[node->results + i];
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (d->uses[node->operands + i].chosen != d->uses[node->operands + i].original)
      return &d->uses[node->operands + i];
  return NULL;
}

/* Lets a node keep its dtypes; casts will stand around it where its neighbours change theirs. */
static void keep_dtypes(const tl_module *m, tl_precision *d, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    d->values[node->results + i].chosen = d->values[node->results + i].original;
  for (uint32_t i = 0; i < node->n_operands; i++)
    d->uses[node->operands + i].chosen = d->uses[node->operands + i].original;
  d->nodes[n].flags &= (uint8_t)~TL_CHOICE_CHANGED;
}

/* Each node that gets other dtypes is one rewrite, so that bisection finds the node. Nodes behind
 * the limit keep theirs; nodes with bodies go with what is inside them. Returns false if the limit
 * was reached before. */
static bool take_nodes(tl_pass *p, tl_module *m, tl_precision *d) {
  uint64_t before = p->changed;
  if (*p->rewrites >= p->limit)
    return false;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      const tl_precision_slot *s = d->nodes[n].form ? first_change(m, d, n) : NULL;
      if (s && !tl_pass_may_rewrite(p))
        keep_dtypes(m, d, n);
      else if (s)
        tl_pass_remark(p, m, n, true, "%s becomes %s", tl_dtype_get((tl_dtype)s->original)->name,
                       tl_dtype_get((tl_dtype)s->chosen)->name);
    }
  }
  return p->changed != before || tl_pass_may_rewrite(p);
}

/* Layouts of the device have blocks of so many elements as a dtype allows, so that another dtype
 * has another layout. */
static tl_status check_layouts(tl_module *m) {
  const char *format;
  tl_node_id n = m->form == TL_FORM_NPU ? tl_ge_find_layout(m, &format) : TL_NO_NODE;
  if (n == TL_NO_NODE)
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                 "a tensor is in %s, a layout of the device, which another element type would "
                 "change\vconvert a file from before the device compiler has chosen formats, or "
                 "leave the precision mode out",
                 format);
}

tl_status tl_pass_precision(tl_pass *p, tl_module *m) {
  tl_precision decision;
  tl_precision_own own;
  uint32_t n_casts;
  if (!tl_precision_settle(p->options, p->off_chip, &own))
    return TL_OK;
  TL_TRY(check_formats(p, m));
  TL_TRY(tl_precision_decide(m, &own.options, p->scratch, &decision));
  if (!changes_anything(m, &decision) || !take_nodes(p, m, &decision))
    return TL_OK;
  TL_TRY(check_layouts(m));
  if (own.config.by_chip && !count(m, &decision))
    return tl_no_memory(m);
  return tl_precision_apply(p, m, &decision, &n_casts);
}
