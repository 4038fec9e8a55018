/* SPDX-License-Identifier: Apache-2.0 */
/* Writes docs/fusions.md, every fusion pass that does something here, from the rules themselves. */
#include <stdlib.h>

#include "ir/chip/soc.h"
#include "tools/cli/rules.h"

/* Chips that stand for all chips with the same table of ops. */
static const struct {
  const char *chip;
  const char *families;
} lines[] = {{"Ascend910B1", "910B, 910_93, 950, 310B"}, {"Ascend910A", "910, 310, 310P, 610"}};
enum { N_LINES = sizeof lines / sizeof *lines };

/* State of writing the document. */
typedef struct document {
  tl_buf *out;
  tl_diag diag;
  tl_known_rules *rules[N_LINES]; /* the same rules in the same order, as each line has them */
  const tl_fusion_name *at;       /* names of the table, then those that only rules have */
  uint32_t n;
} document;

static const tl_ruleset *rules_of(const document *d) { return &d->rules[0]->set; }

static tl_sv pass_of(const document *d, uint32_t i) {
  return tl_sym(d->rules[0]->m, rules_of(d)->rules.at[i]->pass);
}

/* Returns true for rules that belong to a pass. Expansions without a public name do not, and
 * clean-up rules with a name of their own do not either. */
static bool is_documented(const tl_rule *r) {
  return tl_rule_is_pass(r) && (tl_rule_fuses(r) || r->pass != r->name);
}

/* Returns true if a documented rule belongs to the pass. */
static bool has_rules(const document *d, tl_sv pass) {
  for (uint32_t i = 0; i < rules_of(d)->rules.n; i++)
    if (is_documented(rules_of(d)->rules.at[i]) && tl_sv_eq(pass_of(d, i), pass))
      return true;
  return false;
}

/* ---- one pass -------------------------------------------------------------------------------- */

/* Adds the chips that support rule i: all, none, or the families of one table. */
static void add_chips(document *d, uint32_t i) {
  bool has[N_LINES], all = true, any = false;
  for (unsigned k = 0; k < N_LINES; k++) {
    has[k] = !d->rules[k]->set.rules.at[i]->unsupported;
    all = all && has[k];
    any = any || has[k];
  }
  if (all || !any) {
    tl_buf_add_z(d->out, all ? "all" : "none");
    return;
  }
  for (unsigned k = 0; k < N_LINES; k++)
    if (has[k])
      tl_buf_add_z(d->out, lines[k].families);
}

static const char *target_of(const tl_rule *r) {
  return r->targets == TL_RULE_ANYWHERE ? ""
         : r->targets == TL_RULE_ORT    ? ", for ONNX Runtime alone"
         : r->targets & TL_RULE_ORT     ? ", for the NPU and ONNX Runtime"
                                        : ", for the NPU alone";
}

/* Adds the table of a pass's rules. */
static void add_rules(document *d, tl_sv pass) {
  tl_buf_add_z(d->out, "| rule | what it does | kind | numerics | chips |\n"
                       "|---|---|---|---|---|\n");
  for (uint32_t i = 0; i < rules_of(d)->rules.n; i++) {
    const tl_rule *r = rules_of(d)->rules.at[i];
    if (!is_documented(r) || !tl_rule_leads(r) || !tl_sv_eq(pass_of(d, i), pass))
      continue;
    tl_sv name = tl_sym(d->rules[0]->m, r->name);
    tl_buf_printf(d->out, "| [`%.*s`](../%s) | %.*s | %s%s | %s | ", TL_SV_ARG(name), r->file,
                  TL_SV_ARG(r->about), tl_rule_kind_name(r), target_of(r),
                  tl_rule_numerics_name(r));
    add_chips(d, i);
    tl_buf_add_z(d->out, " |\n");
  }
}

/* Adds the section of a pass. */
static void add_pass(document *d, const tl_fusion_name *row) {
  static const char *const close[] = {"may be switched off", "a switch file cannot switch it off",
                                      "neither a switch file nor level O1 can switch it off"};
  bool scope = row->kind == TL_FUSION_SCOPE;
  tl_buf_printf(d->out, "\n## %s\n\n![before and after](fusions/%s.svg)\n\n", row->name, row->name);
  tl_buf_printf(d->out, "A %s pass, %s by default; %s.\n\n",
                tl_fusion_kind_name((tl_fusion_kind)row->kind), row->on ? "on" : "off",
                scope && !row->on ? "`--enable-scope-fusion-passes` switches it on"
                : scope           ? "`--disable-scope-fusion-passes` switches it off"
                                  : close[row->close]);
  add_rules(d, tl_sv_from(row->name));
}

