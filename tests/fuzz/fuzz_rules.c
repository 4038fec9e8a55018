/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of rules: reading them must end with rules or an error; what was read is
 * applied to a small module, explained, and leaves a module that the verifier passes. */
#include <stdlib.h>

#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "ir/verify/verify.h"
#include "passes/edit/passes.h"
#include "passes/engine/rewrite.h"
#include "passes/engine/ruleset.h"
#include "tests/fuzz/target.h"

enum { MOST_REWRITES = 64, ROUNDS = 4 };

static const char model[] =
    "graph @g(%x: f32[2,3], %n: f32[N,3], %k: i64[2], %c: bool[]) -> (%y, %z, %o) {\n"
    "  const %two: f32[] = 2.0\n"
    "  const %w: f32[3,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]\n"
    "  const %p: i64[2] = [3, 2]\n"
    "  %a = Relu(%x) @a\n"
    "  %b = Add(%a, %two) @b\n"
    "  %d = Mul(%b, %a) @d label $1\n"
    "  %e = Neg(%d) @e stream 1 after $1\n"
    "  %s, %t = Split(%n) {axis=0, num_outputs=2}\n"
    "  %u = Concat(%s, %x, %t) {axis=0}\n"
    "  %m = MatMul(%u, %w) @net/head/m\n"
    "  %y = Softmax(%m) @net/head/y {axis=1}\n"
    "  %r = Reshape(%e, %p) meta \"namespace\" \": Net/tail: Tail/r: view\"\n"
    "  %o = Transpose(%r) {perm=[1, 0]} scope \"call/tail\"\n"
    "  %z = If(%c) {then_branch=graph @t() -> (%v) {\n    %v = Relu(%b)\n  },\n"
    "    else_branch=graph @f() -> (%q) {\n    %i = Relu(%x)\n    %q = Relu(%i)\n  }}\n"
    "}\n";

static void listen(void *user, const tl_remark *r) {
  (void)user;
  if (!r->message || (r->fusion && r->fusion->rule.n == 0))
    abort();
}

static void apply(tl_module *m, tl_ruleset *set) {
  tl_options options = tl_options_default();
  uint64_t rewrites = 0;
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  options.numerics = TL_NUMERICS_APPROXIMATE;
  tl_engine_state engine = {.sets = {set}};
  tl_pass pass = {.name = "fuzz",
                  .options = &options,
                  .scratch = &scratch,
                  .remark = listen,
                  .engine = &engine,
                  .explain = true,
                  .rewrites = &rewrites,
                  .limit = MOST_REWRITES};
  tl_status status = tl_rules_configure(set, &options);
  if (status == TL_OK)
    status = tl_pass_scope_fusion(&pass, m);
  for (int kind = 0; kind < TL_N_RULE_KINDS && status == TL_OK; kind++)
    if (kind != TL_RULE_SCOPE && kind != TL_RULE_CAPTURE)
      status = tl_rewrite(&(tl_rewriter){
          .pass = &pass, .m = m, .set = set, .kind = (tl_rule_kind)kind, .rounds = ROUNDS});
  if (status != TL_OK && m->diag->errors == 0)
    abort();
  if (status == TL_OK && tl_module_verify(m, TL_VERIFY_STRUCTURAL) != TL_OK)
    abort();
  tl_arena_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_diag diag = {0};
  tl_module *m = NULL;
  tl_ruleset set;
  if (tl_module_parse(&diag, "-", (tl_sv){model, sizeof model - 1}, &m) != TL_OK ||
      tl_infer_module(m) != TL_OK)
    abort();
  tl_ruleset_init(&set, m);
  tl_status status = tl_rules_parse(&set, "fuzz", (tl_sv){(const char *)data, size}, true);
  if ((status == TL_OK) != (diag.errors == 0))
    abort();
  if (status == TL_OK)
    apply(m, &set);
  tl_ruleset_release(&set);
  tl_module_destroy(m);
  return 0;
}
