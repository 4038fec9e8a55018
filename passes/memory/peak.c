/* SPDX-License-Identifier: Apache-2.0 */
/* What the buffers of a flow take while its nodes run: in a given order, and at least in any. */
#include <string.h>

#include "passes/memory/flow.h"

/* ---- in an order ----------------------------------------------------------------------------- */

uint64_t tl_flow_demand(const tl_flow *f, uint32_t node, const uint32_t *left) {
  const tl_flow_node *n = &f->nodes[node];
  uint64_t bytes = n->work;
  for (uint32_t i = 0; i < n->n_results; i++)
    bytes += f->buffers[n->first_result + i].bytes;
  for (uint32_t i = n->first_use; i < n->first_use + n->n_uses; i++)
    if (f->gives[i] && left[f->uses[i]] == 1)
      return bytes - f->buffers[n->first_result].bytes;
  return bytes;
}

/* Returns by how much the node changes the bytes that are in use behind it, and counts its reads
 * in `left`. */
static uint64_t run(const tl_flow *f, const tl_flow_node *n, uint32_t *left, uint64_t live) {
  for (uint32_t i = 0; i < n->n_results; i++)
    if (f->buffers[n->first_result + i].n_users)
      live += f->buffers[n->first_result + i].bytes;
  for (uint32_t i = n->first_use; i < n->first_use + n->n_uses; i++)
    if (--left[f->uses[i]] == 0)
      live -= f->buffers[f->uses[i]].bytes;
  return live;
}

void tl_flow_trace(const tl_flow *f, const uint32_t *order, uint32_t *left, uint64_t *bytes) {
  uint64_t live = 0;
  for (uint32_t b = 0; b < f->n_buffers; b++)
    left[b] = f->buffers[b].n_users;
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    uint32_t at = order ? order[i] : i;
    bytes[i] = live + tl_flow_demand(f, at, left);
    live = run(f, &f->nodes[at], left, live);
  }
}

uint64_t tl_flow_peak(const tl_flow *f, const uint32_t *order, uint32_t *left, uint32_t *at) {
  uint64_t live = 0, peak = 0;
  uint32_t where = 0;
  for (uint32_t b = 0; b < f->n_buffers; b++)
    left[b] = f->buffers[b].n_users;
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    uint32_t node = order ? order[i] : i;
    uint64_t bytes = live + tl_flow_demand(f, node, left);
    if (bytes > peak) {
      peak = bytes;
      where = node;
    }
    live = run(f, &f->nodes[node], left, live);
  }
  if (at)
    *at = where;
  return peak;
}

/* ---- in any order ---------------------------------------------------------------------------- */

/* Whatever the order, a buffer is there while a node runs if its producer is that node or one that
 * must run before it, and a user is that node or one that must run behind it. Which buffers these
 * are is propagated as sets of bits along the edges. To keep sets short, nodes are taken in chunks
 * with few buffers, and paths that leave a chunk are ignored: a set may lack a buffer, which makes
 * the bound lower, but never wrong. Buffers that cross chunks have slots of their own, the largest
 * of them at least. */
enum { WORDS = 8, LOCAL = WORDS * 64, SLOT_WORDS = 2, SLOTS = SLOT_WORDS * 64, NO_SLOT = 255 };

typedef struct bits {
  uint64_t at[WORDS];
} bits;

typedef struct slots {
  uint64_t at[SLOT_WORDS];
} slots;

typedef struct bounder {
  const tl_flow *f;
  uint32_t *chunk; /* by node: first node of its chunk */
  uint8_t *slot;   /* by buffer */
  uint64_t slot_bytes[SLOTS];
  slots *made;      /* by node: slots of producers that run before it, itself included */
  slots *wanted;    /* by node: slots that it or a node behind it reads */
  bits *local_made; /* of the chunk */
  bits *local_wanted;
  bool *can_give;  /* of the chunk: an operand may give its place to the result */
  uint32_t lo, hi; /* the chunk */
} bounder;

static uint32_t last_user(const tl_flow *f, const tl_flow_buffer *b) {
  return b->n_users ? f->users[b->first_user + b->n_users - 1] : b->producer;
}

static void cut_chunks(bounder *ctx) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < ctx->f->n_nodes; i++) {
    const tl_flow_node *n = &ctx->f->nodes[i];
    if (n->first_result + n->n_results - ctx->f->nodes[first].first_result > LOCAL ||
        i - first >= LOCAL)
      first = i;
    ctx->chunk[i] = first;
  }
}

