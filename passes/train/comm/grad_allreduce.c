/* SPDX-License-Identifier: Apache-2.0 */
/* grad-allreduce: adds up each gradient over all ranks and takes the mean.
 *
 * Requires:  types inferred.     Keeps: names of inputs and outputs; nodes of forward and backward.
 * After:     what updates read of a gradient has gone through a collective; with one rank nothing
 *            changes, and every value stays what it was for one rank.
 * Cost:      that of recognition, and O(uses of gradients).
 * Tests:     tests/golden/grad-allreduce/ */
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/loops/loops.h"
#include "passes/train/comm/collective.h"
#include "passes/train/comm/rank_check.h"
#include "passes/train/comm/shards.h"
#include "passes/train/step/find_step.h"
#include "passes/train/step/info.h"
#include "passes/train/step/reduce_site.h"
#include "passes/train/update/plain_updates.h"

/* Mark of a collective that replaced one of the model: a second run must not replace it again. */
#define TL_MARK_INSERTED "tailor.inserted"

typedef struct inserting {
  tl_pass *p;
  tl_module *m;
  tl_train_info t;
  tl_comm comm;
  tl_average average;
  bool accumulated;     /* what is reduced has been accumulated, by each rank for itself */
  tl_value_id kept;     /* next value of that buffer; TL_NO_VALUE: it is no state */
  uint32_t *root;       /* wus: [t.n] the rank that updates a parameter; NULL: all do */
  uint32_t n_elsewhere; /* gradients whose updates are in another graph */
} inserting;

/* ---- users ----------------------------------------------------------------------------------- */

/* Returns the node of the main graph that is n or contains n in a body. */
static tl_node_id outermost(const tl_module *m, tl_node_id n) {
  while (tl_graph_get(m, tl_node_get(m, n)->graph)->owner)
    n = tl_graph_get(m, tl_node_get(m, n)->graph)->owner;
  return n;
}

/* Returns true if the use must see the sum over ranks: uses in updates and outputs of the graph,
 * but not what only feeds the local accumulation buffer. */
static bool is_update_use(const inserting *insertion, tl_node_id user) {
  tl_node_id n = outermost(insertion->m, user);
  if (tl_node_is_return(insertion->m, n))
    return !insertion->accumulated;
  int budget = 64;
  if (insertion->kept && tl_leads_only_to(insertion->m, n, insertion->kept, &budget))
    return false;
  return tl_train_region_of(&insertion->t, n) == TL_REGION_UPDATE &&
         !tl_node_has_mark(insertion->m, n, TL_MARK_LOCAL);
}

static bool is_narrow(tl_dtype d) { return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16; }

static tl_dtype dtype_of(const tl_module *m, tl_value_id v) {
  return tl_type_dtype(m, tl_value_type(m, v));
}

/* Erases a Cast of the gradient to f32 if `made` has that type already; its users read `made`. */
static bool gives_way(inserting *insertion, tl_node_id n, tl_value_id made) {
  const tl_node *node = tl_node_get(insertion->m, n);
  if (node->op != TL_OP_Cast || node->control_in || node->control_out ||
      tl_value_type(insertion->m, node->results) != tl_value_type(insertion->m, made) ||
      tl_value_leaves_graph(insertion->m, node->results))
    return false;
  tl_value_replace_uses(insertion->m, node->results, made);
  tl_node_erase(insertion->m, n);
  return true;
}

/* Lets users in updates, and outputs of the graph, read `made`; other users keep `old`. An output
 * keeps its name, which `made` takes over. If `made` is wider than `old`, casts of the model to the
 * wider dtype give way to it, and all other users read a cast back to the dtype of `old`. Returns
 * the value of that dtype. first_new: nodes from this id on were made here and keep their
 * operands. */
static tl_value_id rewire(inserting *insertion, tl_maker *k, tl_value_id old, tl_value_id made,
                          uint32_t first_new) {
  tl_module *m = insertion->m;
  bool leaves = !insertion->accumulated && tl_value_leaves_graph(m, old);
  bool wide = dtype_of(m, made) != dtype_of(m, old);
  tl_value_id alike = wide ? TL_NO_VALUE : made;
  tl_symbol local = leaves ? tl_maker_name(k, TL_SV("local")) : 0;
  k->no_memory = k->no_memory || local == TL_NO_SYMBOL;
  TL_FOR_USES(m, old, u) {
    tl_node_id user = tl_use_get(m, u)->user;
    if (tl_maker_failed(k) || user >= first_new || !is_update_use(insertion, user) ||
        (wide && gives_way(insertion, user, made)))
      continue;
    alike = alike ? alike : tl_make_as(k, made, dtype_of(m, old));
    if (alike)
      tl_node_set_operand(m, user, u - tl_node_get(m, user)->operands, alike);
  }
  if (leaves && alike) {
    tl_value_set_name(m, alike, tl_value_get(m, old)->name);
    tl_value_set_name(m, old, local);
  }
  return alike;
}

