/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates what nodes and collectives take on a machine, in microseconds.
 * The estimate comes from shapes and the figures of a preset, or from a user's profile, which takes
 * precedence. An unknown dim counts as 1. */
#ifndef TL_PASSES_TRAIN_TIME_COST_H
#define TL_PASSES_TRAIN_TIME_COST_H

#include "ir/module.h"
#include "passes/train/time/timeline.h"

/* Algorithms of a collective and the time of their AllReduce: n ranks, latency a, S bytes, rate
 * b. */
typedef enum tl_comm_algorithm {
  TL_COMM_RING,    /* 2(n-1) a + 2(n-1)/n S/b */
  TL_COMM_HALVING, /* 2 ceil(log2 n) a + 2(n-1)/n S/b, halving and doubling */
  TL_COMM_MESH,    /* 2 a + 2 (S/n)/b, n-1 links at once */
  TL_COMM_DIRECT   /* a + S/b: of tests */
} tl_comm_algorithm;

typedef enum tl_collective {
  TL_ALL_REDUCE,
  TL_ALL_GATHER,     /* S: bytes of the result */
  TL_REDUCE_SCATTER, /* S: bytes of the operand */
  TL_BROADCAST,
  TL_REDUCE
} tl_collective;

/* Links of one level. */
typedef struct tl_links {
  tl_comm_algorithm algorithm;
  double rate;    /* bytes a microsecond */
  double latency; /* us a step */
} tl_links;

/* One member a HW_FIELD of hw_presets.tbl, in the units given there. */
typedef struct tl_hw_preset {
  const char *name;
  uint8_t algorithm0; /* tl_comm_algorithm, within a server */
  uint8_t algorithm1; /* between servers */
#define HW_FIELD(member, unit, summary) double member;
#include "passes/train/time/hw_presets.tbl"
} tl_hw_preset;

/* Reads "NAME" or "NAME:field=value,...": a row of hw_presets.tbl with some figures replaced.
 * E-HW-PRESET, reported, for an unknown name or field, or a value out of range. */
tl_status tl_hw_preset_parse(tl_diag *d, tl_sv text, tl_hw_preset *out) TL_NODISCARD;
/* Returns row i of hw_presets.tbl, NULL beyond the last. */
const tl_hw_preset *tl_hw_preset_at(uint32_t i);

/* Returns the microseconds of an AllReduce of `bytes` among `ranks` over links of one level; 0 for
 * one rank. */
double tl_cost_all_reduce(const tl_links *links, uint32_t ranks, double bytes);

/* A machine with its profile; the caches make one instance unfit for several threads. */
typedef struct tl_costs {
  tl_hw_preset hw;
  uint32_t ranks;                 /* at least 1 */
  bool ge;                        /* nodes cost what GE's own estimate says: cycles of one core */
  struct tl_profile_row *profile; /* owned; sorted by name */
  uint32_t n_profile;
  const struct cost_row *
      *rows; /* [TL_N_OPS] owned: what was found of each op; NULL: nothing kept */
} tl_costs;

/* A time that a user measured. */
typedef struct tl_profile_row {
  tl_sv name; /* of a node, or of its first result */
  double us;
} tl_profile_row;

/* Sets up costs for a machine. ranks: 0 if unknown, then those of one server. Release it. Only one
 * thread at a time may ask for costs of nodes, since rows of ops are cached. */
void tl_costs_init(tl_costs *c, const tl_hw_preset *hw, uint32_t ranks);
/* Frees the profile and the cached rows. */
void tl_costs_release(tl_costs *c);

/* Reads times from CSV lines `name,us`; the name ends at the last comma. Empty lines, lines that
 * begin with '#', and the line "name,us" are skipped. text: borrowed as long as c lives. E-PROFILE,
 * with the line, for any other line, a time that is negative or not finite, or a name that occurs
 * twice; TL_NO_MEMORY. */
tl_status tl_costs_read_profile(tl_diag *d, tl_costs *c, const char *path, tl_sv text) TL_NODISCARD;

/* Finds the profile's time of a name. Returns false if there is none. O(log rows). */
bool tl_cost_profile_find(const tl_costs *c, tl_sv name, double *us);

/* Returns the microseconds of a collective of `bytes` among all ranks. Within a server it uses one
 * level of links; beyond, ReduceScatter within servers, AllReduce of the parts between them, then
 * AllGather within. */
double tl_cost_collective(const tl_costs *c, tl_collective kind, double bytes);

/* The cost of one node. */
typedef struct tl_node_cost {
  double flops;  /* of products: 2 each */
  double bytes;  /* read and written, each tensor once; COMM: of the tensors that travel */
  double memory; /* bytes of the results */
  double us;
  tl_engine engine;
  bool comm;     /* a collective */
  bool profiled; /* the time is the user's */
} tl_node_cost;

/* Returns what a node takes. Of an If the longer branch counts, of a loop one iteration. O(operands
 * + results), or the nodes of the bodies. */
tl_node_cost tl_cost_node(const tl_costs *c, const tl_module *m, tl_node_id n);

/* Returns the multiplications of the matrix products and convolutions of a node: what is usually
 * called MACs. Of an If the branch with more of them counts, of a loop one iteration. A dim that is
 * not known counts as 1. */
double tl_cost_macs(const tl_module *m, tl_node_id n);

/* Returns the name of row i of cost_ops.tbl, NULL beyond the last. */
const char *tl_cost_row_name(uint32_t i);

/* Returns true for collectives (HcomAllReduce and the like), whatever they carry. Collectives have
 * effects, so other ops are ruled out in O(1); else O(log ops). */
bool tl_node_is_collective(const tl_module *m, tl_node_id n);

/* Returns the bytes of a value; of a sequence, the bytes of the tensors it was made from; 0 if
 * unknown. */
double tl_cost_value_bytes(const tl_module *m, tl_value_id v);

#endif
