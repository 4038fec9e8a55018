/* SPDX-License-Identifier: Apache-2.0 */
/* Explains the dtypes of a model: what each tensor became and why, and which casts that needs. */
#include "tools/explain/precision.h"

#include <math.h>

#include "ir/ops_gen.h"
#include "passes/precision/effect.h"
#include "passes/precision/reason.h"
#include "support/json_writer.h"
#include "tools/explain/decision.h"
#include "tools/explain/life.h"
#include "tools/explain/origins.h"

/* State of one explanation: the parts of the output are collected while nodes are visited. */
typedef struct view {
  tl_cli *cli;
  tl_module *m; /* while its decision is looked at */
  const tl_precision *d;
  const char *node; /* --node, NULL: all */
  const char *type; /* --type, NULL: all */
  bool json;
  tl_buf nodes; /* text, or a JSON array */
  tl_buf casts;
  tl_buf cancelled;
  tl_json_writer node_writer;
  tl_json_writer cast_writer;
  tl_json_writer cancelled_writer;
  tl_precision_effect sum;
  uint32_t cancelled_casts;
  bool no_memory;
} view;

static const char *dtype_name(unsigned d) { return tl_dtype_get((tl_dtype)d)->name; }

static tl_sv label(const view *x, tl_node_id n) { return tl_node_where(x->m, n).node; }

/* ---- one node -------------------------------------------------------------------------------- */

/* Adds why a slot has its dtype. */
static void add_reason(const view *x, tl_buf *out, const tl_precision_slot *s, bool output,
                       const char *why) {
  tl_precision_add_reason(x->m, x->d, (tl_precision_place){s, output, why}, out);
}

/* Adds one line about an operand or result. */
static void add_slot_text(view *x, const tl_precision_slot *s, const char *port, bool output,
                          const char *why) {
  tl_buf_printf(&x->nodes, "  %-12s %-4s", port, dtype_name(s->original));
  if (s->chosen != s->original)
    tl_buf_printf(&x->nodes, " -> %-4s  ", dtype_name(s->chosen));
  else
    tl_buf_add_z(&x->nodes, "          ");
  tl_buf_printf(&x->nodes, "%s: ", tl_precision_rule_name((tl_precision_rule)s->rule));
  add_reason(x, &x->nodes, s, output, why);
  tl_buf_add_char(&x->nodes, '\n');
}

/* Adds what the policy of ranges knows of a value; an end that it does not know is null. */
static void add_interval(const view *x, tl_json_writer *w, tl_value_id v) {
  const tl_interval *r = x->d->ranges ? &x->d->ranges[v] : NULL;
  if (!r || (isinf(r->low) && isinf(r->high)))
    return;
  tl_member_f64(w, "least", r->low);
  tl_member_f64(w, "greatest", r->high);
}

/* Place of a slot: an operand or a result of a node. */
typedef struct slot_place {
  const char *port;
  bool output;
  uint32_t index;
} slot_place;

/* Adds one operand or result as an object, with the value that it follows and its known range. */
static void add_slot_json(view *x, const tl_precision_slot *s, slot_place at, tl_value_id v,
                          const char *why) {
  tl_json_writer *w = &x->node_writer;
  tl_buf text;
  tl_buf_init(&text);
  tl_put_object(w);
  tl_member_u64(w, at.output ? "output" : "input", at.index);
  tl_member_z(w, "port", at.port);
  tl_member_sv(w, "value", tl_value_name(x->m, v));
  tl_member_z(w, "original", dtype_name(s->original));
  tl_member_z(w, "chosen", dtype_name(s->chosen));
  tl_member_z(w, "rule", tl_precision_rule_name((tl_precision_rule)s->rule));
  if (s->from) {
    tl_member_sv(w, "follows", tl_value_name(x->m, s->from));
  }
  add_interval(x, w, v);
  add_reason(x, &text, s, at.output, why);
  tl_member_sv(w, "reason", tl_buf_view(&text));
  tl_put_end(w);
  x->no_memory = x->no_memory || text.failed;
  tl_buf_release(&text);
}

/* Adds one operand or result. Absent operands and values without a dtype are skipped. */
static void add_slot(view *x, tl_node_id n, bool output, uint32_t index) {
  const tl_node *node = tl_node_get(x->m, n);
  tl_value_id v = output ? node->results + index : tl_operand(x->m, n, index);
  const tl_precision_slot *s = output ? &x->d->values[v] : &x->d->uses[node->operands + index];
  if (!v || s->original == TL_DTYPE_NONE)
    return;
  const char *port = tl_precision_port_name(x->m, x->d, (tl_use_place){n, output, index});
  if (!x->json) {
    add_slot_text(x, s, port, output, x->d->nodes[n].why);
    return;
  }
  tl_json_line(&x->node_writer, 4);
  add_slot_json(x, s, (slot_place){port, output, index}, v, x->d->nodes[n].why);
}