/* ---- dense gradients ------------------------------------------------------------------------- */

/* Returns the mean. Sums of f16 and bf16 are divided in f32, since small elements would lose bits
 * in their own dtype. */
static tl_value_id mean_of(inserting *insertion, tl_maker *k, tl_value_id sum) {
  if (!sum ||
      (insertion->average != TL_AVERAGE_POST_DIV && insertion->average != TL_AVERAGE_POST_MUL))
    return sum; /* FOLD: the pass loss-scale has the factor */
  tl_value_id wide = is_narrow(dtype_of(insertion->m, sum)) ? tl_make_as(k, sum, TL_DTYPE_F32)
                                                            : sum;
  tl_value_id mean = insertion->average == TL_AVERAGE_POST_DIV
                         ? tl_comm_divide(&insertion->comm, k, wide)
                         : tl_comm_multiply(&insertion->comm, k, wide);
  if (mean && wide != sum &&
      !tl_node_put_mark(insertion->m, tl_value_producer(insertion->m, mean), TL_MARK_KEEP_DTYPE))
    k->no_memory = true;
  return mean;
}

static tl_sv param_name(const inserting *insertion, const tl_train_grad *g) {
  return tl_value_name(insertion->m, g->param);
}

/* Inserts AllReduce (with shards: Reduce to the rank that updates) behind a gradient, and the
 * division. */
static tl_status insert_dense(inserting *insertion, const tl_train_grad *g) {
  static const tl_collective_spec all_reduce = {
      .op = TL_OP_npu_hcom_HcomAllReduce, .fusion = 1, .fusion_id = -1};
  uint32_t root = insertion->root ? insertion->root[g->rank] : 0;
  const tl_collective_spec reduce = {
      .op = TL_OP_npu_hcom_HcomReduce, .root = root, .fusion = 2, .fusion_id = root};
  tl_maker k = tl_comm_behind(insertion->m, g->raw);
  uint32_t first_new = tl_module_node_end(insertion->m);
  tl_dtype dtype = (tl_dtype)g->dtype;
  bool widen = insertion->comm.c->ar_f32 && is_narrow(dtype);
  tl_value_id v = widen ? tl_make_as(&k, g->raw, TL_DTYPE_F32) : g->raw;
  if (insertion->average == TL_AVERAGE_PRE_DIV)
    v = tl_comm_divide(&insertion->comm, &k, v);
  v = tl_comm_make(&insertion->comm, &k, insertion->root ? &reduce : &all_reduce, v,
                   param_name(insertion, g));
  if (v && insertion->comm.c->replace_allreduce &&
      !tl_node_put_mark(insertion->m, tl_value_producer(insertion->m, v), TL_MARK_INSERTED))
    k.no_memory = true;
  v = mean_of(insertion, &k, v);
  TL_TRY(tl_maker_status(&k));
  rewire(insertion, &k, g->raw, v, first_new);
  return tl_maker_status(&k);
}

/* ---- sparse gradients ------------------------------------------------------------------------ */

static tl_status refuse_sparse(const inserting *insertion, const tl_train_grad *g,
                               const char *why) {
  return tl_fail_code(insertion->m->diag, TL_UNSUPPORTED, "E-AR-SPARSE",
                      TL_AT_NODE(insertion->m->path, param_name(insertion, g)),
                      "its sparse gradient cannot be gathered from all ranks: %s", why);
}

/* Returns the node that scatters rows by indices into one dense tensor, TL_NO_NODE if there is
 * none. */
static tl_node_id scatter_of(const inserting *insertion, const tl_train_grad *g) {
  TL_FOR_USES(insertion->m, g->raw, u) {
    tl_node_id n = tl_use_get(insertion->m, u)->user;
    if (!tl_node_is_return(insertion->m, n) &&
        tl_node_get(insertion->m, n)->op == TL_OP_com_microsoft_GatherGrad &&
        tl_operand(insertion->m, n, 1) == g->indices)
      return n;
  }
  return TL_NO_NODE;
}