/* ---- the passes ------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) {
  return strcmp(((const tl_fusion_name *)a)->name, ((const tl_fusion_name *)b)->name);
}

static bool is_listed(const document *d, const tl_fusion_name *at, tl_sv name) {
  for (uint32_t i = 0; i < d->n; i++)
    if (tl_sv_is(name, at[i].name))
      return true;
  return false;
}

/* Lists the names of the table, and public names of rules that the table lacks, in order. False if
 * memory is out. */
static bool list_passes(document *d) {
  uint32_t n, rules = rules_of(d)->rules.n;
  const tl_fusion_name *table = tl_fusion_names(&n);
  tl_arena *arena = &d->rules[0]->m->arena;
  tl_fusion_name *at = tl_arena_calloc(arena, (size_t)n + rules, sizeof *at);
  if (!at)
    return false;
  memcpy(at, table, n * sizeof *at);
  d->n = n;
  for (uint32_t i = 0; i < rules; i++) {
    const tl_rule *r = rules_of(d)->rules.at[i];
    tl_sv name = pass_of(d, i);
    if (!is_documented(r) || is_listed(d, at, name))
      continue;
    const char *copy = tl_arena_copy(arena, name.p, name.n);
    if (!copy)
      return false;
    at[d->n++] = (tl_fusion_name){copy, r->pass_kind, TL_CLOSE_MAY, true};
  }
  qsort(at, d->n, sizeof *at, by_name);
  d->at = at;
  return true;
}

/* Adds the names that are accepted but have no rule here. */
static void add_names(document *d) {
  tl_buf_add_z(d->out,
               "\n## Names without a rule\n\nSwitch files and options accept these names, too, "
               "and those of UB passes ([ub-fusion.md](ub-fusion.md)).\nThey have no rule: "
               "the op table does their work ([ops.md](ops.md)), or only the device "
               "compiler\ndoes.\n\n");
  bool any = false;
  for (uint32_t i = 0; i < d->n; i++)
    if (d->at[i].kind != TL_FUSION_UB && !has_rules(d, tl_sv_from(d->at[i].name))) {
      tl_buf_printf(d->out, "%s`%s`", any ? ",\n" : "", d->at[i].name);
      any = true;
    }
  tl_buf_add_z(d->out, ".\n");
}

/* Adds the document: how to read it, a section for each pass with rules, and the other names. */
static void add_all(document *d) {
  tl_buf_add_z(d->out,
               "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
               "<!-- Written by `tailor --generate=fusions`, pictures by scripts/fusion-pictures; "
               "`make update` renews both. -->\n# Which fusions are there?\n\n"
               "The fusion passes under the names of the device compiler, each with its rules. The "
               "picture shows the first case of the\nfirst rule in `tests/golden/rules`. How to "
               "switch them: [fusion-switch.md](fusion-switch.md). How to read a rule:\n"
               "[rules.md](rules.md). Why one did not fire: `tailor explain MODEL --fusion`.\n\n"
               "*Numerics*: exact, the same bits; reassociating, other rounding; approximate, "
               "within a tolerance and only with\n`--numerics=approximate`. *Chips*: families "
               "that have the op that the rule produces; the rule is off for others.\n");
  for (uint32_t i = 0; i < d->n; i++)
    if (has_rules(d, tl_sv_from(d->at[i].name)))
      add_pass(d, &d->at[i]);
  add_names(d);
}

void tl_document_fusions(tl_buf *out) {
  document d = {.out = out};
  bool ok = true;
  for (unsigned k = 0; k < N_LINES && ok; k++) {
    tl_options options = tl_options_default();
    options.chip = tl_soc_find(tl_sv_from(lines[k].chip), NULL);
    /* Rules of every class are documented, so the most permissive class is chosen. */
    options.numerics = TL_NUMERICS_APPROXIMATE;
    ok = tl_read_known_rules(&options, &d.diag, &d.rules[k]) == TL_OK;
  }
  if (ok && list_passes(&d))
    add_all(&d);
  for (unsigned k = 0; k < N_LINES; k++)
    tl_known_rules_release(d.rules[k]);
}