/* Adds the line of a node: its type, colour and signature. */
static void add_head_text(view *x, tl_node_id n) {
  const tl_precision_choice *c = &x->d->nodes[n];
  tl_buf *out = &x->nodes;
  tl_buf_printf(out, "`%.*s` %.*s", TL_SV_ARG(label(x, n)),
                TL_SV_ARG(tl_op_name(x->m, tl_node_get(x->m, n)->op)));
  if (!c->form || c->form->type.n == 0)
    tl_buf_add_z(out, ": nothing judges it");
  else
    tl_buf_printf(out, " judged as %.*s: %s", TL_SV_ARG(c->form->type),
                  tl_op_colour_name((tl_op_colour)c->colour));
  if (c->form && c->column >= 0) {
    tl_buf_printf(out, ", signature %d of %u, ", (int)c->column + 1, c->form->n_columns);
    tl_precision_add_signature(c, out);
  }
  tl_buf_add_char(out, '\n');
}

/* Starts the object of a node and its list of tensors, which add_node ends. */
static void add_head_json(view *x, tl_node_id n) {
  tl_json_writer *w = &x->node_writer;
  const tl_precision_choice *c = &x->d->nodes[n];
  tl_json_line(w, 2);
  tl_put_object(w);
  tl_member_sv(w, "node", label(x, n));
  tl_member_sv(w, "op", tl_op_name(x->m, tl_node_get(x->m, n)->op));
  tl_member_sv(w, "judged", c->form ? c->form->type : TL_SV(""));
  if (c->form && c->form->type.n) {
    tl_member_z(w, "colour", tl_op_colour_name((tl_op_colour)c->colour));
  }
  if (c->form && c->column >= 0) {
    tl_buf text;
    tl_buf_init(&text);
    tl_precision_add_signature(c, &text);
    tl_member_u64(w, "column", (uint64_t)c->column);
    tl_member_sv(w, "signature", tl_buf_view(&text));
    tl_buf_release(&text);
  }
  tl_put_key(w, "tensors");
  tl_put_array(w);
}

/* Returns true if --node and --type select the node. Without both, nodes without floats are left
 * out. */
static bool is_wanted(const view *x, tl_node_id n) {
  const tl_precision_form *f = x->d->nodes[n].form;
  if (x->node && !tl_sv_is(label(x, n), x->node) && !tl_comes_from(x->m, n, tl_sv_from(x->node)))
    return false;
  if (!x->node && !x->type)
    return tl_precision_has_float(x->m, x->d, n);
  return !x->type || tl_sv_is(tl_op_name(x->m, tl_node_get(x->m, n)->op), x->type) ||
         (f && tl_sv_is(f->type, x->type));
}

/* Adds a node: its head, its operands and its results. */
static void add_node(view *x, tl_node_id n) {
  const tl_node *node = tl_node_get(x->m, n);
  if (x->json)
    add_head_json(x, n);
  else
    add_head_text(x, n);
  for (uint32_t i = 0; i < node->n_operands; i++)
    add_slot(x, n, false, i);
  for (uint32_t i = 0; i < node->n_results; i++)
    add_slot(x, n, true, i);
  if (x->json) {
    tl_put_end(&x->node_writer);
    tl_put_end(&x->node_writer);
  }
}

/* ---- what it amounts to ---------------------------------------------------------------------- */

/* Adds one line about a cast. k: counts of a constant's numbers; NULL for a cast at run time. */
static void add_cast_text(view *x, const tl_wanted_cast *c, const tl_float_counts *k) {
  tl_buf *out = &x->casts;
  tl_buf_printf(out, "  %s `%.*s` %s -> %s for `%.*s`", k ? "constant" : "cast    ",
                TL_SV_ARG(tl_value_name(x->m, c->value)), dtype_name(x->d->values[c->value].chosen),
                dtype_name(c->dtype), TL_SV_ARG(label(x, c->consumer)));
  if (c->n_consumers > 1)
    tl_buf_printf(out, " and %u more", c->n_consumers - 1);
  if (k && k->over + k->infinite)
    tl_buf_printf(out, ", %llu out of range", (unsigned long long)(k->over + k->infinite));
  if (k && k->flushed)
    tl_buf_printf(out, ", %llu become 0", (unsigned long long)k->flushed);
  if (k && k->subnormal)
    tl_buf_printf(out, ", %llu subnormal", (unsigned long long)k->subnormal);
  tl_buf_add_char(out, '\n');
}

