/* SPDX-License-Identifier: Apache-2.0 */
/* Tries a model with each of its profiles. The model stays as it is: each profile has a fork of its
 * own, which gets the profile's sizes and goes through the whole pipeline. */
#include "ir/fork.h"
#include "lib/session/session.h"
#include "support/hash.h"
#include "support/map.h"

/* What is said about the fork of a profile says which profile it is. */
typedef struct listener {
  tl_diag *outer;
  const tl_profile *profile;
  const tl_options *options;
  tl_map warned; /* places that had a warning in any profile: one is enough */
} listener;

/* Adds what the profile makes of the inputs: "x:1,3,736,960". */
static void add_shapes(tl_buf *out, const tl_profile *p, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    tl_buf_printf(out, "%s%.*s:", i ? ";" : "", TL_SV_ARG(p->shapes[i].name));
    for (int k = 0; k < p->shapes[i].rank; k++) {
      tl_buf_add_z(out, k ? "," : "");
      tl_buf_add_i64(out, p->shapes[i].dims[k]);
    }
  }
}

static bool was_said(listener *l, const tl_location *where) {
  uint64_t key = tl_hash_bytes(where->node.p, where->node.n, 0);
  key = tl_hash_bytes(where->attr.p, where->attr.n, key);
  if (tl_map_find(&l->warned, key, NULL))
    return true;
  bool kept = tl_map_set(&l->warned, key, 1);
  (void)kept; /* without memory it may be said twice */
  return false;
}

static void tell(void *user, const tl_diagnostic *found) {
  listener *l = user;
  bool error = found->severity == TL_ERROR && !l->profile->bound;
  if (found->severity == TL_NOTE || (!error && was_said(l, &found->where)))
    return;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "%s (profile %.*s: ", found->message, TL_SV_ARG(l->profile->text));
  add_shapes(&text, l->profile, l->options->n_input_shapes);
  tl_buf_add_char(&text, ')');
  tl_diagnostic d = *found;
  d.severity = error ? TL_ERROR : TL_WARNING;
  if (!text.failed)
    d.message = text.p;
  l->outer->errors += error;
  l->outer->warnings += !error;
  if (l->outer->fn)
    l->outer->fn(l->outer->user, &d);
  tl_buf_release(&text);
}

static bool is_empty(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t r = 0; r < node->n_results; r++) {
    uint64_t elements;
    if (tl_value_get(m, node->results + r)->n_uses &&
        tl_type_elements(m, tl_value_type(m, node->results + r), &elements) && elements == 0)
      return true;
  }
  return false;
}

/* Sizes below what a window or a slice needs are no error of ONNX, but hardly meant. */
static void warn_of_empty(tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  TL_FOR_NODES(m, g, n) {
    if (!is_empty(m, n))
      continue;
    tl_warn(m->diag, tl_node_where(m, n), "makes a tensor without elements");
    return;
  }
}

/* Runs the pipeline on a fork of the model, and shows what comes out. */
static tl_status try_profile(const tl_session *s, const tl_module *m, const tl_profile *profile,
                             const tl_profile_run *run, listener *l) {
  tl_diag diag = {.fn = tell, .user = l, .lacks = l->outer->lacks};
  tl_options options = *l->options;
  options.input_shapes = profile->shapes;
  tl_pipeline_options p = tl_session_pipeline(s, run->stage);
  p.fusions = NULL;
  l->profile = profile;
  tl_module *fork = tl_module_fork(m, &diag);
  if (!fork)
    return tl_fail_memory(l->outer, TL_NOWHERE);
  tl_status status = tl_pipeline_run(fork, &options, &p, NULL);
  if (status == TL_OK)
    warn_of_empty(fork);
  bool tolerable = profile->bound && (status == TL_INVALID_MODEL || status == TL_UNSUPPORTED ||
                                      status == TL_INVALID_ARGUMENT);
  if ((status == TL_OK || tolerable) && run->fn)
    status = run->fn(run->user, profile, status == TL_OK ? fork : NULL);
  else if (tolerable)
    status = TL_OK;
  l->outer->no_memory = l->outer->no_memory || diag.no_memory;
  tl_module_destroy(fork);
  return status;
}

/* Tries all profiles on m, which is in canonical form. */
static tl_status try_all(const tl_session *s, const tl_module *m, const tl_profile_run *run) {
  const tl_options *o = s->options ? s->options : &s->settings->options;
  listener l = {.outer = s->diag, .options = o};
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < o->n_profiles && status == TL_OK; i++)
    status = s->cancel && *s->cancel ? TL_IO : try_profile(s, m, &o->profiles[i], run, &l);
  tl_map_release(&l.warned);
  return status;
}

/* Keeps the first error in a buffer. */
static void keep_error(void *user, const tl_diagnostic *found) {
  tl_buf *text = user;
  if (found->severity == TL_ERROR && text->n == 0)
    tl_buf_add_z(text, found->message);
}

/* Types of NPU ops follow from no shape function here, so a file that is AIR is tried in canonical
 * form. */
static tl_status try_raised(const tl_session *s, const tl_module *m, const tl_profile_run *run) {
  tl_buf why;
  tl_buf_init(&why);
  tl_diag diag = {.fn = keep_error, .user = &why, .lacks = s->diag->lacks};
  tl_module *fork = tl_module_fork(m, &diag);
  if (!fork) {
    tl_buf_release(&why);
    return tl_fail_memory(s->diag, TL_NOWHERE);
  }
  tl_status status = tl_session_raise(s, fork);
  if (status == TL_OK) {
    status = try_all(s, fork, run);
  } else if (status != TL_NO_MEMORY) {
    tl_warn(s->diag, TL_AT_FILE(m->path),
            "profiles are recorded, but not tried: this AIR has no canonical form: %s",
            why.p ? why.p : "");
    status = TL_OK;
  }
  s->diag->no_memory = s->diag->no_memory || diag.no_memory;
  tl_buf_release(&why);
  tl_module_destroy(fork);
  return status;
}

tl_status tl_session_try_profiles(const tl_session *s, const tl_module *m,
                                  const tl_profile_run *run) {
  const tl_options *o = s->options ? s->options : &s->settings->options;
  return m->form == TL_FORM_NPU && o->n_profiles ? try_raised(s, m, run) : try_all(s, m, run);
}
