/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor reduce, delta debugging of a model: steps that make it smaller are tried in
 * processes of their own, and done if the model still fails in the same way. Zeller and Hildebrandt
 * (Simplifying and Isolating Failure-Inducing Input, 2002) describe the search over nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ir/graph.h"
#include "support/json_writer.h"
#include "tools/cli/output.h"
#include "tools/cli/rules.h"
#include "tools/convert/pipeline.h"
#include "tools/debug/child.h"
#include "tools/debug/edits.h"
#include "tools/debug/check.h"

TL_VEC(edit_vec, tl_reduction);

/* State of a reduction. */
typedef struct reduction {
  tl_cli *cli;
  tl_check check;
  tl_module *m; /* owned; the smallest model that still fails */
  tl_recorded recorded;
  tl_pipeline_options pipeline;
  tl_failure wanted; /* how the model fails */
  tl_buf why;        /* owned */
  uint32_t nodes_before;
  uint32_t checks;
  unsigned jobs;
  double deadline; /* seconds of the monotonic clock; 0: none */
  bool ended;      /* by the deadline or a signal */
  bool minimal;    /* no single node can go */
} reduction;

/* The work of one process. */
typedef struct trial {
  reduction *r;
  const tl_reduction *edit; /* NULL: the model as it is */
  tl_buf *why;              /* receives the first error */
} trial;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns true if the search should end with what it has. */
static bool is_over(reduction *r) {
  r->ended = r->ended || *r->cli->signal || (r->deadline > 0 && now() > r->deadline);
  return r->ended;
}

/* ---- trying a step --------------------------------------------------------------------------- */

static void keep_error(void *user, const tl_diagnostic *d) {
  trial *t = user;
  if (d->severity == TL_ERROR && !t->why->n)
    tl_buf_add_z(t->why, d->message);
}

/* Does the step and checks the model. For a process of its own. */
static void work(tl_cli *cli, void *user, tl_buf *reply) {
  trial *t = user;
  reduction *r = t->r;
  tl_failure f = {.verdict = TL_VERDICT_UNKNOWN};
  tl_buf why;
  tl_buf_init(&why);
  t->why = &why;
  cli->diag.fn = keep_error;
  cli->diag.user = t;
  if (!t->edit || tl_edit_do(cli, r->m, &r->recorded, t->edit))
    f = tl_check_conversion(&r->check, r->m, &r->pipeline);
  if (r->check.has_match && f.pipeline != TL_OK)
    f.matches = regexec(&r->check.match, why.p ? why.p : "", 0, NULL, 0) == 0;
  tl_buf_add(reply, &f, sizeof f);
  tl_buf_add_sv(reply, r->check.why.n ? tl_buf_view(&r->check.why) : tl_buf_view(&why));
}

/* Reads what a process has sent; one that crashed has sent nothing. */
static tl_failure read_failure(const tl_buf *reply, int signal, tl_buf *why) {
  tl_failure f = {.verdict = TL_VERDICT_BAD, .signal = signal, .matches = true};
  tl_buf_clear(why);
  if (reply->n < sizeof f) {
    tl_buf_printf(why, "the process was ended by signal %d", signal);
    return f;
  }
  memcpy(&f, reply->p, sizeof f);
  tl_buf_add(why, reply->p + sizeof f, reply->n - sizeof f);
  return f;
}

static bool is_same(const tl_failure *a, const tl_failure *b) {
  return a->verdict == TL_VERDICT_BAD && b->verdict == TL_VERDICT_BAD && a->matches &&
         a->pipeline == b->pipeline && a->status == b->status && a->signal == b->signal;
}

/* Tries up to r->jobs steps at a time. *found: index of the first after which the model still
 * fails, n: none. */
