/* SPDX-License-Identifier: Apache-2.0 */
/* Matches chains of the table from their heads along the users, depth first.
 * Of several ways to match, the first complete one counts, and more nodes are tried before
 * fewer. */
#include <stdio.h>

#include "passes/ub/group.h"

enum { MOST_USERS = 10, MOST_TRIES = 64, MOST_TEXT = 256 };

typedef struct match {
  tl_ub_fuser *f;
  const tl_ub_chain *c;
  uint32_t at[TL_UB_MOST_NODES]; /* positions */
  uint8_t step[TL_UB_MOST_NODES];
  uint8_t n;
  uint8_t bound[TL_UB_MOST_STEPS]; /* 1 + index into at[] of the step's last node, 0: missing */
  uint32_t tries;
  bool whole;      /* all steps and users fitted once, whatever came then */
  tl_ub_miss miss; /* the deepest; code NULL: none */
  char text[MOST_TEXT];
} match;

/* ---- why not --------------------------------------------------------------------------------- */

/* Keeps the reason of the deepest partial match. what: the node that does not fit; 0: the group as
 * a whole. */
static void note(match *ctx, const char *code, uint32_t what, const char *reason) {
  if (!ctx->f->pass->explain || (ctx->miss.code && ctx->n < ctx->miss.n_nodes))
    return;
  ctx->miss.code = code;
  ctx->miss.n_nodes = 0;
  for (uint32_t i = 0; i < ctx->n; i++)
    ctx->miss.nodes[ctx->miss.n_nodes++] = ctx->at[i];
  tl_sv name = what ? tl_node_where(ctx->f->m, ctx->f->g->at[what].id).node : TL_SV("");
  snprintf(ctx->text, sizeof ctx->text, what ? "`%.*s`: %s" : "%.*s%s",
           (int)(name.n < MOST_TEXT / 2 ? name.n : MOST_TEXT / 2), name.p ? name.p : "", reason);
}

/* ---- one node -------------------------------------------------------------------------------- */

static bool is_of_kind(const tl_ub_graph *g, const tl_ub_chain *c, const tl_ub_step *step,
                       uint32_t at) {
  const tl_ub_node *node = &g->at[at];
  if (node->class == TL_UB_NONE)
    return false;
  if (step->classes >> node->class & 1)
    return true;
  if (step->n_types == 0)
    return false;
  tl_sv type = tl_op_name(g->m, tl_node_get(g->m, node->id)->op);
  for (uint8_t i = 0; i < step->n_types; i++)
    if (tl_sv_eq(type, tl_ub_chain_type(c, step, i)))
      return true;
  return false;
}

/* Counts operands that are given; absent optional ones do not count. */
static bool has_operands(const match *ctx, uint32_t at, uint8_t wanted) {
  const tl_node *node = tl_node_get(ctx->f->m, ctx->f->g->at[at].id);
  uint32_t given = 0;
  for (uint32_t i = 0; i < node->n_operands; i++)
    given += tl_operand(ctx->f->m, ctx->f->g->at[at].id, i) != TL_NO_VALUE;
  return wanted == 0 || given == wanted;
}

static bool is_member(const match *ctx, uint32_t at) {
  for (uint8_t i = 0; i < ctx->n; i++)
    if (ctx->at[i] == at)
      return true;
  return false;
}

/* Returns true if a node that fits by kind is in no group yet and nothing else prevents it. */
static bool is_free(match *ctx, uint32_t at) {
  const tl_ub_graph *g = ctx->f->g;
  const char *reason;
  const char *code = tl_ub_refused(ctx->f, at, &reason);
  if (!code && tl_ub_is_grouped(g, at)) {
    code = "OVERLAP";
    reason = "it is in another kernel";
  }
  if (!code && ctx->c->dynamic && !g->at[at].dynamic)
    return false; /* others take these */
  if (!code && !ctx->c->dynamic && g->at[at].dynamic) {
    code = "DYNAMIC";
    reason = "it has sizes that are not known";
  }
  if (code)
    note(ctx, code, at, reason);
  return !code;
}

/* Returns true if the node takes results of another member, in the shape in which they come. */
static bool takes_from(match *ctx, uint32_t at, uint32_t from) {
  const tl_ub_graph *g = ctx->f->g;
  const tl_node *node = tl_node_get(ctx->f->m, g->at[at].id);
  bool takes = false;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(ctx->f->m, g->at[at].id, i);
    if (tl_ub_producer(g, v) != from)
      continue;
    takes = true;
    if (!tl_ub_fits_shape(g, at, v)) {
      note(ctx, "SHAPE", at, "its result does not have the shape of its operand from the kernel");
      return false;
    }
  }
  return takes;
}

static bool takes_arguments(match *ctx, const tl_ub_step *step, uint32_t at) {
  for (uint8_t i = 0; i < step->n_args; i++) {
    uint8_t from = step->args[i] == TL_UB_PREVIOUS ? ctx->n : ctx->bound[step->args[i]];
    if (from == 0 || !takes_from(ctx, at, ctx->at[from - 1]))
      return false;
  }
  return true;
}