/* Returns why rows cannot be gathered, NULL if they can. */
static const char *not_gathered(const inserting *insertion, const tl_train_grad *g) {
  const tl_type *rows = tl_type_get(insertion->m, tl_value_type(insertion->m, g->raw));
  const tl_type *indices = tl_type_get(insertion->m, tl_value_type(insertion->m, g->indices));
  if (!insertion->comm.c->rank_size)
    return "the number of ranks is not known before the run";
  if (indices->dtype != TL_DTYPE_I32 && indices->dtype != TL_DTYPE_I64)
    return "its indices are not integers";
  if (rows->rank < 1 || indices->rank < 1 || !tl_dim_is_static(rows->dims[0]) ||
      !tl_dim_is_static(indices->dims[0]))
    return "the number of its rows is not known";
  return NULL;
}

/* Returns true if a use by a node of the update takes the indices as such: the shape of the table
 * may be the same value. */
static bool takes_indices(const inserting *insertion, tl_node_id user, uint32_t operand) {
  return is_update_use(insertion, user) &&
         (tl_node_get(insertion->m, user)->op != TL_OP_com_microsoft_GatherGrad || operand == 1);
}

/* Gathers rows and indices of all ranks, one behind the other; the rows are divided like a sum.
 * Afterwards there are more rows, so types of users are inferred anew. */
static tl_status gather_rows(inserting *insertion, const tl_train_grad *g) {
  static const tl_collective_spec gather = {.op = TL_OP_npu_hcom_HcomAllGather, .fusion_id = -1};
  uint32_t first_new = tl_module_node_end(insertion->m);
  tl_maker k = tl_comm_behind(insertion->m, g->raw);
  tl_value_id v = insertion->average == TL_AVERAGE_PRE_DIV
                      ? tl_comm_divide(&insertion->comm, &k, g->raw)
                      : g->raw;
  v = mean_of(insertion, &k,
              tl_comm_make(&insertion->comm, &k, &gather, v, param_name(insertion, g)));
  TL_TRY(tl_maker_status(&k));
  tl_value_id alike = rewire(insertion, &k, g->raw, v, first_new);
  tl_maker i = tl_comm_behind(insertion->m, g->indices);
  tl_value_id rows =
      tl_comm_make(&insertion->comm, &i, &gather, g->indices, param_name(insertion, g));
  TL_TRY(tl_maker_status(&i));
  TL_FOR_USES(insertion->m, g->indices, u) {
    tl_node_id user = tl_use_get(insertion->m, u)->user;
    uint32_t operand = u - tl_node_get(insertion->m, user)->operands;
    if (user < first_new && !tl_node_is_return(insertion->m, outermost(insertion->m, user)) &&
        takes_indices(insertion, user, operand))
      tl_node_set_operand(insertion->m, user, operand, rows);
  }
  TL_TRY(tl_maker_status(&k));
  TL_TRY(tl_maker_status(&i));
  bool fits, alike_fits = true, indices_fit;
  TL_TRY(tl_comm_refresh_types(insertion->m, v, &fits));
  if (alike && alike != v)
    TL_TRY(tl_comm_refresh_types(insertion->m, alike, &alike_fits));
  TL_TRY(tl_comm_refresh_types(insertion->m, rows, &indices_fit));
  return fits && alike_fits && indices_fit
             ? TL_OK
             : refuse_sparse(insertion, g, "what reads its rows takes no more of them");
}

/* Falls back to the dense tensor made of the rows if the option allows it. */
static tl_status insert_sparse(inserting *insertion, const tl_train_grad *g) {
  const char *why = not_gathered(insertion, g);
  tl_node_id scatter = scatter_of(insertion, g);
  if (!why)
    return gather_rows(insertion, g);
  if (!insertion->comm.c->sparse_dense_fallback || !scatter)
    return refuse_sparse(insertion, g, why);
  tl_train_grad dense = *g;
  dense.raw = tl_result(insertion->m, scatter, 0);
  return insert_dense(insertion, &dense);
}

/* ---- collectives of the model ---------------------------------------------------------------- */

/* Returns true if a result may become the operand it was made of: its type says the same, or
 * nothing. A dim that it names anew may be another size, on which users of the result rely. */