static tl_status try_some(reduction *r, const tl_reduction *edits, uint32_t n, uint32_t *found) {
  tl_child children[64];
  trial trials[64];
  uint32_t started = 0;
  tl_status status = TL_OK;
  *found = n;
  for (; started < n && status == TL_OK; started++) {
    trials[started] = (trial){.r = r, .edit = edits ? &edits[started] : NULL};
    status = tl_child_start(&children[started], r->cli, work, &trials[started]);
  }
  started -= status != TL_OK;
  for (uint32_t i = 0; i < started; i++) {
    tl_buf reply, why;
    int signal;
    tl_buf_init(&reply);
    tl_buf_init(&why);
    tl_status one = tl_child_wait(&children[i], r->cli, &reply, &signal);
    tl_failure f = read_failure(&reply, signal, &why);
    r->checks++;
    if (one == TL_OK && f.unable && !*r->cli->signal)
      one = tl_fail(&r->cli->diag, TL_IO, TL_NOWHERE, "%.*s", TL_SV_ARG(tl_buf_view(&why)));
    if (one == TL_OK && !edits) {
      r->wanted = f;
      tl_buf_clear(&r->why);
      tl_buf_add_sv(&r->why, tl_buf_view(&why));
    }
    if (one == TL_OK && *found == n && !*r->cli->signal && is_same(&f, &r->wanted)) {
      *found = i;
      tl_buf_clear(&r->why);
      tl_buf_add_sv(&r->why, tl_buf_view(&why));
    }
    tl_buf_release(&reply);
    tl_buf_release(&why);
    status = status == TL_OK ? one : status;
  }
  return status;
}

/* Tries steps in their order and does the first after which the model still fails. */
static tl_status take_first(reduction *r, const tl_reduction *edits, uint32_t n, bool *taken) {
  *taken = false;
  for (uint32_t from = 0; from < n && !is_over(r); from += r->jobs) {
    uint32_t k = n - from < r->jobs ? n - from : r->jobs, found;
    TL_TRY(try_some(r, edits + from, k, &found));
    if (found == k)
      continue;
    *taken = true;
    if (!tl_edit_do(r->cli, r->m, &r->recorded, &edits[from + found]))
      return tl_fail_memory(&r->cli->diag, TL_NOWHERE); /* it was possible in the copy */
    return TL_OK;
  }
  return TL_OK;
}

static void show_progress(reduction *r, const char *what) {
  tl_progress_say(&r->cli->progress, tl_cli_has(r->cli, TL_OPTION_QUIET),
                  "reducing %s: %u of %u nodes left, %u checks", what, tl_module_count_nodes(r->m),
                  r->nodes_before, r->checks);
}

/* ---- outputs and nodes ----------------------------------------------------------------------- */

/* Lists the nodes of the main graph in their order. */
static bool list_nodes(const tl_module *m, tl_u32_vec *out) {
  out->n = 0;
  TL_FOR_NODES(m, tl_module_main(m), n)
    if (!tl_u32_vec_push(out, n))
      return false;
  return true;
}

/* Tries to keep one output alone, then to leave out one. */
static tl_status reduce_outputs(reduction *r) {
  for (bool taken = true; taken && !is_over(r);) {
    const tl_graph *g = tl_module_main(r->m);
    uint32_t n = tl_graph_n_outputs(r->m, g);
    tl_u32_vec outputs = {0};
    edit_vec edits = {0};
    bool ok = n > 1;
    for (uint32_t i = 0; ok && i < n; i++)
      ok = tl_u32_vec_push(&outputs, tl_graph_output(r->m, g, i));
    for (uint32_t i = 0; ok && i < n; i++)
      ok = edit_vec_push(
          &edits, (tl_reduction){.kind = TL_EDIT_CUT, .outputs = &outputs.at[i], .n_outputs = 1});
    for (uint32_t i = 2; ok && i < n; i++) { /* all but the first or the last ones */
      tl_reduction head = {.kind = TL_EDIT_CUT, .outputs = outputs.at, .n_outputs = n / i};
      tl_reduction tail = {
          .kind = TL_EDIT_CUT, .outputs = outputs.at + n / i, .n_outputs = n - n / i};
      ok = edit_vec_push(&edits, head) && edit_vec_push(&edits, tail);
    }
    taken = false;
    tl_status status = ok || n <= 1 ? take_first(r, edits.at, edits.n, &taken) : TL_NO_MEMORY;
    tl_u32_vec_release(&outputs);
    edit_vec_release(&edits);
    TL_TRY(status);
  }
  return TL_OK;
}

