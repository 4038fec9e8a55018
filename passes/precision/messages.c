/* SPDX-License-Identifier: Apache-2.0 */
/* Words the messages of precision: ops without a kernel, unexpected dtypes, unused list entries. */
#include "passes/precision/types.h"
#include "passes/precision/walk.h"

enum { MAX_REPORTS = 20, MAX_NAMES = 10 };

/* Returns the name of a mode as the user wrote it, else its first official name. */
static const char *mode_name(const tl_precision_walk *w, tl_precision_mode mode) {
  const tl_precision_config *c = w->d->config;
  const tl_precision_mode_info *info = tl_precision_mode_get(mode);
  if (mode == c->mode && c->mode_name)
    return c->mode_name;
  return info->v1[0] ? info->v1[0] : info->v2;
}

/* Appends what decided: " in allow_mix_precision", or the chip if no mode was requested. */
static void add_where(const tl_precision_walk *w, tl_buf *out) {
  if (w->d->config->by_chip && w->op.mode == w->d->config->mode)
    tl_buf_printf(out, " on %s", tl_options_chip(w->options)->name);
  else
    tl_buf_printf(out, " in %s", mode_name(w, w->op.mode));
}

static const char *dtype_name(unsigned d) { return tl_dtype_get((tl_dtype)d)->name; }

/* Appends the dtypes of a node in the model, such as "f16, f32 > f16". */
static void add_signature(tl_precision_walk *w, tl_buf *out) {
  for (uint32_t i = 0; i < w->slots.n; i++) {
    if (i)
      tl_buf_add_z(out, i == w->n_inputs ? " > " : ", ");
    tl_buf_add_z(out, dtype_name(w->slots.at[i].original));
  }
}

/* Appends the text of an error: P0202 customized dtypes, else the tensor s, else the whole
 * signature. */
static void describe(tl_precision_walk *w, tl_buf *out, tl_node_id n, const tl_judged_slot *s,
                     const char *code) {
  const tl_precision_form *form = w->d->nodes[n].form;
  tl_buf_printf(out, "%.*s ", TL_SV_ARG(form->type));
  if (strcmp(code, "P0202") == 0) {
    const char *path = w->d->config->custom_path;
    tl_buf_printf(out, "has no signature with the dtypes of '%.*s' in %s",
                  TL_SV_ARG(w->custom->name), path ? path : "the list of customized dtypes");
  } else if (s) {
    tl_buf_printf(out, "does not take '%s' as %s", s->port->name, dtype_name(s->original));
    add_where(w, out);
    tl_buf_add_z(out, "; it takes ");
    tl_dtype_print_set(s->port->dtypes, out);
  } else {
    tl_buf_add_z(out, "has no signature that the dtypes ");
    add_signature(w, out);
    tl_buf_add_z(out, " lead to");
    add_where(w, out);
  }
}

/* Returns what the user can do about an error code. */
static const char *hint_of(const char *code) {
  if (strcmp(code, "P0202") == 0)
    return "'tailor ops TYPE' lists the signatures of an op";
  if (strcmp(code, "P0204") == 0)
    return "remove the op from the black list";
  return "another precision mode, or a cast in the model, gives it a dtype that it has";
}

void tl_precision_report(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s,
                         const char *code) {
  tl_buf text;
  w->n_unsupported++;
  if (w->n_errors++ >= MAX_REPORTS)
    return;
  tl_buf_init(&text);
  describe(w, &text, n, s, code);
  tl_sv shown = text.failed ? TL_SV("no engine takes the op") : tl_buf_view(&text);
  (void)tl_fail_code(w->m->diag, TL_UNSUPPORTED, code, tl_node_where(w->m, n), "%.*s\v%s",
                     TL_SV_ARG(shown), hint_of(code));
  tl_buf_release(&text);
}

void tl_precision_report_constant(tl_precision_walk *w, tl_node_id n, tl_value_id v, tl_dtype to,
                                  uint64_t beyond) {
  w->n_unsupported++;
  if (w->n_errors++ < MAX_REPORTS)
    (void)tl_fail(
        w->m->diag, TL_UNSUPPORTED, tl_node_where(w->m, n),
        "%llu elements of constant '%.*s' are beyond the range of %s\v--const-policy=keep_fp32 "
        "keeps the dtypes of the op, clamp uses the largest number",
        (unsigned long long)beyond, TL_SV_ARG(tl_value_name(w->m, v)), tl_dtype_get(to)->name);
}

void tl_precision_warn_kept(tl_precision_walk *w, tl_node_id n, const tl_judged_slot *s,
                            const char *code) {
  tl_buf text;
  if (w->n_warned++ >= MAX_REPORTS)
    return;
  tl_buf_init(&text);
  describe(w, &text, n, s, code);
  tl_sv shown = text.failed ? TL_SV("no engine takes the op") : tl_buf_view(&text);
  tl_warn_code(w->m->diag, code, tl_node_where(w->m, n), "%.*s; it keeps its dtypes",
               TL_SV_ARG(shown));
  tl_buf_release(&text);
}