/* Puts a buffer into the heap of those with slots, whose smallest is on top. */
static void offer(const tl_flow *f, uint32_t *heap, uint32_t *n, uint32_t b) {
  uint32_t i = 0;
  if (*n < SLOTS) {
    for (i = (*n)++; i && f->buffers[heap[(i - 1) / 2]].bytes > f->buffers[b].bytes;
         i = (i - 1) / 2)
      heap[i] = heap[(i - 1) / 2];
    heap[i] = b;
    return;
  }
  if (f->buffers[b].bytes <= f->buffers[heap[0]].bytes)
    return;
  for (uint32_t child = 1; child < SLOTS; child = 2 * i + 1) {
    if (child + 1 < SLOTS && f->buffers[heap[child + 1]].bytes < f->buffers[heap[child]].bytes)
      child++;
    if (f->buffers[heap[child]].bytes >= f->buffers[b].bytes)
      break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = b;
}

/* Gives slots to the largest buffers that are read beyond their chunk. */
static void take_slots(bounder *ctx) {
  const tl_flow *f = ctx->f;
  uint32_t heap[SLOTS], n = 0;
  for (uint32_t b = 0; b < f->n_buffers; b++) {
    ctx->slot[b] = NO_SLOT;
    if (ctx->chunk[last_user(f, &f->buffers[b])] != ctx->chunk[f->buffers[b].producer])
      offer(f, heap, &n, b);
  }
  for (uint32_t i = 0; i < n; i++) {
    ctx->slot[heap[i]] = (uint8_t)i;
    ctx->slot_bytes[i] = f->buffers[heap[i]].bytes;
  }
}

static void find_made(bounder *ctx) {
  const tl_flow *f = ctx->f;
  for (uint32_t i = 0; i < f->n_nodes; i++) {
    const tl_flow_node *n = &f->nodes[i];
    for (uint32_t k = 0; k < n->n_before; k++)
      for (int w = 0; w < SLOT_WORDS; w++)
        ctx->made[i].at[w] |= ctx->made[f->before[n->first_before + k]].at[w];
    for (uint32_t b = n->first_result; b < n->first_result + n->n_results; b++)
      if (ctx->slot[b] != NO_SLOT)
        ctx->made[i].at[ctx->slot[b] / 64] |= UINT64_C(1) << (ctx->slot[b] % 64);
  }
}

/* Index of a buffer among those of the chunk that stay in it; UINT32_MAX: it is none of them. */
static uint32_t local_of(const bounder *ctx, uint32_t b) {
  const tl_flow *f = ctx->f;
  uint32_t producer = f->buffers[b].producer;
  uint32_t i = b - f->nodes[ctx->lo].first_result;
  bool inside = producer >= ctx->lo && producer < ctx->hi && i < LOCAL &&
                last_user(f, &f->buffers[b]) < ctx->hi;
  return inside ? i : UINT32_MAX;
}

/* The sets of what is read at a node or behind it, and whether an operand may give its place: not
 * if a node behind reads it too. */
static void find_wanted(bounder *ctx, uint32_t i) {
  const tl_flow *f = ctx->f;
  const tl_flow_node *n = &f->nodes[i];
  slots far = {0};
  bits near = {0};
  for (uint32_t k = 0; k < n->n_after; k++) {
    uint32_t to = f->after[n->first_after + k];
    for (int w = 0; w < SLOT_WORDS; w++)
      far.at[w] |= ctx->wanted[to].at[w];
    for (int w = 0; to < ctx->hi && w < WORDS; w++)
      near.at[w] |= ctx->local_wanted[to - ctx->lo].at[w];
  }
  bool gives = false;
  ctx->wanted[i] = far;
  ctx->local_wanted[i - ctx->lo] = near;
  for (uint32_t k = n->first_use; k < n->first_use + n->n_uses; k++) {
    uint32_t b = f->uses[k], local = local_of(ctx, b);
    uint64_t *own = local != UINT32_MAX       ? &ctx->local_wanted[i - ctx->lo].at[local / 64]
                    : ctx->slot[b] != NO_SLOT ? &ctx->wanted[i].at[ctx->slot[b] / 64]
                                              : NULL;
    uint32_t bit = local != UINT32_MAX ? local % 64 : ctx->slot[b] % 64;
    uint64_t behind = local != UINT32_MAX       ? near.at[local / 64]
                      : ctx->slot[b] != NO_SLOT ? far.at[ctx->slot[b] / 64]
                                                : 0;
    gives = gives || (f->gives[k] && !(behind >> bit & 1));
    if (own)
      *own |= UINT64_C(1) << bit;
  }
  ctx->can_give[i - ctx->lo] = gives;
}

static void find_local_made(bounder *ctx, uint32_t i) {
  const tl_flow *f = ctx->f;
  const tl_flow_node *n = &f->nodes[i];
  bits near = {0};
  for (uint32_t k = 0; k < n->n_before; k++) {
    uint32_t from = f->before[n->first_before + k];
    for (int w = 0; from >= ctx->lo && w < WORDS; w++)
      near.at[w] |= ctx->local_made[from - ctx->lo].at[w];
  }
  for (uint32_t b = n->first_result; b < n->first_result + n->n_results; b++) {
    uint32_t local = local_of(ctx, b);
    if (local != UINT32_MAX)
      near.at[local / 64] |= UINT64_C(1) << (local % 64);
  }
  ctx->local_made[i - ctx->lo] = near;
}

/* Bytes that are in use while the node runs, in every order. */
static uint64_t forced(const bounder *ctx, uint32_t i) {
  const tl_flow *f = ctx->f;
  const tl_flow_node *n = &f->nodes[i];
  uint64_t sum = n->work;
  for (int w = 0; w < WORDS; w++) {
    uint64_t both = ctx->local_made[i - ctx->lo].at[w] & ctx->local_wanted[i - ctx->lo].at[w];
    for (; both; both &= both - 1)
      sum += f->buffers[f->nodes[ctx->lo].first_result + (uint32_t)w * 64 +
                        (uint32_t)__builtin_ctzll(both)]
                 .bytes;
  }
  for (int w = 0; w < SLOT_WORDS; w++)
    for (uint64_t both = ctx->made[i].at[w] & ctx->wanted[i].at[w]; both; both &= both - 1)
      sum += ctx->slot_bytes[w * 64 + __builtin_ctzll(both)];
  for (uint32_t k = n->first_use; k < n->first_use + n->n_uses; k++)
    if (ctx->slot[f->uses[k]] == NO_SLOT && local_of(ctx, f->uses[k]) == UINT32_MAX)
      sum += f->buffers[f->uses[k]].bytes;
  for (uint32_t b = n->first_result; b < n->first_result + n->n_results; b++)
    if (f->buffers[b].n_users == 0 || (ctx->slot[b] == NO_SLOT && local_of(ctx, b) == UINT32_MAX))
      sum += f->buffers[b].bytes;
  return ctx->can_give[i - ctx->lo] ? sum - f->buffers[n->first_result].bytes : sum;
}

static uint64_t bound_of_chunk(bounder *ctx) {
  uint64_t most = 0;
  for (uint32_t i = ctx->hi; i-- > ctx->lo;)
    find_wanted(ctx, i);
  for (uint32_t i = ctx->lo; i < ctx->hi; i++)
    find_local_made(ctx, i);
  for (uint32_t i = ctx->lo; i < ctx->hi; i++) {
    uint64_t bytes = forced(ctx, i);
    most = bytes > most ? bytes : most;
  }
  return most;
}

uint64_t tl_flow_bound(const tl_flow *f, tl_arena *scratch) {
  bounder ctx = {.f = f, .hi = f->n_nodes};
  uint32_t most = f->n_nodes < LOCAL ? f->n_nodes : LOCAL;
  tl_arena_mark mark = tl_arena_save(scratch);
  ctx.chunk = tl_arena_calloc(scratch, f->n_nodes, sizeof *ctx.chunk);
  ctx.slot = tl_arena_calloc(scratch, f->n_buffers, sizeof *ctx.slot);
  ctx.made = tl_arena_calloc(scratch, f->n_nodes, sizeof *ctx.made);
  ctx.wanted = tl_arena_calloc(scratch, f->n_nodes, sizeof *ctx.wanted);
  ctx.local_made = tl_arena_calloc(scratch, most, sizeof *ctx.local_made);
  ctx.local_wanted = tl_arena_calloc(scratch, most, sizeof *ctx.local_wanted);
  ctx.can_give = tl_arena_calloc(scratch, most, sizeof *ctx.can_give);
  if (!ctx.chunk || !ctx.slot || !ctx.made || !ctx.wanted || !ctx.local_made || !ctx.local_wanted ||
      !ctx.can_give)
    return UINT64_MAX;
  cut_chunks(&ctx);
  take_slots(&ctx);
  find_made(&ctx);
  uint64_t bound = 0;
  for (; ctx.hi; ctx.hi = ctx.lo) {
    ctx.lo = ctx.chunk[ctx.hi - 1];
    uint64_t bytes = bound_of_chunk(&ctx);
    bound = bytes > bound ? bytes : bound;
  }
  tl_arena_rewind(scratch, mark);
  return bound;
}
