/* SPDX-License-Identifier: Apache-2.0 */
/* Is a fusion pass on, and in what order do passes run. */
#include "ir/options/fusion_config.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "ir/options/fusion_row.h"

const tl_fusion_entry *tl_fusion_entry_find(const tl_fusion_list *list, tl_sv pass) {
  uint32_t low = 0;
  uint32_t high = list->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = tl_sv_compare(pass, list->at[middle].pass);
    if (order == 0)
      return &list->at[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

static tl_switch listed(const tl_fusion_list *list, tl_sv pass) {
  const tl_fusion_entry *e = tl_fusion_entry_find(list, pass);
  return !e ? TL_SWITCH_UNSET : e->value ? TL_SWITCH_ON : TL_SWITCH_OFF;
}

typedef struct verdict {
  tl_switch state;
  const char *why;
} verdict;

static const verdict undecided = {TL_SWITCH_UNSET, NULL};

/* Names given on the command line reach every kind, also passes that a file cannot close. */
static verdict by_option(const tl_fusion_config *c, tl_sv pass, tl_fusion_kind kind) {
  tl_switch state = listed(&c->direct, pass);
  if (state)
    return (verdict){state, "--fusion"};
  state = listed(&c->option, pass);
  if (state)
    return (verdict){state, "--optimization-switch"};
  if (kind == TL_FUSION_SCOPE && tl_fusion_entry_find(&c->scope_off, pass))
    return (verdict){TL_SWITCH_OFF, "--disable-scope-fusion-passes"};
  if (kind == TL_FUSION_SCOPE && tl_fusion_entry_find(&c->scope_on, pass))
    return (verdict){TL_SWITCH_ON, "--enable-scope-fusion-passes"};
  return undecided;
}

bool tl_fusion_is_named(const tl_fusion_config *config, tl_sv pass, tl_fusion_kind kind) {
  return config && by_option(config, pass, kind).state == TL_SWITCH_ON;
}

/* What no switch file changes: exceptional passes, level O1, passes that cannot be closed. */
static verdict by_standing(const tl_fusion_config *c, const tl_fusion_name *row, tl_sv pass,
                           tl_fusion_kind kind) {
  bool forbidden = row && row->close != TL_CLOSE_MAY;
  if (row && row->close == TL_CLOSE_EXCEPTIONAL)
    return (verdict){TL_SWITCH_ON, "cannot be switched off, not even by level O1"};
  if (tl_fusion_entry_find(&c->exceptional, pass))
    return (verdict){TL_SWITCH_ON, "ExceptionalPassOfO1Level of the switch file"};
  if (c->forbidden_close && forbidden)
    return (verdict){c->forbidden_close, c->forbidden_close == TL_SWITCH_ON
                                             ? "cannot be switched off"
                                             : "forbidden_close_pass"};
  /* Level O1 of the device compiler knows nothing of our own rules that simplify. */
  if (c->functional_only && (row || kind != TL_FUSION_CLEANUP))
    return (verdict){TL_SWITCH_OFF, "level below O2"};
  if (forbidden)
    return (verdict){TL_SWITCH_ON, "cannot be switched off"};
  return undecided;
}

/* The switch file, individual entries before ALL; in between what the built-in configuration says
 * of single passes. */
static verdict by_file(const tl_fusion_config *c, const tl_fusion_name *row, tl_sv pass,
                       tl_fusion_kind kind) {
  bool has_section = kind < TL_N_FUSION_SECTIONS;
  if (has_section && c->direct_all)
    return (verdict){c->direct_all, "--fusion=ALL"};
  tl_switch state = has_section ? listed(&c->file[kind], pass) : TL_SWITCH_UNSET;
  if (state)
    return (verdict){state, "switch file"};
  if (c->preset && tl_fusion_preset_has(c->preset, pass))
    return (verdict){TL_SWITCH_OFF, "--fusion-preset"};
  if (c->toolkit && tl_fusion_preset_has(c->toolkit, pass))
    return (verdict){TL_SWITCH_OFF, "--toolkit"};
  if (row && !row->on)
    return (verdict){TL_SWITCH_OFF, "off by default"};
  if (has_section && c->file_all[kind])
    return (verdict){c->file_all[kind], "ALL of the switch file"};
  return (verdict){TL_SWITCH_ON, "on by default"};
}

bool tl_fusion_is_on(const tl_fusion_config *config, tl_sv pass, tl_fusion_kind kind,
                     const char **why) {
  return tl_fusion_row_is_on(config, tl_fusion_name_find(pass), pass, kind, why);
}

bool tl_fusion_row_is_on(const tl_fusion_config *config, const tl_fusion_name *row, tl_sv pass,
                         tl_fusion_kind kind, const char **why) {
  static const tl_fusion_config nothing = {0};
  const tl_fusion_config *c = config ? config : &nothing;
  verdict v = c->nothing ? (verdict){TL_SWITCH_OFF, "level O0"} : by_option(c, pass, kind);
  if (!v.state)
    v = by_standing(c, row, pass, kind);
  if (!v.state)
    v = by_file(c, row, pass, kind);
  if (why)
    *why = v.why;
  return v.state == TL_SWITCH_ON;
}

/* Down is the third level of a configured band. */
static int raise_down(int priority) {
  bool down = priority >= 0 && priority < TL_PRIORITY_CUSTOM_PASS &&
              priority / TL_PRIORITY_LEVEL % 3 == 2;
  return down ? priority + TL_PRIORITY_DOWN : priority;
}

static int user_priority(const tl_fusion_config *config, tl_sv pass, tl_fusion_kind kind) {
  const tl_fusion_entry *e = config && kind < TL_N_FUSION_SECTIONS
                                 ? tl_fusion_entry_find(&config->priority[kind], pass)
                                 : NULL;
  return e ? raise_down(e->value) : TL_NO_PRIORITY;
}

int tl_fusion_priority(const tl_fusion_config *config, tl_sv pass, tl_fusion_kind kind,
                       int configured) {
  int priority = user_priority(config, pass, kind);
  return priority != TL_NO_PRIORITY ? priority : raise_down(configured);
}

/* The first eight bytes as a number that orders as they do. */
static uint64_t prefix_of(tl_sv name) {
  uint64_t prefix = 0;
  if (name.n)
    memcpy(&prefix, name.p, name.n < sizeof prefix ? name.n : sizeof prefix);
  return be64toh(prefix);
}

static int by_name(const void *a, const void *b) {
  const tl_fusion_order *x = a;
  const tl_fusion_order *y = b;
  if (x->prefix != y->prefix)
    return x->prefix < y->prefix ? -1 : 1;
  int order = tl_sv_compare(x->pass, y->pass);
  return order ? order : x->position < y->position ? -1 : x->position > y->position;
}

static int by_priority(const void *a, const void *b) {
  const tl_fusion_order *x = a;
  const tl_fusion_order *y = b;
  if (x->priority != y->priority)
    return x->priority < y->priority ? -1 : 1;
  return x->position < y->position ? -1 : x->position > y->position;
}

static int band_of(const tl_fusion_order *p) {
  if (p->custom)
    return p->rule ? TL_PRIORITY_CUSTOM_RULE : TL_PRIORITY_CUSTOM_PASS;
  return p->rule ? TL_PRIORITY_RULE : TL_PRIORITY_PASS;
}

/* Numbers the unconfigured passes; the array is in byte order of the names. A band is 1000 wide: a
 * program with more passes gives the last number to the rest, which then keep their order. */
static void number_unconfigured(tl_fusion_order *passes, uint32_t n) {
  int next[4] = {0, 0, 0, 0};
  for (uint32_t i = 0; i < n; i++) {
    tl_fusion_order *p = &passes[i];
    int *index = &next[2 * p->custom + p->rule];
    if (p->priority != TL_NO_PRIORITY)
      continue;
    p->priority = band_of(p) + *index;
    *index += *index < TL_PRIORITY_LEVEL - 1;
  }
}

void tl_fusion_sort(const tl_fusion_config *config, tl_fusion_kind kind, tl_fusion_order *passes,
                    uint32_t n) {
  if (n == 0)
    return;
  bool custom_configured = false;
  for (uint32_t i = 0; i < n; i++) {
    tl_fusion_order *p = &passes[i];
    int user = user_priority(config, p->pass, kind);
    custom_configured |= p->custom && user != TL_NO_PRIORITY;
    p->priority = user != TL_NO_PRIORITY ? user : raise_down(p->configured);
    p->position = i;
    p->prefix = prefix_of(p->pass);
  }
  qsort(passes, n, sizeof *passes, by_name);
  number_unconfigured(passes, n);
  for (uint32_t i = 0; i < n && !custom_configured; i++) {
    if (passes[i].custom)
      passes[i].priority = TL_NO_PRIORITY;
  }
  qsort(passes, n, sizeof *passes, by_priority);
}