static bool may_stand_for(const tl_module *m, tl_value_id operand, tl_value_id result) {
  tl_type_id from = tl_value_type(m, operand), to = tl_value_type(m, result);
  const tl_type *a = tl_type_get(m, from), *b = tl_type_get(m, to);
  if (tl_types_clash(m, from, to))
    return false;
  for (int i = 0; i < b->rank && i < a->rank; i++)
    if (tl_dim_is_symbol(b->dims[i]) && a->dims[i] != b->dims[i])
      return false;
  return true;
}

/* Removes the model's own collective; the pass then inserts one of its own. */
static tl_status drop_collective(inserting *insertion, tl_node_id n) {
  const tl_node *node = tl_node_get(insertion->m, n);
  if (node->op == TL_OP_ERASED)
    return TL_OK;
  for (uint32_t i = 0; i < node->n_results && i < node->n_operands; i++) {
    if (tl_value_leaves_graph(insertion->m, node->results + i))
      return tl_fail_code(insertion->m->diag, TL_UNSUPPORTED, "E-AR-REPLACE",
                          tl_node_where(insertion->m, n),
                          "one of its results is a graph output, so it cannot be replaced");
    if (!may_stand_for(insertion->m, tl_operand(insertion->m, n, i), node->results + i))
      return tl_fail_code(insertion->m->diag, TL_UNSUPPORTED, "E-AR-REPLACE",
                          tl_node_where(insertion->m, n),
                          "one of its results is of another type than its operand, so it cannot be "
                          "replaced\vleave out --replace-allreduce");
    tl_value_move_roles(insertion->m, node->results + i, tl_operand(insertion->m, n, i));
    tl_value_replace_uses(insertion->m, node->results + i, tl_operand(insertion->m, n, i));
  }
  tl_node_erase(insertion->m, n);
  return TL_OK;
}

static tl_status drop_collectives(inserting *insertion) {
  bool any = false;
  for (uint32_t i = 0; insertion->comm.c->replace_allreduce && i < insertion->t.n; i++) {
    if (!insertion->t.grads[i].comm ||
        tl_node_has_mark(insertion->m, insertion->t.grads[i].comm, TL_MARK_INSERTED))
      continue;
    TL_TRY(drop_collective(insertion, insertion->t.grads[i].comm));
    any = true;
  }
  return any ? tl_train_detect(insertion->m, insertion->p->scratch, &insertion->t) : TL_OK;
}

static tl_status check_dtype(const inserting *insertion, const tl_train_grad *g) {
  tl_dtype dtype = (tl_dtype)g->dtype;
  bool takes = dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F16 || dtype == TL_DTYPE_BF16;
  if (takes)
    return TL_OK;
  return tl_fail_code(insertion->m->diag, TL_UNSUPPORTED, "E-TRN-DTYPE",
                      TL_AT_NODE(insertion->m->path, param_name(insertion, g)),
                      "its gradient has element type %s, expected f32, f16 or bf16",
                      tl_dtype_get(dtype)->name);
}

/* ---- accumulated gradients ------------------------------------------------------------------- */

static tl_status refuse_wus(const inserting *insertion, const char *why, const char *hint) {
  return tl_fail_code(insertion->m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                      TL_AT_FILE(insertion->m->path),
                      "wus=1 cannot be combined with another option: %s\v%s", why, hint);
}

/* Refuses combinations of options for which no correct graph is known. */
static tl_status check_settings(const inserting *insertion) {
  const tl_train_config *c = insertion->comm.c;
  bool looks_late = c->tail_mode == TL_TAIL_LATE || c->tail_mode == TL_TAIL_LATE_COMMIT;
  if (c->wus && c->ar_site != TL_AR_SITE_GRAD)
    return refuse_wus(insertion, "ar_site is not grad", "leave --ar-site at grad");
  if (c->wus && c->average == TL_AVERAGE_FOLD)
    return refuse_wus(insertion, "average is fold", "leave --average at post_div");
  bool by_tensor = c->status == TL_OVERFLOW_ISFINITE ||
                   (c->status == TL_OVERFLOW_NPU && c->verify_ranks);
  if (c->wus && c->is_loss_scale && c->has_manager && looks_late && !by_tensor &&
      c->loss_scale.kind != TL_LOSS_SCALE_FIXED_BLIND)
    return refuse_wus(
        insertion, "only one rank has each sum, and this status does not show which sum overflowed",
        "set --status=isfinite, or --tail-mode=early_local");
  if (c->accumulation_steps == 1 || c->ar_site == TL_AR_SITE_BOUNDARY)
    return TL_OK;
  return tl_fail_code(insertion->m->diag, TL_INVALID_ARGUMENT, "E-TRN-ACCUM",
                      TL_AT_FILE(insertion->m->path),
                      "gradients of %lld batches are accumulated, which has to happen before they "
                      "are summed over ranks\vset --ar-site=boundary",
                      (long long)c->accumulation_steps);
}

