/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/memory/search.h"

#include <string.h>

enum { TABLE = 4096, MOST_SETS = TABLE / 2, MOST_USES = 512 };

/* A buffer that nodes of the part read, or that they make. */
typedef struct local {
  uint64_t bytes;
  uint64_t users; /* nodes of the part that read it */
  bool stays;     /* a node behind the part reads it */
} local;

/* One search. Nodes are bits, by their place in the part. */
typedef struct part_state {
  tl_search *s;
  const tl_part *part;
  uint32_t n;
  uint64_t before[TL_SEARCH_MOST_NODES]; /* nodes of the part that run before it */
  uint64_t made[TL_SEARCH_MOST_NODES];   /* bytes of results */
  uint64_t kept[TL_SEARCH_MOST_NODES];   /* those that somebody reads */
  uint64_t first[TL_SEARCH_MOST_NODES];  /* the first result */
  uint32_t first_use[TL_SEARCH_MOST_NODES + 1];
  local use[MOST_USES]; /* by node: what it reads */
  bool gives[MOST_USES];
  uint32_t sets;
  uint32_t *order;
} part_state;

bool tl_search_init(tl_search *s, const tl_flow *f, tl_arena *a) {
  enum { SETS_A_NODE = 8, MOST_FREE = 8192 };
  s->f = f;
  s->seen = tl_arena_calloc(a, TABLE, sizeof *s->seen);
  s->budget = f->n_nodes < UINT32_MAX / 16 ? f->n_nodes * SETS_A_NODE + MOST_FREE : UINT32_MAX;
  return s->seen != NULL;
}

static local describe(const tl_flow *f, const tl_part *p, uint32_t buffer) {
  const tl_flow_buffer *b = &f->buffers[buffer];
  const uint32_t *users = f->users + b->first_user;
  local l = {.bytes = b->bytes, .stays = users[b->n_users - 1] >= p->to};
  uint32_t low = 0, high = b->n_users;
  while (low < high) { /* the first user in the part */
    uint32_t middle = low + (high - low) / 2;
    if (users[middle] < p->from)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < b->n_users && users[low] < p->to; low++)
    l.users |= UINT64_C(1) << (users[low] - p->from);
  return l;
}

/* Reads the part. False if it has too many uses. */
static bool read_part(part_state *state) {
  const tl_flow *f = state->s->f;
  uint32_t n_uses = 0;
  for (uint32_t i = 0; i < state->n; i++) {
    const tl_flow_node *n = &f->nodes[state->part->from + i];
    state->first_use[i] = n_uses;
    if (n_uses + n->n_uses > MOST_USES)
      return false;
    for (uint32_t k = n->first_use; k < n->first_use + n->n_uses; k++) {
      state->gives[n_uses] = f->gives[k];
      state->use[n_uses++] = describe(f, state->part, f->uses[k]);
    }
    state->before[i] = state->kept[i] = 0;
    state->made[i] = n->work;
    state->first[i] = n->n_results ? f->buffers[n->first_result].bytes : 0;
    for (uint32_t b = n->first_result; b < n->first_result + n->n_results; b++) {
      state->made[i] += f->buffers[b].bytes;
      state->kept[i] += f->buffers[b].n_users ? f->buffers[b].bytes : 0;
    }
    for (uint32_t k = n->first_before; k < n->first_before + n->n_before; k++)
      if (f->before[k] >= state->part->from)
        state->before[i] |= UINT64_C(1) << (f->before[k] - state->part->from);
  }
  state->first_use[state->n] = n_uses;
  return true;
}

/* What a node does when the nodes of `done` have run: bytes in use while it runs, and behind it. */
typedef struct effect {
  uint64_t during;
  uint64_t behind;
} effect;

static effect effect_of(const part_state *state, uint64_t done, uint32_t node, uint64_t live) {
  uint64_t freed = 0;
  bool over = false;
  for (uint32_t k = state->first_use[node]; k < state->first_use[node + 1]; k++) {
    const local *l = &state->use[k];
    if (l->stays || (l->users & ~done) != UINT64_C(1) << node)
      continue;
    freed += l->bytes;
    over = over || state->gives[k];
  }
  return (effect){live + state->made[node] - (over ? state->first[node] : 0),
                  live + state->kept[node] - freed};
}

/* Notes a set of nodes; false if it was tried before. A set is never empty. */
static bool is_new(part_state *state, uint64_t set) {
  uint64_t at = set * UINT64_C(0x9e3779b97f4a7c15) >> 52;
  for (; state->s->seen[at]; at = (at + 1) % TABLE)
    if (state->s->seen[at] == set)
      return false;
  state->s->seen[at] = set;
  state->sets++;
  return true;
}

/* Takes the ready node that leaves the fewest bytes, among those not in `tried`. */
static uint32_t next_of(const part_state *state, uint64_t done, uint64_t tried, uint64_t live,
                        uint64_t limit) {
  uint32_t best = UINT32_MAX;
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < state->n; i++) {
    if ((done | tried) >> i & 1 || state->before[i] & ~done)
      continue;
    effect e = effect_of(state, done, i, live);
    if (e.during <= limit && e.behind < least) {
      least = e.behind;
      best = i;
    }
  }
  return best;
}

/* A node on the way, and the others that were tried in its place. */
typedef struct step {
  uint64_t done; /* before it */
  uint64_t tried;
  uint64_t live; /* before it */
} step;

/* Goes forward while some node stays below the limit, else back. */
static bool search(part_state *state, uint64_t limit) {
  step at[TL_SEARCH_MOST_NODES + 1];
  uint32_t depth = 0;
  at[0] = (step){0, 0, state->part->live};
  while (depth < state->n) {
    step *here = &at[depth];
    uint32_t node = next_of(state, here->done, here->tried, here->live, limit);
    if (node == UINT32_MAX || state->sets >= MOST_SETS || state->sets >= state->s->budget) {
      if (depth == 0 || state->sets >= MOST_SETS || state->sets >= state->s->budget)
        return false;
      depth--;
      continue;
    }
    uint64_t bit = UINT64_C(1) << node;
    here->tried |= bit;
    if (!is_new(state, here->done | bit))
      continue;
    state->order[depth] = node;
    at[depth + 1] =
        (step){here->done | bit, 0, effect_of(state, here->done, node, here->live).behind};
    depth++;
  }
  return true;
}

static uint64_t peak_of(const part_state *state) {
  uint64_t done = 0, live = state->part->live, peak = 0;
  for (uint32_t i = 0; i < state->n; i++) {
    effect e = effect_of(state, done, state->order[i], live);
    peak = e.during > peak ? e.during : peak;
    live = e.behind;
    done |= UINT64_C(1) << state->order[i];
  }
  return peak;
}

bool tl_search_run(tl_search *s, const tl_part *part, uint64_t limit, uint32_t *order,
                   uint64_t *peak) {
  uint32_t found[TL_SEARCH_MOST_NODES];
  part_state state = {.s = s, .part = part, .n = part->to - part->from, .order = found};
  if (part->to - part->from > TL_SEARCH_MOST_NODES || s->budget == 0 || !read_part(&state))
    return false;
  memset(s->seen, 0, TABLE * sizeof *s->seen);
  bool ok = search(&state, limit);
  s->budget -= state.sets < s->budget ? state.sets : s->budget;
  if (!ok)
    return false;
  *peak = peak_of(&state);
  for (uint32_t i = 0; i < state.n; i++)
    order[i] = part->from + found[i];
  return true;
}
