/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the parts of tailor simulate-ranks. Steps of all ranks run in lock step, next to steps
 * of the original model on the batches of all ranks together. */
#ifndef TL_TOOLS_SIMULATE_SIMULATE_H
#define TL_TOOLS_SIMULATE_SIMULATE_H

#include "lib/values/compare.h"
#include "tools/run/evaluation.h"

/* Where an input of the original model gets its value. */
typedef enum tl_sim_source {
  TL_SIM_DEFAULT, /* its default value, the same on all ranks */
  TL_SIM_STATE,   /* from the step before */
  TL_SIM_BATCH,   /* random, another one for each rank and step; the model has them joined */
  TL_SIM_COUNTER, /* the number of the step, from 0 */
  TL_SIM_RATE     /* TL_SIM_RATE_VALUE */
} tl_sim_source;

#define TL_SIM_RATE_VALUE 0.01

/* Upper bound on ranks, as in the option table. */
enum { TL_SIM_MOST_RANKS = 64 };

/* How an output that is no state relates to that of the joined batch. */
typedef enum tl_sim_reading {
  TL_SIM_AS_STATE, /* a state: the same on all ranks, or as `local` and `root` say */
  TL_SIM_METRIC,   /* the same on all, one behind the other, or the mean, sum, greatest or least */
  TL_SIM_ALIKE     /* it may be the next value of an input: the same on all */
} tl_sim_reading;

/* A state of the original model, or another output, and how far the ranks are from it. */
typedef struct tl_sim_state {
  tl_sv name;
  uint32_t input; /* positions in the model as it was */
  uint32_t output;
  uint8_t reading; /* tl_sim_reading; an output that is no state has no input: UINT32_MAX */
  bool compared;   /* METRIC, ALIKE: its dims fit, once at least */
  bool own;        /* METRIC: in none of these ways that of the joined batch */
  bool parameter;
  bool local;     /* each rank has its own, whose mean is to be that of the model as it was, */
  uint32_t root;  /* or that of rank root - 1; 0: none */
  double max_abs; /* greatest over the steps, and the greatest magnitude then */
  double largest;
  double excess; /* of max_abs over what the tolerance allows */
  uint32_t step; /* the first, from 1, that is beyond the tolerance; 0: none */
} tl_sim_state;

TL_VEC(tl_sim_states, tl_sim_state);

/* One of the two models, and what its states are now. */
typedef struct tl_sim_model {
  tl_module *m;      /* owned */
  tl_host_vec state; /* by input; NULL: no state, or still its default */
  tl_host_vec in;    /* of the step */
  tl_host_vec out;
} tl_sim_model;

/* State of one simulation. */
typedef struct tl_simulation {
  tl_cli *cli;
  tl_evaluation e;
  tl_train_config config; /* that of the user, for these ranks */
  uint32_t ranks;
  uint32_t steps;
  double rtol, atol;
  tl_sim_model one;  /* the model as it was, on the joined batch */
  tl_sim_model all;  /* the ranks, side by side */
  tl_sim_model init; /* the graph of their initial values; those may view it */
  uint8_t *source;   /* [inputs of one] tl_sim_source; owned */
  tl_sim_states states;
  uint32_t n_broadcast; /* states of a rank that began as those of rank 0 by the initial graph */
  uint32_t skipped;     /* steps that overflowed */
  uint32_t uneven_step; /* the first step after which ranks differ, 0: none; */
  tl_sv uneven;         /* and the state of which */
  bool has_loss;
  double loss_first, loss_last, loss_max_rel; /* means over ranks; against the joined batch */
  double factor; /* loss of the joined batch over the mean, in the first step */
} tl_simulation;

/* Returns the position of an input, or output, by name; UINT32_MAX if there is none. rank >= 0:
 * looks for "rK/NAME" of that rank. O(inputs). */
uint32_t tl_sim_find(const tl_module *m, bool output, int rank, tl_sv name);

/* Decides for each input of the original model where its values come from. */
tl_status tl_sim_classify(tl_simulation *s) TL_NODISCARD;
/* Fills `in` of both models for a step, from 0. `in` must be empty. */
tl_status tl_sim_fill(tl_simulation *s, uint32_t step) TL_NODISCARD;

/* Gives ranks their first values and runs the graph of initial values, which replaces them by those
 * of rank 0. Does nothing for one rank, or with init_graph=0. */
tl_status tl_sim_begin(tl_simulation *s) TL_NODISCARD;
/* Makes what a state starts from: its default, random numbers for a parameter, else zeros. i: input
 * of the original model. The caller releases *out. */
tl_status tl_sim_first_value(tl_simulation *s, uint32_t i, tl_host **out) TL_NODISCARD;
/* Splits "rK/NAME"; false if the name is not of a rank. *rest is a view into name. */
bool tl_sim_split_rank(tl_sv name, uint32_t *rank, tl_sv *rest);

/* Adds rows for the outputs that are no states and not the loss. */
tl_status tl_sim_find_outputs(tl_simulation *s) TL_NODISCARD;
/* Compares one of these outputs with what the ranks have after a step. */
tl_status tl_sim_compare_output(tl_simulation *s, tl_sim_state *row, uint32_t step) TL_NODISCARD;
/* Merges the difference between what ranks have and what is wanted into a row. */
void tl_sim_note(const tl_simulation *s, tl_sim_state *row, const tl_host *got, const tl_host *want,
                 uint32_t step);
/* Joins the pieces of all ranks along their first axis. *out is NULL if they cannot be joined. The
 * caller releases *out. */
tl_status tl_sim_join(tl_simulation *s, tl_host *const *piece, tl_host **out) TL_NODISCARD;

/* Returns true if ranks agree, and agree with the original model. */
bool tl_sim_equal(const tl_simulation *s);
/* Adds the report. */
void tl_sim_text(const tl_simulation *s, tl_buf *out);
void tl_sim_json(const tl_simulation *s, tl_buf *out);

#endif