/* Declares the accumulation buffer as a state of its own on each rank. */
static void set_local(inserting *insertion) {
  for (uint32_t i = 0; i < insertion->m->states.n; i++)
    if (insertion->kept && insertion->m->states.at[i].output == insertion->kept)
      insertion->m->states.at[i].local = true;
}

/* Inserts the sum at the accumulation site. Sets *done if the site is in this graph. */
static tl_status insert_at_site(inserting *insertion, const tl_train_grad *g, bool *done) {
  tl_ar_site site = insertion->comm.c->ar_site;
  tl_reduce_site at = tl_reduce_site_of(insertion->m, g, site);
  *done = at.value != TL_NO_VALUE;
  if (!at.found)
    return tl_fail_code(
        insertion->m->diag, TL_INVALID_MODEL, "E-TRN-ACCUM",
        TL_AT_NODE(insertion->m->path, param_name(insertion, g)),
        "its gradient '%.*s' is not accumulated, itself or scaled\vset --ar-site=grad",
        TL_SV_ARG(tl_value_name(insertion->m, g->raw)));
  if (!*done)
    return TL_OK;
  tl_train_grad sum = *g;
  sum.raw = at.value;
  sum.dtype = tl_type_get(insertion->m, tl_value_type(insertion->m, at.value))->dtype;
  insertion->accumulated = site == TL_AR_SITE_BOUNDARY && at.value != g->raw;
  insertion->kept = insertion->accumulated ? at.kept : TL_NO_VALUE;
  TL_TRY(check_dtype(insertion, &sum));
  set_local(insertion);
  tl_status status = insert_dense(insertion, &sum);
  insertion->accumulated = false;
  insertion->kept = TL_NO_VALUE;
  return status;
}

/* ---- driver ---------------------------------------------------------------------------------- */

/* Inserts the collective of one gradient, according to its class and the site option. */
static tl_status insert(inserting *insertion, const tl_train_grad *g) {
  tl_node_id at = g->producer ? g->producer : g->update;
  if (g->cls == TL_GRAD_DONE)
    return TL_OK;
  TL_TRY(check_dtype(insertion, g));
  if (!tl_pass_may_rewrite(insertion->p))
    return TL_OK;
  bool done = true;
  if (insertion->comm.c->ar_site != TL_AR_SITE_GRAD)
    TL_TRY(insert_at_site(insertion, g, &done));
  else
    TL_TRY(g->cls == TL_GRAD_SPARSE ? insert_sparse(insertion, g) : insert_dense(insertion, g));
  if (!done)
    insertion->n_elsewhere++;
  if (at && done)
    tl_pass_remark(insertion->p, insertion->m, at, true, "gradient of '%.*s' is summed over ranks",
                   TL_SV_ARG(param_name(insertion, g)));
  return TL_OK;
}

/* Warns that a division in f16 loses the small elements that the loss scale has saved. */
static void warn_of_division(const inserting *insertion) {
  const tl_train_config *c = insertion->comm.c;
  bool half = false;
  for (uint32_t i = 0; i < insertion->t.n; i++)
    half = half || insertion->t.grads[i].dtype == TL_DTYPE_F16;
  if (half && c->is_loss_scale && c->has_manager && !c->ar_f32)
    tl_warn_code(insertion->m->diag, "W-LS-F16", TL_AT_FILE(insertion->m->path),
                 "average=pre_div divides gradients of f16 in f16, which loses small elements"
                 "\vset --ar-dtype=f32, or another --average");
}

/* Chooses how the mean is taken. A constant factor needs the number of ranks at compile time. */
static void choose_average(inserting *insertion) {
  const tl_train_config *c = insertion->comm.c;
  insertion->average = c->average;
  if (insertion->average == TL_AVERAGE_PRE_DIV)
    warn_of_division(insertion);
  if (insertion->average == TL_AVERAGE_FOLD && !insertion->comm.c->rank_size) {
    tl_warn_code(insertion->m->diag, "W-AR-RUNTIMEN", TL_AT_FILE(insertion->m->path),
                 "average=fold needs the number of ranks, which is not known before the run; "
                 "post_div is used");
    insertion->average = TL_AVERAGE_POST_DIV;
  } else if (insertion->average == TL_AVERAGE_FOLD && !(c->is_loss_scale && c->has_manager)) {
    insertion->average = TL_AVERAGE_POST_MUL; /* there is no other factor to fold it into */
  }
}