/* Cheap tests come first: this runs for each node and step. */
static bool fits(match *ctx, const tl_ub_step *step, uint32_t at) {
  if (!is_of_kind(ctx->f->g, ctx->c, step, at) || is_member(ctx, at) ||
      !has_operands(ctx, at, step->operands) || !is_free(ctx, at))
    return false;
  if (ctx->n == 0)
    return true;
  const char *reason;
  const char *code = tl_ub_differ(ctx->f, ctx->at[0], at, &reason);
  if (code)
    note(ctx, code, at, reason);
  return !code && takes_arguments(ctx, step, at);
}

/* ---- the group ------------------------------------------------------------------------------- */

/* Compares the number of users outside the chain with what the step allows. */
static bool may_have_outside(uint8_t allowed, uint32_t outside) {
  return allowed == TL_UB_AT_WILL || (allowed == TL_UB_SOME ? outside > 0 : outside == allowed);
}

static void note_users(match *ctx, uint32_t at, bool only_output) {
  note(ctx, only_output ? "GRAPH_OUTPUT" : "MULTI_CONSUMER", at,
       only_output ? "its result is used outside the graph too"
                   : "nodes outside the kernel use its results");
}

static bool is_elementwise(const tl_ub_graph *g, uint32_t at) {
  return g->at[at].class == TL_UB_ELEMWISE || g->at[at].class == TL_UB_BROADCAST;
}

/* Returns true if elementwise nodes behind the chain lead to another user of the shared value. Then
 * all of them are one plain chain, which a later pass takes and keeps the value inside. */
static bool comes_back(const match *ctx, uint32_t shared) {
  const tl_ub_graph *g = ctx->f->g;
  uint32_t at = ctx->at[ctx->n - 1];
  for (uint8_t n = ctx->n; n < TL_UB_MOST_NODES; n++) {
    uint32_t users[MOST_USERS], others;
    if (tl_ub_users(g, at, users, MOST_USERS, &others) != 1 || others || is_member(ctx, users[0]) ||
        !is_elementwise(g, users[0]) || tl_ub_is_grouped(g, users[0]))
      return false;
    at = users[0];
    const tl_node *node = tl_node_get(ctx->f->m, g->at[at].id);
    for (uint32_t i = 0; i < node->n_operands; i++)
      if (tl_ub_producer(g, tl_operand(ctx->f->m, g->at[at].id, i)) == shared)
        return true;
  }
  return false;
}

/* Checks the users outside the chain. A last member without users inside may have any users. */
static bool users_are_as_said(match *ctx) {
  for (uint8_t i = 0; i < ctx->n; i++) {
    uint32_t users[MOST_USERS], others;
    uint32_t n = tl_ub_users(ctx->f->g, ctx->at[i], users, MOST_USERS, &others);
    uint32_t inside = 0;
    for (uint32_t k = 0; k < n && n <= MOST_USERS; k++)
      inside += is_member(ctx, users[k]);
    uint8_t allowed = ctx->c->steps[ctx->step[i]].outside;
    bool ends = inside == 0 && i + 1 == ctx->n;
    if (ends || (n <= MOST_USERS && may_have_outside(allowed, n - inside + others))) {
      if (!ends && allowed == TL_UB_SOME && n == 2 && !others && comes_back(ctx, ctx->at[i]))
        return false;
      continue;
    }
    if (allowed == 0)
      note_users(ctx, ctx->at[i], n == inside);
    return false;
  }
  return true;
}

/* Cube and vector nodes share a kernel only on chips without separate cores, or in mixed chains. */
static bool cores_agree(match *ctx) {
  bool cube = false, vector = false;
  for (uint8_t i = 0; i < ctx->n; i++) {
    cube = cube || ctx->f->g->at[ctx->at[i]].core == TL_UB_CORE_CUBE;
    vector = vector || ctx->f->g->at[ctx->at[i]].core == TL_UB_CORE_VECTOR;
  }
  if (!ctx->f->split || ctx->c->mixed || !cube || !vector)
    return true;
  note(ctx, "UNSUPPORTED", 0, "the chip has separate cores for cube and vector nodes");
  return false;
}

/* Accepts a complete match: checks users, switches and cores, then joins the group. A failed join
 * takes back the rewrite that was counted. */
