/* SPDX-License-Identifier: Apache-2.0 */
/* What a user asked of a training graph: the keys of NPURunConfig, ExperimentalConfig and
 * NPUOptimizer that passes act on, and our own. Filled and checked by
 * frontend/config, read by the passes; every pointer is borrowed from whoever filled the struct. */
#ifndef TL_IR_OPTIONS_TRAIN_CONFIG_H
#define TL_IR_OPTIONS_TRAIN_CONFIG_H

#include "ir/options/loss_scale.h"

/* average: what makes a mean of a sum over ranks (2.2). */
typedef enum tl_average {
  TL_AVERAGE_POST_DIV, /* divide the sum by the number of ranks */
  TL_AVERAGE_POST_MUL, /* multiply the sum by its reciprocal */
  TL_AVERAGE_PRE_DIV,  /* divide before adding up */
  TL_AVERAGE_FOLD,     /* into the factor that takes the loss scale away */
  TL_AVERAGE_NONE
} tl_average;

/* ar_site: where gradients are added up over ranks (1.5). */
typedef enum tl_ar_site {
  TL_AR_SITE_GRAD,    /* the raw gradient */
  TL_AR_SITE_ACCUM,   /* what an accumulator takes */
  TL_AR_SITE_BOUNDARY /* what it has accumulated */
} tl_ar_site;

/* bucket_strategy (2.4). */
typedef enum tl_bucket_strategy {
  TL_BUCKETS_AUTO,    /* by the cost model; without hw_preset as DEFAULT */
  TL_BUCKETS_DEFAULT, /* GE's two parts */
  TL_BUCKETS_NONE,
  TL_BUCKETS_SINGLE,
  TL_BUCKETS_SIZE,    /* bucket_sizes */
  TL_BUCKETS_INDEX,   /* bucket_indices */
  TL_BUCKETS_BYTES,   /* bucket_first, bucket_cap */
  TL_BUCKETS_COMBINE, /* bucket_cap, bucket_members */
  TL_BUCKETS_LIBRARY  /* bucket_library */
} tl_bucket_strategy;

/* bucket_lowering: what a bucket of several gradients becomes (2.7). */
typedef enum tl_bucket_lowering {
  TL_BUCKET_MULTI, /* one op with several operands */
  TL_BUCKET_CONCAT /* one tensor, joined before and split behind */
} tl_bucket_lowering;

/* grad_order (2.3). */
typedef enum tl_grad_order {
  TL_GRAD_ORDER_READY, /* as the cost model has them finished */
  TL_GRAD_ORDER_TOPO
} tl_grad_order;

/* status: how overflow is found (5.4). */
typedef enum tl_overflow_status {
  TL_OVERFLOW_ISFINITE,
  TL_OVERFLOW_NPU, /* the chip's flag */
  TL_OVERFLOW_ORT  /* IsAllFinite of ONNX Runtime */
} tl_overflow_status;

/* update_form: how an update is skipped (5.4). */
typedef enum tl_update_form { TL_UPDATE_WHERE, TL_UPDATE_IF } tl_update_form;

/* tail_mode: what the updates wait for (3.4). */
typedef enum tl_tail_mode {
  TL_TAIL_LATE_COMMIT,
  TL_TAIL_LATE,
  TL_TAIL_EARLY_LOCAL,
  TL_TAIL_EARLY_BOUND
} tl_tail_mode;

/* cost: who estimates the time of a compute node (4.2). */
typedef enum tl_cost_model { TL_COST_ROOFLINE, TL_COST_GE } tl_cost_model;

/* variable_placement: where states live. */
typedef enum tl_placement { TL_PLACE_DEVICE, TL_PLACE_HOST } tl_placement;

/* Engines of stream_max_parallel_num that the cost model has, by GE's names: X("name", ENGINE). */
#define TL_TRAIN_ENGINES(X)                                                                        \
  X("AIcoreEngine", AICORE)                                                                        \
  X("DNN_VM_AICPU", AICPU)                                                                         \
  X("DNN_VM_AICPU_ASCEND", AICPU)                                                                  \
  X("DNN_VM_HOST_CPU", HOST)

/* An entry of stream_max_parallel_num. */
typedef struct tl_engine_capacity {
  tl_sv engine; /* "DNN_VM_AICPU", "AIcoreEngine", as given */
  uint32_t degree;
} tl_engine_capacity;

/* What was measured of a model: its gradients in the order in which they are ready. */
typedef struct tl_measured_gradients {
  const double *ready;  /* [n] us since the step started, not descending */
  const int64_t *bytes; /* [n] */
  uint32_t n;
} tl_measured_gradients;