/* Adds a cast as an object. k: as in add_cast_text. */
static void add_cast_json(view *x, const tl_wanted_cast *c, const tl_float_counts *k) {
  tl_json_writer *w = &x->cast_writer;
  tl_json_line(w, 2);
  tl_put_object(w);
  tl_member_sv(w, "value", tl_value_name(x->m, c->value));
  tl_member_bool(w, "constant", k);
  tl_member_z(w, "from", dtype_name(x->d->values[c->value].chosen));
  tl_member_z(w, "to", dtype_name(c->dtype));
  tl_member_sv(w, "for", label(x, c->consumer));
  tl_member_u64(w, "consumers", c->n_consumers);
  const tl_count_member lost[] = {{"out_of_range", k ? k->over + k->infinite : 0},
                                  {"become_zero", k ? k->flushed : 0},
                                  {"subnormal", k ? k->subnormal : 0}};
  if (k)
    tl_member_counts(w, lost, sizeof lost / sizeof *lost);
  tl_put_end(w);
}

/* Lists the wanted casts. */
static void look_at_casts(view *x) {
  for (uint32_t i = 0; i < x->sum.wanted.n; i++) {
    const tl_wanted_cast *c = &x->sum.wanted.at[i];
    if (x->json)
      add_cast_json(x, c, c->constant ? &c->counts : NULL);
    else
      add_cast_text(x, c, c->constant ? &c->counts : NULL);
  }
}

/* Visits all graphs while the decision is alive. */
static void look(void *user, tl_module *m, const tl_precision *d) {
  view *x = user;
  x->m = m;
  x->d = d;
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_FOR_NODES(m, m->graphs.at[i], n)
        if (is_wanted(x, n))
          add_node(x, n);
  x->no_memory = !tl_precision_effect_find(m, d, UINT64_MAX, &x->sum) || x->no_memory;
  look_at_casts(x);
}

/* Collects casts that cast-motion removed or merged after the decision. */
static void hear(void *user, const tl_remark *r) {
  view *x = user;
  tl_json_writer *w = &x->cancelled_writer;
  if (strcmp(r->pass, "cast-motion") != 0 || !r->applied)
    return;
  x->cancelled_casts++;
  if (!x->json) {
    tl_buf_printf(&x->cancelled, "  gone     `%.*s`: %s\n", TL_SV_ARG(r->node), r->message);
    return;
  }
  tl_json_line(w, 2);
  tl_put_object(w);
  tl_member_sv(w, "node", r->node);
  tl_member_z(w, "reason", r->message);
  tl_put_end(w);
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *mode_of(const view *x) {
  const char *name = x->cli->settings.precision.mode_name;
  return name ? name : "the model's own";
}

/* Adds the explanation for people. Casts are left out if only some nodes are asked for. */
static void add_text(view *x, tl_buf *out) {
  const tl_precision_effect *s = &x->sum;
  bool only_casts = tl_cli_has(x->cli, TL_OPTION_EXPLAIN_CASTS);
  tl_buf_printf(out, "dtypes: %s, on %s\n", mode_of(x),
                tl_options_chip(&x->cli->settings.options)->name);
  if (!only_casts && x->nodes.n == 0 && (x->node || x->type))
    tl_buf_add_z(out, "no node has that name or type\n");
  else if (!only_casts)
    tl_buf_add_sv(out, tl_buf_view(&x->nodes));
  if (only_casts || (!x->node && !x->type)) {
    tl_buf_add_sv(out, tl_buf_view(&x->casts));
    tl_buf_add_sv(out, tl_buf_view(&x->cancelled));
  }
  tl_buf_printf(out, "%u of %u nodes with floats are lowered; %u casts, %u rewrites of casts\n",
                s->lowered, s->nodes, s->casts, x->cancelled_casts);
  tl_buf_printf(out,
                "%u constants are cast: %llu numbers out of range, %llu become 0, %llu subnormal\n",
                s->constants, (unsigned long long)s->clamped, (unsigned long long)s->flushed,
                (unsigned long long)s->subnormal);
  tl_buf_printf(out, "saved: %lld bytes of constants, %lld bytes of results of known size\n",
                (long long)s->weights_saved, (long long)s->values_saved);
}

/* Ends a list that was collected and adds it as a member. */
static void add_list(tl_json_writer *w, const char *key, tl_json_writer *list) {
  tl_put_end(list);
  tl_json_line(w, 1);
  tl_put_key(w, key);
  tl_put_made(w, tl_buf_view(list->out));
}

/* Adds the explanation as JSON; its lists were collected while nodes were visited. */
static void add_json(view *x, tl_buf *out) {
  const tl_precision_effect *s = &x->sum;
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "version", 1);
  tl_member_z(w, "mode", mode_of(x));
  tl_member_z(w, "chip", tl_options_chip(&x->cli->settings.options)->name);
  add_list(w, "nodes", &x->node_writer);
  add_list(w, "casts", &x->cast_writer);
  add_list(w, "motion", &x->cancelled_writer);
  tl_json_line(w, 1);
  tl_put_key(w, "summary");
  tl_put_object(w);
  const tl_count_member counts[] = {{"nodes", s->nodes},         {"lowered", s->lowered},
                                    {"casts", s->casts},         {"motions", x->cancelled_casts},
                                    {"constants", s->constants}, {"out_of_range", s->clamped},
                                    {"become_zero", s->flushed}, {"subnormal", s->subnormal}};
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  tl_put_key(w, "constant_bytes_saved");
  tl_put_i64(w, s->weights_saved);
  tl_put_key(w, "result_bytes_saved");
  tl_put_i64(w, s->values_saved);
  tl_json_finish(w);
}