/* Inserts reductions to roots and the branches of weight-update sharding. Nodes made behind a
 * gradient get its index as owner, since they belong to its update. */
static tl_status insert_shards(inserting *insertion) {
  tl_module *m = insertion->m;
  uint32_t n_done = 0;
  for (uint32_t i = 0; i < insertion->t.n; i++)
    n_done += insertion->t.grads[i].cls == TL_GRAD_DONE;
  if (n_done == insertion->t.n || !tl_pass_may_rewrite(insertion->p))
    return TL_OK;
  insertion->root =
      tl_arena_calloc(insertion->p->scratch, insertion->t.n + 1u, sizeof *insertion->root);
  if (!insertion->root)
    return tl_no_memory(m);
  TL_TRY(tl_shards_plan(m, &insertion->t, insertion->comm.c, insertion->root));
  tl_u32_vec owner = {0};
  bool ok = true;
  for (tl_node_id n = 0; ok && n < insertion->t.n_nodes; n++)
    ok = tl_u32_vec_push(&owner, insertion->t.region[n] == TL_REGION_UPDATE ? insertion->t.owner[n]
                                                                            : TL_TRAIN_SHARED);
  insertion->accumulated = true; /* a gradient that is an output stays this rank's own */
  tl_status status = TL_OK;
  for (uint32_t i = 0; ok && status == TL_OK && i < insertion->t.n; i++) {
    status = check_dtype(insertion, &insertion->t.grads[i]);
    if (status == TL_OK)
      status = insert_dense(insertion, &insertion->t.grads[i]);
    while (ok && owner.n < tl_module_node_end(m))
      ok = tl_u32_vec_push(&owner, i);
  }
  if (ok && status == TL_OK)
    status = tl_shards_make(insertion->p, &insertion->comm, &insertion->t, insertion->root,
                            owner.at, owner.n);
  tl_u32_vec_release(&owner);
  return ok ? status : tl_no_memory(m);
}

/* Spells out updates of lists: with sharding each rank updates only its own parameters. */
static tl_status spell_updates(inserting *insertion) {
  if (!insertion->comm.c->wus)
    return TL_OK;
  TL_TRY(tl_plain_updates(insertion->p, insertion->m));
  return insertion->p->changed ? tl_train_detect(insertion->m, insertion->p->scratch, &insertion->t)
                               : TL_OK;
}

tl_status tl_pass_grad_allreduce(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  inserting insertion = {.p = p, .m = m, .comm = {.pass = p, .m = m, .c = c}};
  bool changed;
  if (!tl_train_is_on(p->options) || !c->is_distributed || tl_is_loop_of_steps(m) ||
      tl_comm_is_no_step(m))
    return TL_OK;
  TL_TRY(tl_comm_check(m->diag, TL_AT_FILE(m->path), c));
  TL_TRY(check_settings(&insertion));
  if (c->rank_size == 1 && !c->force_allreduce) {
    tl_note(m->diag, TL_AT_FILE(m->path), "one rank: gradients need no AllReduce");
    return TL_OK;
  }
  TL_TRY(tl_train_detect(m, p->scratch, &insertion.t));
  TL_TRY(tl_train_record(m, &insertion.t, &changed));
  TL_TRY(spell_updates(&insertion));
  choose_average(&insertion);
  TL_TRY(drop_collectives(&insertion));
  if (c->wus)
    TL_TRY(insert_shards(&insertion));
  for (uint32_t i = 0; i < insertion.t.n && !c->wus; i++)
    TL_TRY(insert(&insertion, &insertion.t.grads[i]));
  if (*p->rewrites < p->limit)
    TL_TRY(tl_rank_check(p, m, &insertion.t, insertion.n_elsewhere != 0));
  if (insertion.n_elsewhere)
    tl_note(m->diag, TL_AT_FILE(m->path),
            "%u accumulated gradients are used by another model, which sums them over ranks",
            insertion.n_elsewhere);
  return TL_OK;
}