/* Tries to cut each run of `size` nodes, from the end. *any: one was cut. */
static tl_status sweep_nodes(reduction *r, uint32_t size, bool *any) {
  tl_u32_vec nodes = {0};
  uint32_t end = UINT32_MAX;
  tl_status status = TL_OK;
  while (status == TL_OK && end && !is_over(r)) {
    tl_reduction edits[64];
    uint32_t n = 0, at = 0;
    bool taken;
    if (!list_nodes(r->m, &nodes))
      status = tl_fail_memory(&r->cli->diag, TL_NOWHERE);
    at = end < nodes.n ? end : nodes.n;
    for (; n < r->jobs && n < 64 && at > 0; n++) {
      uint32_t k = at < size ? at : size;
      at -= k;
      edits[n] = (tl_reduction){.kind = TL_EDIT_CUT, .nodes = nodes.at + at, .n_nodes = k};
    }
    show_progress(r, r->cli->word);
    if (status == TL_OK && n)
      status = take_first(r, edits, n, &taken);
    if (status == TL_OK && n && taken) {
      *any = true;
      end = end < nodes.n ? end : nodes.n;
      status = reduce_outputs(r);
    } else {
      end = at;
    }
  }
  tl_u32_vec_release(&nodes);
  return status;
}

/* Cuts runs of nodes, half of all first, at last single ones until none can go. */
static tl_status reduce_nodes(reduction *r, bool *any) {
  tl_u32_vec nodes = {0};
  if (!list_nodes(r->m, &nodes))
    return tl_fail_memory(&r->cli->diag, TL_NOWHERE);
  uint32_t n = nodes.n;
  tl_u32_vec_release(&nodes);
  for (uint32_t size = (n + 1) / 2; size > 1 && !is_over(r); size = (size + 1) / 2)
    TL_TRY(sweep_nodes(r, size, any));
  for (bool again = true; again && !is_over(r); *any = *any || again) {
    again = false;
    TL_TRY(sweep_nodes(r, 1, &again));
    r->minimal = !again && !is_over(r);
  }
  return TL_OK;
}

/* ---- everything else ------------------------------------------------------------------------- */

/* Takes steps from a list that is made anew after each success. */
typedef bool (*lister)(const tl_module *m, edit_vec *out);

static bool list_passes(const tl_module *m, edit_vec *out) {
  static const char *const names[] = {"fold-constants", "unroll-loops"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (uint32_t g = 0; g < m->graphs.n; g++)
      if (!m->graphs.at[g]->erased && m->graphs.at[g]->kind == TL_GRAPH_BODY) {
        if (!edit_vec_push(out, (tl_reduction){.kind = TL_EDIT_PASS, .pass = names[i]}))
          return false;
        break;
      }
  return true;
}

static bool list_inputs(const tl_module *m, edit_vec *out) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; g->inputs.n > 1 && i < g->inputs.n; i++)
    if (!edit_vec_push(out, (tl_reduction){.kind = TL_EDIT_FREEZE, .value = g->inputs.at[i]}))
      return false;
  return true;
}

static bool list_sizes(const tl_module *m, edit_vec *out) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    const tl_type *t = tl_type_get(m, tl_value_type(m, g->inputs.at[i]));
    for (int k = 0; t->kind == TL_KIND_TENSOR && k < t->rank; k++) {
      const int64_t sizes[] = {1, 2, t->dims[k] / 2};
      for (int q = 0; q < 3; q++)
        if (t->dims[k] > sizes[q] && sizes[q] > 0 &&
            !edit_vec_push(out, (tl_reduction){.kind = TL_EDIT_SIZE,
                                               .value = g->inputs.at[i],
                                               .axis = k,
                                               .size = sizes[q]}))
          return false;
    }
  }
  return true;
}

static bool list_attributes(const tl_module *m, edit_vec *out) {
  TL_FOR_NODES(m, tl_module_main(m), n) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; i < node->n_attrs; i++) {
      const tl_attr *a = &node->attrs[i];
      if (a->kind != TL_ATTR_GRAPH && a->kind != TL_ATTR_GRAPHS &&
          !edit_vec_push(out, (tl_reduction){.kind = TL_EDIT_ATTR, .node = n, .attr = a->name}))
        return false;
    }
  }
  return true;
}

/* Returns true for a constant that is not one number in all elements. */
static bool has_contents(const tl_module *m, tl_value_id v) {
  const tl_tensor *t = tl_tensor_get(m, tl_value_get(m, v)->tensor);
  double first, one;
  uint64_t n = tl_tensor_elements(m, t);
  if (n < 2 || !tl_tensor_float_at(m, t, 0, &first))
    return n > 1;
  for (uint64_t i = 1; i < n && i < 64; i++)
    if (tl_tensor_float_at(m, t, i, &one) && one != first)
      return true;
  return false;
}

