/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables of names for the self-check (check.c), which keep it linear in nodes and graphs. */
#include "backend/air/check_names.h"

#include <stdlib.h>

#include "support/hash.h"
#include "support/pages.h"
#include "support/str.h"

/* ---- nodes ---- */

static uint32_t hash_of(tl_air_bytes name) {
  return (uint32_t)tl_hash_bytes(name.p, (size_t)(name.end - name.p), 1);
}

/* Returns the slot of the node of that name, or the free slot where it belongs. */
static tl_air_seen *find_seen(const tl_air_seen_table *t, tl_air_bytes name, uint32_t hash) {
  size_t n = (size_t)(name.end - name.p);
  uint32_t i = hash & (t->n_slots - 1);
  for (; t->slots[i].name; i = (i + 1) & (t->n_slots - 1)) {
    const tl_air_seen *s = &t->slots[i];
    if (s->hash == hash && s->length == n && memcmp(s->name, name.p, n) == 0)
      break;
  }
  return &t->slots[i];
}

const tl_air_seen *tl_air_seen_find(const tl_air_seen_table *t, tl_air_bytes name) {
  const tl_air_seen *s = t->n_slots ? find_seen(t, name, hash_of(name)) : NULL;
  return s && s->name ? s : NULL;
}

/* Doubles the table at a load of 3/4 and inserts all nodes again. */
static bool widen(tl_air_seen_table *t) {
  if (t->n_slots && t->n < t->n_slots / 4 * 3)
    return true;
  tl_air_seen_table wide = {.n_slots = t->n_slots ? t->n_slots * 2 : 1024, .n = t->n};
  wide.slots = wide.n_slots ? tl_pages_alloc(wide.n_slots, sizeof *wide.slots) : NULL;
  if (!wide.slots)
    return false;
  for (uint32_t i = 0; i < t->n_slots; i++) {
    uint32_t k = t->slots[i].hash & (wide.n_slots - 1);
    while (t->slots[i].name && wide.slots[k].name)
      k = (k + 1) & (wide.n_slots - 1);
    if (t->slots[i].name)
      wide.slots[k] = t->slots[i];
  }
  tl_air_seen_release(t);
  *t = wide;
  return true;
}

uint32_t tl_air_seen_ahead(const tl_air_seen_table *t, tl_air_bytes name) {
  uint32_t hash = hash_of(name);
  if (t->n_slots)
    tl_prefetch(&t->slots[hash & (t->n_slots - 1)]);
  return hash;
}

bool tl_air_seen_add(tl_air_seen_table *t, tl_air_bytes name, uint32_t hash, uint32_t graph,
                     uint32_t n_outputs, bool *twice) {
  if (!widen(t))
    return false;
  tl_air_seen *s = find_seen(t, name, hash);
  *twice = s->name != NULL;
  if (!*twice) {
    *s = (tl_air_seen){name.p, (uint32_t)(name.end - name.p), hash, graph, n_outputs};
    t->n++;
  }
  return true;
}

void tl_air_seen_release(tl_air_seen_table *t) {
  tl_pages_free(t->slots, t->n_slots, sizeof *t->slots);
  *t = (tl_air_seen_table){0};
}

/* ---- keys ---- */

#define KEY(z)                                                                                     \
  { (z), sizeof(z) - 1 }

static const tl_sv keys[] = {KEY("_input_name_key"),  KEY("_input_name_value"),
                             KEY("_ir_inputs_key"),   KEY("_ir_inputs_value"),
                             KEY("_ir_outputs_key"),  KEY("_ir_outputs_value"),
                             KEY("_output_name_key"), KEY("_output_name_value"),
                             KEY("_ir_attr_names"),   KEY("_opt_input")};

tl_sv tl_air_bookkeeping_key(int which) { return keys[which]; }

bool tl_air_has_bookkeeping(const tl_module *m) {
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (tl_symbol_find(&m->symbols, keys[i]) != TL_NO_SYMBOL)
      return true;
  return false;
}

int tl_air_bookkeeping(tl_air_bytes key) {
  size_t n = (size_t)(key.end - key.p);
  if (n < 2 || key.p[0] != '_' || (key.p[1] != 'i' && key.p[1] != 'o'))
    return -1;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (tl_sv_eq((tl_sv){(const char *)key.p, n}, keys[i]))
      return (int)i;
  return -1;
}

/* ---- graphs ---- */

/* A slot of the table of graph names. */
typedef struct slot {
  uint32_t graph; /* number of the graph + 1, 0: free */
  bool taken;     /* a node refers to it */
} slot;

/* Returns the slot of the graph of that name, or the free slot where it belongs. */
static slot *find(slot *slots, uint32_t n_slots, tl_air_spans graphs, tl_air_bytes name) {
  uint32_t k = (uint32_t)tl_hash_bytes(name.p, (size_t)(name.end - name.p), 2) & (n_slots - 1);
  while (slots[k].graph && !tl_air_same(graphs.at[slots[k].graph - 1], name))
    k = (k + 1) & (n_slots - 1);
  return &slots[k];
}

/* Enters all graphs, then follows all references. Graph 0 is the root, so a slot below 2 is none
 * that a node may refer to. With every reference legal and distinct, their number tells whether a
 * graph is left over. */
static const char *find_problem(slot *slots, uint32_t n_slots, tl_air_spans graphs,
                                tl_air_spans references) {
  for (uint32_t i = 0; i < graphs.n; i++) {
    slot *s = find(slots, n_slots, graphs, graphs.at[i]);
    if (s->graph)
      return "a graph name occurs twice";
    s->graph = i + 1;
  }
  for (uint32_t i = 0; i < references.n; i++) {
    slot *s = find(slots, n_slots, graphs, references.at[i]);
    if (s->graph < 2)
      return "a node refers to a subgraph that is not in the file";
    if (s->taken)
      return "two references to one subgraph";
    s->taken = true;
  }
  return references.n + 1 == graphs.n ? NULL : "a subgraph that no node refers to";
}

bool tl_air_check_subgraphs(tl_air_spans graphs, tl_air_spans references, const char **problem) {
  uint32_t n_slots = 64;
  while (n_slots / 2 < graphs.n && n_slots < UINT32_C(1) << 31)
    n_slots *= 2;
  slot *slots = calloc(n_slots, sizeof *slots);
  *problem = slots ? find_problem(slots, n_slots, graphs, references) : NULL;
  free(slots);
  return slots != NULL;
}