/* Returns the first tensor without a dtype that fits the rules, else the first white one without a
 * low dtype, else NULL. */
static const tl_judged_slot *odd_slot(const tl_precision_walk *w) {
  for (uint32_t i = 0; i < w->slots.n; i++)
    if (w->slots.at[i].slot->match == TL_MATCH_NONE)
      return &w->slots.at[i];
  for (uint32_t i = 0; i < w->slots.n; i++)
    if (w->slots.at[i].slot->match == TL_MATCH_SECOND)
      return &w->slots.at[i];
  return NULL;
}

void tl_precision_warn_column(tl_precision_walk *w, tl_node_id n) {
  const tl_judged_slot *s = odd_slot(w);
  tl_location where = tl_node_where(w->m, n);
  const tl_precision_form *form = w->d->nodes[n].form;
  const char *mode = mode_name(w, w->op.mode);
  if (w->d->config->by_chip)
    return; /* without a requested mode any column is right */
  if (s && s->output && s->value && tl_value_get(w->m, s->value)->n_uses == 0)
    return; /* unused statistics need no warning */
  if (w->n_warned++ >= MAX_REPORTS)
    return;
  if (s && s->slot->match == TL_MATCH_SECOND)
    tl_warn(w->m->diag, where, "%.*s is white in %s, but has no lower dtype for '%s'; it is %s",
            TL_SV_ARG(form->type), mode, s->port->name, dtype_name(s->slot->chosen));
  else if (s)
    tl_warn(w->m->diag, where, "%.*s has no dtype for '%s' that %s requires; it is %s",
            TL_SV_ARG(form->type), s->port->name, mode, dtype_name(s->slot->chosen));
  else
    tl_warn(w->m->diag, where,
            "the signature of %.*s that %s prefers is not available; the next one is used",
            TL_SV_ARG(form->type), mode);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

enum { SHOWN = 3 }; /* upper bound on nodes named in a warning */

/* Returns true if an f32 tensor of the node got another dtype and no list entry asked for that. */
static bool was_lowered(const tl_precision_walk *w, tl_node_id n) {
  const tl_precision_choice *c = &w->d->nodes[n];
  const tl_node *node = tl_node_get(w->m, n);
  if (c->entry >= 0 || !(c->flags & TL_CHOICE_CHANGED))
    return false;
  for (uint32_t i = 0; i < node->n_operands + node->n_results; i++) {
    const tl_precision_slot *s = i < node->n_operands
                                     ? &w->d->uses[node->operands + i]
                                     : &w->d->values[node->results + i - node->n_operands];
    if (s->original == TL_DTYPE_F32 && s->chosen != TL_DTYPE_F32)
      return true;
  }
  return false;
}

/* Appends the first nodes that have a reason to stay wide and were lowered. Returns their
 * number. */
static uint32_t name_lowered(const tl_precision_walk *w, tl_buf *text) {
  uint32_t n_found = 0;
  for (uint32_t i = 0; i < w->m->graphs.n; i++) {
    const tl_graph *g = w->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(w->m, g, n) {
      if (!w->why[n] || !was_lowered(w, n) || n_found++ >= SHOWN)
        continue;
      tl_sv name = tl_node_where(w->m, n).node;
      tl_buf_printf(text, "%s`%.*s` (%s)", n_found > 1 ? ", " : "", TL_SV_ARG(name), w->why[n]);
    }
  }
  if (n_found > SHOWN)
    tl_buf_add_z(text, " ...");
  return n_found;
}

/* Two cases: the policy is on but the chip has no f32 kernel, or it is off and would have
 * helped. */
void tl_precision_warn_ranges(tl_precision_walk *w) {
  const tl_precision_config *c = w->d->config;
  tl_buf text;
  if (!w->why || c->ranges.declined)
    return;
  tl_buf_init(&text);
  uint32_t n_found = name_lowered(w, &text);
  if (n_found && !text.failed && c->ranges.on)
    tl_warn(w->m->diag, TL_AT_FILE(w->m->path),
            "--precision-policy=range would keep %u more %s in f32, for which the chip has no f32 "
            "kernel: %s\vanother chip, or a mode that keeps the dtypes of the model, has a form "
            "for %s",
            n_found, n_found == 1 ? "node" : "nodes", text.p, n_found == 1 ? "it" : "them");
  else if (n_found && !text.failed)
    tl_warn(w->m->diag, TL_AT_FILE(w->m->path),
            "%s lowers %u %s that may lose accuracy: %s\v--precision-policy=range keeps %s in f32 "
            "and 'tailor explain' with it names %s; "
            "--precision-policy=none leaves this warning out",
            mode_name(w, c->mode), n_found, n_found == 1 ? "node" : "nodes", text.p,
            n_found == 1 ? "it" : "them", n_found == 1 ? "it" : "them all");
  tl_buf_release(&text);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Unused entries of one list. */
typedef struct unused {
  const tl_precision_types *types; /* of the model */
  tl_buf names;
  tl_buf hint; /* hint for entries that name a type by another name */
  uint32_t n;
} unused;

/* Counts an unused entry and keeps the first names. */
static void add_unused(unused *u, tl_sv name) {
  if (u->n++ < MAX_NAMES)
    tl_buf_printf(&u->names, "%s'%.*s'", u->n > 1 ? ", " : "", TL_SV_ARG(name));
}

/* Adds an unused op type, with the judged name of the nodes that the user may have meant. */
static void add_unused_type(unused *u, tl_sv name) {
  size_t before = u->hint.n;
  add_unused(u, name);
  if (u->n > MAX_NAMES)
    return;
  tl_buf_add_z(&u->hint, before ? "; " : "\v");
  if (!tl_precision_types_explain(u->types, name, &u->hint))
    u->hint.n = before;
}

/* Warns about the entries collected for one list and starts the next list. */
static void warn_list(tl_precision_walk *w, const char *path, unused *u) {
  if (u->n && !u->names.failed && !u->hint.failed)
    tl_warn(w->m->diag, TL_AT_FILE(path), "%u %s matched nothing: %s%s%.*s", u->n,
            u->n == 1 ? "entry" : "entries", u->names.p, u->n > MAX_NAMES ? " ..." : "",
            (int)u->hint.n, u->hint.n ? u->hint.p : "");
  tl_buf_release(&u->names);
  tl_buf_release(&u->hint);
  *u = (unused){.types = u->types};
}

/* Entries of one list are adjacent in the configuration; one warning per list. */
static void warn_listed(tl_precision_walk *w, unused *u) {
  const tl_precision_config *c = w->d->config;
  const char *last = NULL;
  for (uint32_t i = 0; i < c->n_listed; i++) {
    const char *option;
    bool was_used = tl_precision_listed_was_used(w->lists, i, &option);
    if (last && option != last)
      warn_list(w, last, u);
    last = option;
    if (!was_used && c->listed[i].is_type)
      add_unused_type(u, c->listed[i].text);
    else if (!was_used)
      add_unused(u, c->listed[i].text);
  }
  if (last)
    warn_list(w, last, u);
}

/* Adds an unused entry of a file, which names a node or (with a prefix in the file) a type. */
static void add_entry(unused *u, bool is_type, tl_sv name) {
  if (is_type)
    add_unused_type(u, name);
  else
    add_unused(u, name);
}

/* Warns about unused entries of the files of customized and kept nodes; must_keep_origin_dtype
 * ignores the former as a whole. */
static void warn_files(tl_precision_walk *w, unused *u) {
  const tl_precision_config *c = w->d->config;
  if (c->mode == TL_PRECISION_ORIGIN && c->n_custom) {
    tl_warn(w->m->diag, TL_AT_FILE(c->custom_path),
            "has no effect: %s keeps the dtypes of the model", mode_name(w, c->mode));
  } else {
    for (uint32_t i = 0; i < c->n_custom; i++)
      if (!w->used_custom[i])
        add_entry(u, c->custom[i].is_type, c->custom[i].name);
    warn_list(w, c->custom_path, u);
  }
  for (uint32_t i = 0; i < c->n_keep; i++)
    if (!w->used_keep[i])
      add_entry(u, c->keep[i].is_type, c->keep[i].name);
  warn_list(w, c->keep_path, u);
}

tl_status tl_precision_warn_unused(tl_precision_walk *w) {
  const tl_precision_config *c = w->d->config;
  tl_precision_types *types;
  bool lists = c->n_mix || c->n_custom || c->n_keep || c->n_listed || c->n_to_float ||
               c->n_kept_signature;
  if (!lists)
    return TL_OK;
  if (tl_precision_types_find(w->m, w->arena, &types) != TL_OK)
    return tl_no_memory(w->m);
  unused u = {.types = types};
  warn_files(w, &u);
  for (uint32_t i = 0; i < c->n_to_float; i++)
    if (!w->used_to_float[i])
      add_unused(&u, c->to_float[i].glob);
  warn_list(w, "--to-float", &u);
  for (uint32_t i = 0; i < c->n_kept_signature; i++)
    if (!w->used_kept_signature[i])
      add_unused(&u, c->kept_signature[i]);
  warn_list(w, "--keep-io-types", &u);
  warn_listed(w, &u);
  tl_precision_warn_mix(w->forms, types, &u.names, &u.n);
  warn_list(w, c->mix_path, &u);
  return TL_OK;
}