/* Sizes of the arrays below: most entries that GE takes. */
enum { TL_TRAIN_MAX_SPLITS = 8, TL_TRAIN_MAX_ENGINES = 8 };

typedef struct tl_train_config {
  /* The graph and its optimizer. */
  bool train;            /* graph_run_mode=1; false: the passes of training graphs do nothing */
  const char *spec;      /* train_spec: file of declarations (1.4), NULL: none */
  const char *optimizer; /* type of opt, e.g. "AdamOptimizer"; NULL: not said */
  const char *name;      /* of NPUOptimizer: nodes of ours are called <name>_Allreduce/...; never
                            NULL */
  /* Ranks (section 2). */
  bool is_distributed;
  uint32_t rank_size;     /* 0: known at run time only */
  const char *group;      /* never NULL */
  bool force_allreduce;   /* also for one rank */
  bool replace_allreduce; /* where the graph has its own already */
  tl_average average;
  bool ar_f32; /* ar_dtype=f32 */
  tl_ar_site ar_site;
  int64_t accumulation_steps; /* batches before an update, at least 1 */
  bool sparse_dense_fallback;
  bool wus;              /* weight-update sharding */
  bool broadcast_states; /* initial values of optimizer states too, not of parameters alone */
  bool init_graph;       /* a graph that broadcasts initial values is wanted beside the step */
  uint32_t verify_ranks; /* copies of the graph in a plain ONNX file; 0: off */
  /* Buckets (2.4 to 2.7). */
  tl_bucket_strategy buckets;
  float bucket_sizes[TL_TRAIN_MAX_SPLITS]; /* per cent */
  uint32_t n_bucket_sizes;
  int64_t bucket_indices[TL_TRAIN_MAX_SPLITS];
  uint32_t n_bucket_indices;
  const char *bucket_library;            /* file; NULL: none */
  const tl_measured_gradients *measured; /* of this model, from the file; NULL: none */
  int64_t bucket_first;                  /* bytes */
  int64_t bucket_cap;                    /* bytes; 0: the strategy's own, 25 MiB or 30 MiB */
  uint32_t bucket_members;               /* most of a bucket of COMBINE */
  int64_t bucket_max_bytes;              /* of any bucket */
  bool bucket_compat_ge;                 /* bucket_compat=ge: GE's search as it is */
  bool bucket_pad;                       /* sizes as on the device; false: of the bare tensors */
  tl_bucket_lowering bucket_lowering;
  tl_grad_order grad_order;
  /* Loss scale (section 5). */
  bool is_loss_scale;
  bool has_manager;
  tl_loss_scale_config loss_scale; /* when has_manager */
  float optimizer_loss_scale;      /* loss_scale of opt (MindSpore's fixed manager); 0: not said */
  tl_overflow_status status;
  tl_update_form update_form;
  bool bad_run; /* count overflows in a row */
  bool flag_in_bucket;
  bool compat_unscale; /* in the gradient's dtype, as TFA */
  /* Tail and schedule (sections 3 and 4). */
  bool is_tailing_optimization; /* of both sides, once they are known to agree */
  tl_tail_mode tail_mode;
  bool decompose_updates;
  bool inplace_state;
  bool relax_user_ctrl;
  bool hcom_parallel;
  const char *hw_preset; /* name in the table of presets; NULL: none */
  tl_cost_model cost;
  const char *profile;                              /* file `name,us`; NULL: none */
  int64_t mem_limit;                                /* bytes alive at a time; 0: no bound */
  tl_engine_capacity engines[TL_TRAIN_MAX_ENGINES]; /* stream_max_parallel_num */
  uint32_t n_engines; /* engines that are not named take one task at a time */
  /* The step and where it runs. */
  int64_t iterations_per_loop; /* at least 1 */
  int64_t total_step;          /* 0: not said */
  tl_placement variable_placement;
  bool mix_compile_mode;
} tl_train_config;

enum { TL_TRAIN_MIB = 1 << 20 };

/* Documented defaults; `train` is off. */
static inline tl_train_config tl_train_config_default(void) {
  return (tl_train_config){.name = "NPUOptimizer",
                           .rank_size = 1,
                           .group = "hccl_world_group",
                           .accumulation_steps = 1,
                           .init_graph = true,
                           .bucket_first = TL_TRAIN_MIB,
                           .bucket_members = 256,
                           .bucket_max_bytes = (int64_t)500 * TL_TRAIN_MIB,
                           .bucket_pad = true,
                           .hcom_parallel = true,
                           .iterations_per_loop = 1};
}

#endif