static bool list_weights(const tl_module *m, edit_vec *out) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->constants.n; i++)
    for (int k = 0; k < 2 && g->constants.at[i]; k++)
      if (has_contents(m, g->constants.at[i]) &&
          !edit_vec_push(
              out, (tl_reduction){.kind = TL_EDIT_FILL, .value = g->constants.at[i], .fill = k}))
        return false;
  return true;
}

/* Steps that were refused are not tried again: each success shortens the list behind it. */
static tl_status reduce_list(reduction *r, lister list, bool *any) {
  uint32_t from = 0;
  for (bool taken = true; taken && !is_over(r);) {
    edit_vec edits = {0};
    taken = false;
    if (!list(r->m, &edits)) {
      edit_vec_release(&edits);
      return tl_fail_memory(&r->cli->diag, TL_NOWHERE);
    }
    show_progress(r, r->cli->word);
    uint32_t before = edits.n;
    tl_status status = from < before ? take_first(r, edits.at + from, before - from, &taken)
                                     : TL_OK;
    edit_vec_release(&edits);
    TL_TRY(status);
    *any = *any || taken;
  }
  return TL_OK;
}

static tl_status reduce(reduction *r) {
  static const lister lists[] = {list_passes, list_inputs, list_sizes, list_weights,
                                 list_attributes};
  bool any = true;
  TL_TRY(reduce_outputs(r));
  while (any && !is_over(r)) {
    any = false;
    TL_TRY(reduce_nodes(r, &any));
    any = false; /* nodes are done; what follows may let more of them go */
    TL_TRY(reduce_list(r, lists[0], &any));
  }
  for (size_t i = 1; i < sizeof lists / sizeof *lists && !is_over(r); i++)
    TL_TRY(reduce_list(r, lists[i], &any));
  bool more = any;
  return more && !is_over(r) ? reduce_nodes(r, &more) : TL_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void report_text(const reduction *r, const char *path, tl_buf *out) {
  tl_buf_printf(out, "%s: %u of %u nodes, by %u checks%s\n", path, tl_module_count_nodes(r->m),
                r->nodes_before, r->checks, r->ended ? " (ended early)" : "");
  if (r->minimal)
    tl_buf_add_z(out, "  minimal: without any one of its nodes it does not fail so\n");
  if (r->why.n)
    tl_buf_printf(out, "  %.*s\n", TL_SV_ARG(tl_buf_view(&r->why)));
}

static void report_json(const reduction *r, const char *path, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_member_z(&w, "model", r->cli->word);
  tl_member_z(&w, "reduced", path);
  tl_member_u64(&w, "nodes_before", r->nodes_before);
  tl_member_u64(&w, "nodes", tl_module_count_nodes(r->m));
  tl_member_u64(&w, "checks", r->checks);
  tl_member_bool(&w, "minimal", r->minimal);
  tl_member_bool(&w, "ended_early", r->ended);
  tl_member_sv(&w, "why", tl_buf_view(&r->why));
  tl_json_finish(&w);
}

/* Writes the model, also after a signal: what was found so far is worth keeping. */
static tl_status write(reduction *r, const tl_output *o) {
  tl_session s = r->cli->session;
  tl_buf text;
  s.cancel = NULL;
  tl_buf_init(&text);
  tl_progress_hide(&r->cli->progress);
  TL_TRY(tl_session_run_passes(&s, r->m, "outline-definitions"));
  TL_TRY(tl_session_save(&s, r->m, &(tl_destination){o->path, o->format, NULL}));
  TL_TRY(tl_cli_apply(r->cli));
  if (tl_cli_has(r->cli, TL_OPTION_AS_JSON))
    report_json(r, o->path, &text);
  else
    report_text(r, o->path, &text);
  TL_TRY(tl_cli_print(r->cli, &text));
  return *r->cli->signal ? TL_IO : TL_OK;
}

/* The model must fail before anything is cut. */
static tl_status check_whole(reduction *r) {
  uint32_t found;
  TL_TRY(try_some(r, NULL, 1, &found));
  if (found == 0)
    return TL_OK;
  if (r->wanted.verdict == TL_VERDICT_GOOD)
    return tl_fail(&r->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(r->cli->word),
                   "the check is content with this model: there is nothing to reduce");
  if (r->wanted.verdict == TL_VERDICT_BAD && !r->wanted.matches)
    return tl_fail(&r->cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&r->cli->settings, TL_OPTION_MATCH),
                   "what the failure says does not match");
  return tl_fail(&r->cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(r->cli->word),
                 "the model cannot be checked%s%.*s", r->why.n ? ": " : "",
                 TL_SV_ARG(tl_buf_view(&r->why)));
}