static bool accept(match *ctx) {
  if (ctx->n < 2 || !users_are_as_said(ctx))
    return false;
  ctx->whole = true;
  if (ctx->c->off)
    note(ctx, "SWITCH_OFF", 0, ctx->c->off);
  if (ctx->c->off || !cores_agree(ctx))
    return false;
  if (!tl_pass_may_rewrite(ctx->f->pass)) {
    ctx->f->stopped = true;
    return false;
  }
  tl_ub_joined joined = tl_ub_join(ctx->f->g, ctx->at, ctx->n);
  if (joined == TL_UB_JOINED)
    return true;
  --*ctx->f->pass->rewrites;
  ctx->f->pass->changed--;
  ctx->f->g->no_memory = ctx->f->g->no_memory || joined == TL_UB_NO_MEMORY;
  if (joined == TL_UB_CYCLE)
    note(ctx, "CYCLE", 0, "a path leaves the kernel and comes back to it");
  else
    note(ctx, "BUDGET", 0, "there are too many nodes in between to rule out a cycle");
  return false;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool extend(match *ctx, uint8_t step, uint8_t times);

/* Adds a node and goes on; removes it again if that does not lead to a match. */
static bool push(match *ctx, uint8_t step, uint8_t times, uint32_t at) {
  uint8_t bound = ctx->bound[step];
  ctx->at[ctx->n] = at;
  ctx->step[ctx->n++] = step;
  ctx->bound[step] = ctx->n;
  if (extend(ctx, step, times + 1))
    return true;
  ctx->bound[step] = bound;
  ctx->n--;
  return false;
}

/* Tries the users of the node that a step takes from. If only this step may use it, any other user
 * ends the search. */
static bool try_users(match *ctx, uint8_t step, uint8_t times) {
  const tl_ub_step *s = &ctx->c->steps[step];
  uint8_t from = times || s->args[0] == TL_UB_PREVIOUS ? ctx->n : ctx->bound[s->args[0]];
  if (from == 0 || ctx->n == TL_UB_MOST_NODES || ++ctx->tries > MOST_TRIES)
    return false;
  uint32_t users[MOST_USERS], others;
  uint32_t n = tl_ub_users(ctx->f->g, ctx->at[from - 1], users, MOST_USERS, &others);
  uint8_t source = ctx->step[from - 1];
  bool alone = ctx->c->steps[source].outside == 0 && !ctx->c->shared[source];
  if (n > MOST_USERS || (alone && n + others != 1)) {
    for (uint32_t i = 0; i < n && n <= MOST_USERS; i++)
      if (is_of_kind(ctx->f->g, ctx->c, s, users[i])) {
        note_users(ctx, ctx->at[from - 1], n == 1);
        break;
      }
    return false;
  }
  for (uint32_t i = 0; i < n; i++)
    if (fits(ctx, s, users[i]) && push(ctx, step, times, users[i]))
      return true;
  return false;
}

/* Takes one more node for this step, else goes on to the next step. */
static bool extend(match *ctx, uint8_t step, uint8_t times) {
  if (ctx->f->stopped || ctx->f->g->no_memory)
    return false;
  if (step == ctx->c->n_steps)
    return accept(ctx);
  const tl_ub_step *s = &ctx->c->steps[step];
  if (times < s->most && ctx->n && try_users(ctx, step, times))
    return true;
  return times >= s->least && extend(ctx, step + 1, 0);
}

static uint32_t least_nodes(const tl_ub_chain *c) {
  uint32_t n = 0;
  for (uint8_t i = 0; i < c->n_steps; i++)
    n += c->steps[i].least;
  return n < 2 ? 2 : n;
}

/* Returns true if a user of the head would be the next node. Otherwise the head is no near miss and
 * is not reported. */
static bool leads_on(const match *ctx, uint8_t step, uint32_t at) {
  uint32_t users[MOST_USERS], others;
  uint32_t n = tl_ub_users(ctx->f->g, at, users, MOST_USERS, &others);
  uint8_t k = ctx->c->steps[step].most > 1 ? step : step + 1;
  for (bool more = true; more && k < ctx->c->n_steps; k++) {
    for (uint32_t i = 0; i < n && n <= MOST_USERS; i++)
      if (is_of_kind(ctx->f->g, ctx->c, &ctx->c->steps[k], users[i]))
        return true;
    more = k == step || ctx->c->steps[k].least == 0;
  }
  return false;
}

/* Tries a match that starts with a node as this step of the chain. */
static void try_head(tl_ub_fuser *f, const tl_ub_chain *c, uint32_t row, uint32_t at,
                     uint8_t step) {
  match ctx; /* most of it is filled as it is needed: this runs for each node and chain */
  ctx.f = f;
  ctx.c = c;
  ctx.n = 0;
  ctx.tries = 0;
  ctx.whole = false;
  memset(ctx.bound, 0, sizeof ctx.bound);
  ctx.miss =
      (tl_ub_miss){.pass = c->pass, .reason = ctx.text, .head = at, .wanted = least_nodes(c)};
  if (!fits(&ctx, &c->steps[step], at)) {
    if (ctx.miss.code && leads_on(&ctx, step, at))
      tl_ub_note(f, &ctx.miss);
    return;
  }
  bool joined = push(&ctx, step, 0, at);
  if (joined)
    f->g->at[f->g->at[at].leader].chain = row + 1;
  f->matched += ctx.whole;
  if (!joined && ctx.miss.code && !f->stopped)
    tl_ub_note(f, &ctx.miss);
}

void tl_ub_run_chain(tl_ub_fuser *f, const tl_ub_chain *c, uint32_t row) {
  for (uint8_t step = 0; step < c->n_heads; step++)
    for (uint32_t at = 1; at <= f->g->n && !f->stopped && !f->g->no_memory; at++)
      if (f->g->at[at].leader == at && f->g->at[at].size == 1 &&
          is_of_kind(f->g, c, &c->steps[step], at))
        try_head(f, c, row, at, step);
}
