/* SPDX-License-Identifier: Apache-2.0 */
/* Reads fusion passes from the command line: --optimization-switch as atc reads it, and
 * --fusion. */
#include "frontend/config/fusion_draft.h"
#include "frontend/config/fusion_switch.h"
#include "frontend/config/options.h"

/* One PASS:on or PASS:off and, if it is malformed, the reason. */
typedef struct pair {
  tl_sv text; /* the whole of it */
  tl_sv name;
  int value;           /* -1: neither on nor off */
  const char *problem; /* NULL: none */
} pair;

/* Splits at the first colon. A pair with a problem may still have a name. */
static pair split_pair(tl_sv text) {
  pair p = {.text = tl_sv_trim(text), .value = -1};
  const char *colon = p.text.n ? memchr(p.text.p, ':', p.text.n) : NULL;
  if (!colon) {
    p.problem = "has no ':'";
    return p;
  }
  size_t n = (size_t)(colon - p.text.p);
  p.name = tl_sv_trim((tl_sv){p.text.p, n});
  p.value = tl_fusion_on_off(tl_sv_trim((tl_sv){colon + 1, p.text.n - n - 1}));
  if (p.name.n == 0)
    p.problem = "names no pass";
  else if (p.value < 0)
    p.problem = "does not end with :on or :off";
  return p;
}

tl_status tl_read_optimization_switch(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                      tl_fusion_config *out) {
  tl_fusion_draft draft = {0};
  for (tl_sv rest = text; rest.p;) {
    pair p = split_pair(tl_sv_split(&rest, ';'));
    if (p.text.n == 0)
      continue;
    if (!p.problem && tl_option_find(p.name, TL_COMMAND_CONVERT) != TL_N_OPTION_ROWS)
      p.problem = "names an option, not a pass";
    /* atc appends forbidden_close_pass:on to the user's text, so a value of the user never
     * counts. */
    if (!p.problem && tl_sv_is(p.name, "forbidden_close_pass")) {
      if (p.value == 0)
        tl_warn_code(d, "W_FUSION_CANNOT_CLOSE", where,
                     "forbidden_close_pass:off has no effect: atc sets it to on itself");
      continue;
    }
    if (p.problem) {
      tl_warn_code(d, "W_FUSION_SKIPPED", where, "'%.*s' is skipped: it %s",
                   TL_SV_ARG(tl_sv_shown(p.text)), p.problem);
      continue;
    }
    if (tl_fusion_draft_add(&draft, a, p.name, p.value, where) != TL_OK) {
      tl_fusion_draft_release(&draft);
      return tl_fail_memory(d, where);
    }
  }
  return tl_fusion_draft_finish(&draft, d, a, TL_REPEAT_LAST_COUNTS, NULL, &out->option);
}

/* Adds one pair of --fusion. That option is our own, so malformed pairs are errors, not
 * warnings. */
static tl_status read_direct(tl_diag *d, tl_arena *a, tl_location where, const pair *p,
                             tl_fusion_draft *draft, tl_fusion_config *out) {
  if (p->problem)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "'%.*s' %s\vwrite --fusion=PASS:off or --fusion=PASS:on",
                        TL_SV_ARG(tl_sv_shown(p->text)), p->problem);
  if (tl_sv_is(p->name, "ALL")) {
    out->direct_all = p->value ? TL_SWITCH_ON : TL_SWITCH_OFF;
    return TL_OK;
  }
  if (tl_fusion_draft_add(draft, a, p->name, p->value, where) != TL_OK)
    return tl_fail_memory(d, where);
  return TL_OK;
}

tl_status tl_read_fusion_option(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                tl_fusion_config *out) {
  tl_fusion_draft draft = {0};
  for (tl_sv rest = text; rest.p;) {
    pair p = split_pair(tl_sv_split(&rest, ';'));
    tl_status status = p.text.n ? read_direct(d, a, where, &p, &draft, out) : TL_OK;
    if (status != TL_OK) {
      tl_fusion_draft_release(&draft);
      return status;
    }
  }
  return tl_fusion_draft_finish(&draft, d, a, TL_REPEAT_LAST_COUNTS, NULL, &out->direct);
}

tl_status tl_read_fusion_names(tl_diag *d, tl_arena *a, tl_location where, const char *text,
                               tl_fusion_list *out) {
  tl_fusion_draft draft = {0};
  for (tl_sv rest = tl_sv_from(text); rest.p;) {
    tl_sv name = tl_sv_trim(tl_sv_split(&rest, ','));
    if (name.n && tl_fusion_draft_add(&draft, a, name, 1, where) != TL_OK) {
      tl_fusion_draft_release(&draft);
      return tl_fail_memory(d, where);
    }
  }
  return tl_fusion_draft_finish(&draft, d, a, TL_REPEAT_LAST_COUNTS, NULL, out);
}