/* AIR stays as it is where AIR is to be written; else its NPU ops become ONNX's. */
static tl_status settle_form(reduction *r, const tl_output *o) {
  if (!tl_format_is_npu(o->format))
    return tl_session_raise(&r->cli->session, r->m);
  if (r->m->form == TL_FORM_NPU && r->check.command)
    return TL_OK;
  return tl_fail(&r->cli->diag, TL_INVALID_ARGUMENT,
                 tl_at_option(&r->cli->settings, TL_OPTION_OUTPUT),
                 "'%s' would be %s, which is reduced from AIR with --check only\v"
                 "write ONNX or textual IR, or give an AIR file and a command that fails",
                 o->path, tl_format_name(o->format));
}

static tl_status open_reduction(reduction *r, tl_cli *cli, const tl_output *o) {
  uint64_t jobs = 1, limit = 0;
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_JOBS)), &jobs) ||
      !tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_TIME_LIMIT)), &limit))
    return TL_INTERNAL; /* the option table bounds both */
  r->jobs = (unsigned)jobs;
  r->deadline = limit ? now() + (double)limit : 0;
  TL_TRY(tl_session_load(&cli->session, cli->word, &r->m));
  TL_TRY(settle_form(r, o));
  TL_TRY(tl_session_run_passes(&cli->session, r->m,
                               "op-names,input-shapes,freeze-inputs,out-nodes,infer-shapes"));
  r->nodes_before = tl_module_count_nodes(r->m);
  return TL_OK;
}

/* Which passes --verify runs: those of AIR, or with --opt the canonical ones. */
static tl_pipeline_options pipeline_of(tl_cli *cli) {
  tl_stage stage = tl_cli_has(cli, TL_OPTION_CANONICAL) ? tl_cli_canonical_stage(cli)
                                                        : TL_STAGE_AIR;
  tl_pipeline_options p = tl_session_pipeline(&cli->session, stage);
  p.verify_each = true;
  return p;
}

static tl_status run(reduction *r, const tl_output *o) {
  tl_cli *cli = r->cli;
  TL_TRY(open_reduction(r, cli, o));
  TL_TRY(tl_output_check(cli, r->m, &(tl_output_vec){.at = (tl_output *)(uintptr_t)o, .n = 1}));
  r->pipeline = pipeline_of(cli);
  /* The sizes of one run stay, so that what is cut off has sizes, too. */
  TL_TRY(tl_record(&r->check.e, r->m, &r->recorded));
  TL_TRY(check_whole(r));
  TL_TRY(reduce(r));
  return write(r, o);
}

static tl_status settle_output(tl_cli *cli, tl_output_vec *outputs) {
  if (cli->outputs.n != 1)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
                   "name one file for the reduced model\vtailor reduce MODEL ... -o small.onnx");
  return tl_output_plan(cli, TL_FORMAT_ONNX, outputs);
}

tl_status tl_command_reduce(tl_cli *cli) {
  reduction r = {.cli = cli};
  tl_output_vec outputs = {0};
  tl_buf_init(&r.why);
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  TL_TRY(tl_cli_load_rules(cli)); /* mistakes in them are no finding */
  tl_status status = settle_output(cli, &outputs);
  if (status == TL_OK) {
    status = tl_check_open(&r.check, cli, outputs.at[0].format, false);
    if (status == TL_OK)
      status = run(&r, &outputs.at[0]);
    tl_check_release(&r.check);
  }
  tl_recorded_release(&r.recorded);
  tl_buf_release(&r.why);
  if (r.m)
    tl_module_destroy(r.m);
  tl_output_vec_release(&outputs);
  return status;
}