static void release(view *x) {
  tl_buf_release(&x->nodes);
  tl_buf_release(&x->casts);
  tl_buf_release(&x->cancelled);
  tl_precision_effect_release(&x->sum);
}

static tl_status run(view *x) {
  tl_status status = tl_decision_show(x->cli, look, hear, x);
  if (status == TL_OK && (x->no_memory || x->nodes.failed || x->casts.failed))
    return tl_fail_memory(&x->cli->diag, TL_NOWHERE);
  return status;
}

bool tl_cli_asks_precision(const tl_cli *cli) {
  if (tl_cli_has(cli, TL_OPTION_EXPLAIN_FUSION) || tl_cli_has(cli, TL_OPTION_EXPLAIN_EXPAND))
    return false;
  return tl_cli_has(cli, TL_OPTION_EXPLAIN_PRECISION) || tl_cli_has(cli, TL_OPTION_EXPLAIN_CASTS) ||
         tl_cli_has(cli, TL_OPTION_EXPLAIN_TYPE) ||
         !tl_precision_is_inert(&cli->settings.precision);
}

/* Runs the pipeline and adds the explanation in one of its forms. */
static tl_status explain(tl_cli *cli, bool json, tl_buf *out) {
  view x = {.cli = cli, .json = json};
  x.node = tl_cli_has(cli, TL_OPTION_EXPLAIN_NODE) ? tl_cli_get(cli, TL_OPTION_EXPLAIN_NODE) : NULL;
  x.type = tl_cli_has(cli, TL_OPTION_EXPLAIN_TYPE) ? tl_cli_get(cli, TL_OPTION_EXPLAIN_TYPE) : NULL;
  tl_buf_init(&x.nodes);
  tl_buf_init(&x.casts);
  tl_buf_init(&x.cancelled);
  x.node_writer = tl_json_to(&x.nodes);
  x.cast_writer = tl_json_to(&x.casts);
  x.cancelled_writer = tl_json_to(&x.cancelled);
  if (json) {
    tl_put_array(&x.node_writer);
    tl_put_array(&x.cast_writer);
    tl_put_array(&x.cancelled_writer);
  }
  tl_status status = run(&x);
  if (status == TL_OK && json)
    add_json(&x, out);
  else if (status == TL_OK)
    add_text(&x, out);
  release(&x);
  return status;
}

tl_status tl_explain_precision(tl_cli *cli) {
  tl_buf out;
  tl_buf_init(&out);
  bool json = tl_cli_has(cli, TL_OPTION_AS_JSON);
  bool asked = tl_cli_has(cli, TL_OPTION_EXPLAIN_PRECISION) ||
               tl_cli_has(cli, TL_OPTION_EXPLAIN_CASTS) || tl_cli_has(cli, TL_OPTION_EXPLAIN_TYPE);
  tl_status status = explain(cli, json, &out);
  if (status == TL_OK && !json && !asked && tl_cli_has(cli, TL_OPTION_EXPLAIN_NODE))
    status = tl_origins_text(cli, &out);
  if (status == TL_OK && !json && !asked && tl_cli_has(cli, TL_OPTION_EXPLAIN_NODE))
    status = tl_life_text(cli, &out);
  if (status == TL_OK)
    return tl_cli_print(cli, &out);
  tl_buf_release(&out);
  return status;
}
