/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a run configuration into the struct that passes read. */
#include "frontend/config/run_config_read.h"

/* Returns the index of a value among the choices of its key. The enums that callers cast it to list
 * their members in the same order. */
static unsigned choice(const tl_settings *s, tl_option_id id) {
  const char *value = tl_settings_get(s, id);
  unsigned i = 0;
  for (tl_sv rest = tl_sv_from(tl_option_row_get(id)->values); rest.p; i++)
    if (tl_sv_is(tl_sv_split(&rest, '|'), value))
      return i;
  return 0;
}

/* Reports an item of a list. */
static tl_status refuse(tl_settings *s, tl_diag *d, tl_option_id id, const char *code,
                        const char *what, tl_sv item) {
  return tl_fail_code(d, TL_INVALID_ARGUMENT, code, tl_at_option(s, id), "%s: '%.*s'", what,
                      TL_SV_ARG(tl_sv_shown(item)));
}

/* ---- stream_max_parallel_num ----------------------------------------------------------------- */

/* Warns about an engine that the schedule does not know: it is only recorded for the runtime. */
static void tell_engine(tl_settings *s, tl_diag *d, tl_sv engine) {
#define ENGINE(name, id)                                                                           \
  if (tl_sv_is(engine, name))                                                                      \
    return;
  TL_TRAIN_ENGINES(ENGINE)
#undef ENGINE
  tl_warn_code(d, "W-OPT-ENGINE", tl_at_option(s, TL_OPTION_STREAM_MAX_PARALLEL_NUM),
               "'%.*s' is recorded for the runtime; the schedule knows no such engine",
               TL_SV_ARG(tl_sv_shown(engine)));
}

/* Returns the number of AI cores of the largest chip of a family that trains, an upper bound on
 * tasks at a time. */
static int64_t most_tasks(const tl_settings *s) {
  static const struct {
    const char *family;
    int64_t cores;
  } families[] = {{"Ascend910", 32}, {"Ascend910B", 25}, {"Ascend910_93", 50}};
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strcmp(tl_options_chip(&s->options)->name, families[i].family) == 0)
      return families[i].cores;
  return UINT16_MAX;
}

/* Reads one ENGINE:N of stream_max_parallel_num. */
static tl_status read_engine(tl_settings *s, tl_diag *d, tl_sv item) {
  static const tl_option_id id = TL_OPTION_STREAM_MAX_PARALLEL_NUM;
  tl_train_config *c = &s->train;
  tl_sv rest = item;
  int64_t degree;
  tl_sv engine = tl_sv_trim(tl_sv_split(&rest, ':'));
  if (!rest.p)
    return refuse(s, d, id, "E-OPT-TYPE", "not of the form ENGINE:N", item);
  if (engine.n == 0)
    return refuse(s, d, id, "E-OPT-TYPE", "names no engine", item);
  if (!tl_parse_i64(tl_sv_trim(rest), &degree))
    return refuse(s, d, id, "E-OPT-TYPE", "not an integer after ':'", item);
  if (degree <= 0 || degree > most_tasks(s))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", tl_at_option(s, id),
                        "an engine of %s takes 1 to %lld tasks at a time: '%.*s'",
                        tl_options_chip(&s->options)->name, (long long)most_tasks(s),
                        TL_SV_ARG(tl_sv_shown(item)));
  for (uint32_t i = 0; i < c->n_engines; i++)
    if (tl_sv_eq(c->engines[i].engine, engine))
      return refuse(s, d, id, "E-OPT-CONFLICT", "an engine is named twice", item);
  if (c->n_engines == TL_TRAIN_MAX_ENGINES)
    return refuse(s, d, id, "E-OPT-RANGE", "too many engines", item);
  c->engines[c->n_engines++] = (tl_engine_capacity){engine, (uint32_t)degree};
  tell_engine(s, d, engine);
  return TL_OK;
}

static tl_status read_engines(tl_settings *s, tl_diag *d) {
  const char *text = s->value[TL_OPTION_STREAM_MAX_PARALLEL_NUM];
  for (tl_sv rest = tl_sv_from(text); rest.p;)
    TL_TRY(read_engine(s, d, tl_sv_trim(tl_sv_split(&rest, ','))));
  return TL_OK;
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* Reads shares of the gradients' bytes in per cent. Their sum may miss 100 by the rounding of
 * decimal fractions. */
static tl_status read_sizes(tl_settings *s, tl_diag *d) {
  static const tl_option_id id = TL_OPTION_BUCKET_SIZES;
  tl_train_config *c = &s->train;
  tl_sv text = tl_sv_from(s->value[id]);
  double sum = 0;
  for (tl_sv rest = text; rest.p;) {
    double percent;
    tl_sv item = tl_sv_split(&rest, ',');
    if (!tl_parse_f64(item, &percent) || !(percent >= 0 && percent <= 100))
      return refuse(s, d, id, "E-BKT-PCT", "not a share in per cent", item);
    if (c->n_bucket_sizes == TL_TRAIN_MAX_SPLITS)
      return refuse(s, d, id, "E-BKT-PCT", "more than 8 shares", text);
    c->bucket_sizes[c->n_bucket_sizes++] = (float)percent;
    sum += percent;
  }
  if (text.p && !(sum > 100 - 1e-3 && sum < 100 + 1e-3))
    return refuse(s, d, id, "E-BKT-PCT", "shares whose sum is not 100 per cent", text);
  return TL_OK;
}

/* Reads the number of the last gradient of each bucket, in ascending order. */
static tl_status read_indices(tl_settings *s, tl_diag *d) {
  static const tl_option_id id = TL_OPTION_BUCKET_INDICES;
  tl_train_config *c = &s->train;
  tl_sv text = tl_sv_from(s->value[id]);
  for (tl_sv rest = text; rest.p;) {
    int64_t index;
    tl_sv item = tl_sv_split(&rest, ',');
    if (!tl_parse_i64(item, &index) || index < 0)
      return refuse(s, d, id, "E-BKT-IDX", "not the number of a gradient", item);
    if (c->n_bucket_indices == TL_TRAIN_MAX_SPLITS)
      return refuse(s, d, id, "E-BKT-IDX", "more than 8 buckets", text);
    if (c->n_bucket_indices && index <= c->bucket_indices[c->n_bucket_indices - 1])
      return refuse(s, d, id, "E-BKT-IDX", "numbers that do not ascend", text);
    c->bucket_indices[c->n_bucket_indices++] = index;
  }
  return TL_OK;
}

/* Chooses the strategy of buckets. Without a named one the first list that is given decides; a
 * warning names each list that has no effect. */
static tl_status choose_strategy(tl_settings *s, tl_diag *d) {
  static const struct {
    tl_option_id id;
    tl_bucket_strategy strategy;
  } lists[] = {{TL_OPTION_BUCKET_SIZES, TL_BUCKETS_SIZE},
               {TL_OPTION_BUCKET_INDICES, TL_BUCKETS_INDEX},
               {TL_OPTION_BUCKET_LIBRARY, TL_BUCKETS_LIBRARY}};
  tl_train_config *c = &s->train;
  const char *named = s->value[TL_OPTION_BUCKET_STRATEGY];
  bool listed = false;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    bool wants = named && c->buckets == lists[i].strategy;
    bool given = s->value[lists[i].id];
    tl_location where = tl_at_option(s, lists[i].id);
    if (wants && !given)
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                          tl_at_option(s, TL_OPTION_BUCKET_STRATEGY), "%s needs --%s", named,
                          tl_option_row_get(lists[i].id)->name);
    if (given && (listed || (named && !wants)))
      tl_warn(d, where, "has no effect, because %s%s overrides it", named ? "bucket_strategy=" : "",
              named ? named : "a list that is given, too,");
    if (given && !named && !listed)
      c->buckets = lists[i].strategy;
    listed |= given;
  }
  return TL_OK;
}

/* Reads all keys of buckets. The order of strategies[] is that of the choices in run_config.tbl. */
static tl_status read_buckets(tl_settings *s, tl_diag *d) {
  static const tl_bucket_strategy strategies[] = {
      TL_BUCKETS_AUTO,  TL_BUCKETS_DEFAULT, TL_BUCKETS_NONE,    TL_BUCKETS_SINGLE, TL_BUCKETS_SIZE,
      TL_BUCKETS_INDEX, TL_BUCKETS_BYTES,   TL_BUCKETS_COMBINE, TL_BUCKETS_LIBRARY};
  tl_train_config *c = &s->train;
  c->buckets = strategies[choice(s, TL_OPTION_BUCKET_STRATEGY)];
  c->bucket_library = s->value[TL_OPTION_BUCKET_LIBRARY];
  c->bucket_first = tl_run_int(s, TL_OPTION_BUCKET_FIRST);
  c->bucket_cap = tl_run_int(s, TL_OPTION_BUCKET_CAP);
  c->bucket_members = (uint32_t)tl_run_int(s, TL_OPTION_BUCKET_MEMBERS);
  c->bucket_max_bytes = tl_run_int(s, TL_OPTION_BUCKET_MAX_BYTES);
  c->bucket_compat_ge = choice(s, TL_OPTION_BUCKET_COMPAT) == 1;
  c->bucket_pad = tl_run_true(s, TL_OPTION_BUCKET_PAD);
  c->bucket_lowering = (tl_bucket_lowering)choice(s, TL_OPTION_BUCKET_LOWERING);
  c->grad_order = (tl_grad_order)choice(s, TL_OPTION_GRAD_ORDER);
  tl_status sizes = read_sizes(s, d);
  tl_status indices = read_indices(s, d);
  TL_TRY(sizes);
  TL_TRY(indices);
  return choose_strategy(s, d);
}

/* ---- loss scale ------------------------------------------------------------------------------ */

/* One parameter of a manager of the loss scale. */
typedef struct parameter {
  const char *name;
  char of; /* F, E, D or T: the manager it belongs to */
  bool required;
  char field; /* i, u, d, g, s: which one it sets; b: whether overflow is looked for */
} parameter;

static const parameter parameters[] = {
    {"loss-scale", 'F', false, 'i'},
    {"drop-overflow-update", 'F', false, 'b'},
    {"enable-overflow-check", 'F', false, 'b'},
    {"init-loss-scale", 'E', true, 'i'},
    {"incr-every-n-steps", 'E', true, 'g'},
    {"decr-every-n-nan-or-inf", 'E', false, 's'},
    {"incr-ratio", 'E', false, 'u'},
    {"decr-ratio", 'E', false, 'd'},
    {"init-loss-scale", 'D', false, 'i'},
    {"scale-factor", 'D', false, 'u'},
    {"scale-window", 'D', false, 'g'},
    {"init-scale", 'T', false, 'i'},
    {"growth-factor", 'T', false, 'u'},
    {"backoff-factor", 'T', false, 'd'},
    {"growth-interval", 'T', false, 'g'},
};
enum { N_PARAMETERS = sizeof parameters / sizeof *parameters };

/* Sets the field of a parameter. The value has been checked, so it can be parsed. */
static void set_parameter(tl_loss_scale_config *c, char field, const char *text) {
  double real = 0;
  (void)tl_parse_f64(tl_sv_from(text), &real);
  switch (field) {
  case 'i': c->init = (float)real; break;
  case 'u': c->up = (float)real; break;
  case 'd': c->down = (float)real; break;
  case 'g': c->grow = (int32_t)real; break;
  case 's': c->shrink = (int32_t)real; break;
  default:
    if (text[0] == 'f')
      c->kind = TL_LOSS_SCALE_FIXED_BLIND;
  }
}

/* Returns true if the manager has a parameter of this name. */
static bool belongs(const char *name, char manager) {
  for (uint32_t i = 0; i < N_PARAMETERS; i++)
    if (parameters[i].of == manager && strcmp(parameters[i].name, name) == 0)
      return true;
  return false;
}

/* Refuses a member that is a parameter of another manager only. torch's scaler has the letter T,
 * though its type starts with 't'. */
static tl_status check_members(tl_settings *s, tl_diag *d, const tl_run_object *o,
                               const char *type) {
  static const tl_option_id id = TL_OPTION_LOSS_SCALE_MANAGER;
  uint32_t n;
  const tl_run_member *members = tl_run_members(&n);
  for (uint32_t i = 0; i < n; i++) {
    const char *name = members[i].type.name;
    if (members[i].option != id || strcmp(name, "type") == 0 || belongs(name, type[0]) ||
        (type[0] == 't' && belongs(name, 'T')) || !tl_run_member_find_json(o, name))
      continue;
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", tl_at_option(s, id),
                        "%s is not a parameter of %s", name, type);
  }
  return TL_OK;
}

/* Refuses two names of one parameter with different values. */
static tl_status check_overflow_names(tl_settings *s, tl_diag *d, const tl_run_object *o) {
  const cJSON *drop = tl_run_member_find_json(o, "drop-overflow-update");
  const cJSON *check = tl_run_member_find_json(o, "enable-overflow-check");
  if (!drop || !check || cJSON_IsTrue(drop) == cJSON_IsTrue(check))
    return TL_OK;
  return tl_fail_code(
      d, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", tl_at_option(s, TL_OPTION_LOSS_SCALE_MANAGER),
      "drop_overflow_update and enable_overflow_check mean the same and have different values");
}

/* Sets the parameters of a manager. o: NULL if only its type is given, so that defaults count. */
static tl_status read_parameters(tl_settings *s, tl_diag *d, tl_run_object *o, const char *type) {
  static const tl_option_id id = TL_OPTION_LOSS_SCALE_MANAGER;
  char manager = type[0] == 't' ? 'T' : type[0];
  if (o)
    TL_TRY(check_members(s, d, o, type));
  if (o)
    TL_TRY(check_overflow_names(s, d, o));
  for (uint32_t i = 0; i < N_PARAMETERS; i++) {
    const parameter *p = &parameters[i];
    if (p->of != manager)
      continue;
    const char *text = o ? tl_run_member_text(o, p->name) : NULL;
    if (text)
      set_parameter(&s->train.loss_scale, p->field, text);
    else if (p->required)
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-LS-RANGE", tl_at_option(s, id),
                          "%s needs %s\vwrite {\"type\": \"%s\", \"%s\": N, ...}", type, p->name,
                          type, p->name);
  }
  return TL_OK;
}

/* Reads the manager of the loss scale. The type is copied because the object is closed at the
 * end. */
static tl_status read_manager(tl_settings *s, tl_diag *d) {
  static const tl_option_id id = TL_OPTION_LOSS_SCALE_MANAGER;
  tl_train_config *c = &s->train;
  tl_run_object o = {0};
  bool object = tl_run_object_open(s, id, &o);
  const char *type = object ? tl_run_member_text(&o, "type") : s->value[id];
  type = type ? tl_arena_copy(&s->arena, type, strlen(type)) : NULL;
  tl_status status = TL_OK;
  if (!type)
    status =
        tl_fail_code(d, TL_INVALID_ARGUMENT, "E-LS-NOMGR", tl_at_option(s, id),
                     "does not name a manager\vwrite {\"type\": \"FixedLossScaleManager\", ...}");
  else if (tl_loss_scale_default(tl_sv_from(type), &c->loss_scale))
    status = read_parameters(s, d, object ? &o : NULL, type);
  if (status == TL_OK)
    status = tl_loss_scale_check(d, tl_at_option(s, id), &c->loss_scale);
  c->has_manager = status == TL_OK;
  if (object)
    tl_run_object_close(&o);
  return status;
}

/* Requires the same scale in optimizer and manager, if the manager looks for no overflow: the
 * optimizer then divides by its own scale. */
static tl_status check_blind(tl_settings *s, tl_diag *d) {
  const tl_train_config *c = &s->train;
  if (!c->is_loss_scale || !c->has_manager || c->loss_scale.kind != TL_LOSS_SCALE_FIXED_BLIND ||
      c->optimizer_loss_scale == 0 || c->optimizer_loss_scale == c->loss_scale.init)
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_f32(&text, c->optimizer_loss_scale);
  tl_buf_add_z(&text, " in the optimizer, ");
  tl_buf_add_f32(&text, c->loss_scale.init);
  tl_status status =
      tl_fail_code(d, TL_INVALID_ARGUMENT, "E-LS-OPT", tl_at_option(s, TL_OPTION_OPT),
                   "loss_scale is %s in the manager; with drop_overflow_update=false both must be "
                   "the same",
                   text.p ? text.p : "");
  tl_buf_release(&text);
  return status;
}

/* Reads all keys of the loss scale. */
static tl_status read_loss_scale(tl_settings *s, tl_diag *d) {
  tl_train_config *c = &s->train;
  tl_option_id id = TL_OPTION_LOSS_SCALE_MANAGER;
  c->is_loss_scale = tl_run_true(s, TL_OPTION_IS_LOSS_SCALE);
  c->status = (tl_overflow_status)choice(s, TL_OPTION_STATUS);
  c->update_form = (tl_update_form)choice(s, TL_OPTION_UPDATE_FORM);
  c->bad_run = tl_run_true(s, TL_OPTION_BAD_RUN);
  c->flag_in_bucket = tl_run_true(s, TL_OPTION_FLAG_IN_BUCKET);
  c->compat_unscale = tl_run_true(s, TL_OPTION_COMPAT_UNSCALE);
  if (s->value[id])
    TL_TRY(read_manager(s, d));
  if (c->is_loss_scale && !c->has_manager)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-LS-NOMGR",
                        tl_at_option(s, TL_OPTION_IS_LOSS_SCALE), "needs loss_scale_manager");
  if (c->bad_run && (!c->is_loss_scale || c->loss_scale.kind == TL_LOSS_SCALE_FIXED_BLIND))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                        tl_at_option(s, TL_OPTION_BAD_RUN),
                        "nothing detects overflow\vset is_loss_scale, with a manager that skips "
                        "steps that overflow");
  if (c->has_manager && !c->is_loss_scale)
    tl_warn_code(d, "W-LS-UNUSED", tl_at_option(s, id), "has no effect without is_loss_scale=true");
  return check_blind(s, d);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Reads type and loss scale of the optimizer; a text instead of an object is the type. */
static tl_status read_optimizer(tl_settings *s, tl_diag *d) {
  tl_train_config *c = &s->train;
  tl_run_object o;
  c->name = tl_settings_get(s, TL_OPTION_OPTIMIZER_NAME);
  c->optimizer = s->value[TL_OPTION_OPT];
  if (!tl_run_object_open(s, TL_OPTION_OPT, &o))
    return TL_OK;
  const cJSON *type = tl_run_member_find_json(&o, "type");
  const cJSON *scale = tl_run_member_find_json(&o, "loss-scale");
  c->optimizer_loss_scale = scale ? (float)scale->valuedouble : 0;
  c->optimizer = type ? tl_arena_copy(&s->arena, type->valuestring, strlen(type->valuestring))
                      : NULL;
  tl_run_object_close(&o);
  if (type && !c->optimizer)
    return tl_fail_memory(d, TL_NOWHERE);
  return TL_OK;
}

/* Names the optimizer NPUOptimizer<Type> by default, as the wrapping optimizer of the host does. */
static tl_status name_optimizer(tl_settings *s, tl_diag *d) {
  tl_train_config *c = &s->train;
  if (s->value[TL_OPTION_OPTIMIZER_NAME] || !c->optimizer)
    return TL_OK;
  size_t n = strlen(c->name) + strlen(c->optimizer) + 1;
  char *name = tl_arena_alloc(&s->arena, n);
  if (!name)
    return tl_fail_memory(d, TL_NOWHERE);
  strcpy(name, c->name);
  strcat(name, c->optimizer);
  c->name = name;
  return TL_OK;
}

static void read_ranks(tl_settings *s) {
  tl_train_config *c = &s->train;
  c->is_distributed = tl_run_true(s, TL_OPTION_IS_DISTRIBUTED);
  c->rank_size = (uint32_t)tl_run_int(s, TL_OPTION_RANK_SIZE);
  c->group = tl_settings_get(s, TL_OPTION_GROUP);
  c->force_allreduce = tl_run_true(s, TL_OPTION_FORCE_ALLREDUCE);
  c->replace_allreduce = tl_run_true(s, TL_OPTION_REPLACE_ALLREDUCE);
  c->average = (tl_average)choice(s, TL_OPTION_AVERAGE);
  c->ar_f32 = choice(s, TL_OPTION_AR_DTYPE) == 1;
  c->ar_site = (tl_ar_site)choice(s, TL_OPTION_AR_SITE);
  c->accumulation_steps = tl_run_int(s, TL_OPTION_ACCUMULATION_STEPS);
  c->sparse_dense_fallback = tl_run_true(s, TL_OPTION_SPARSE_DENSE_FALLBACK);
  c->wus = tl_run_true(s, TL_OPTION_WUS);
  c->broadcast_states = tl_run_true(s, TL_OPTION_BROADCAST_STATES);
  c->init_graph = tl_run_true(s, TL_OPTION_INIT_GRAPH);
  c->verify_ranks = (uint32_t)tl_run_int(s, TL_OPTION_VERIFY_RANKS);
}

/* Reads keys of the schedule. With compat_defaults=code, hcom_parallel is off unless it is given,
 * which is the default of the host's code and not of its manual. */
static void read_schedule(tl_settings *s) {
  static const tl_tail_mode modes[] = {TL_TAIL_LATE_COMMIT, TL_TAIL_LATE, TL_TAIL_EARLY_LOCAL,
                                       TL_TAIL_EARLY_BOUND};
  tl_train_config *c = &s->train;
  bool code = choice(s, TL_OPTION_COMPAT_DEFAULTS) == 1;
  const char *preset = tl_settings_get(s, TL_OPTION_HW_PRESET);
  c->hcom_parallel =
      s->value[TL_OPTION_HCOM_PARALLEL] || !code ? tl_run_true(s, TL_OPTION_HCOM_PARALLEL) : false;
  c->tail_mode = modes[choice(s, TL_OPTION_TAIL_MODE)];
  c->decompose_updates = tl_run_true(s, TL_OPTION_DECOMPOSE_UPDATES);
  c->inplace_state = tl_run_true(s, TL_OPTION_INPLACE_STATE);
  c->relax_user_ctrl = tl_run_true(s, TL_OPTION_RELAX_USER_CTRL);
  c->hw_preset = strcmp(preset, "none") == 0 ? NULL : preset;
  c->cost = (tl_cost_model)choice(s, TL_OPTION_COST);
  c->profile = s->value[TL_OPTION_PROFILE];
  c->mem_limit = tl_run_int(s, TL_OPTION_MEM_LIMIT);
}

/* Reads is_tailing_optimization. It hides work behind the last AllReduce, so it is ignored with a
 * warning where there is none. */
static void read_tailing(tl_settings *s, tl_diag *d) {
  tl_train_config *c = &s->train;
  tl_option_id id = s->value[TL_OPTION_IS_TAILING_OPTIMIZATION]
                        ? TL_OPTION_IS_TAILING_OPTIMIZATION
                        : TL_OPTION_OPTIMIZER_IS_TAILING_OPTIMIZATION;
  tl_location where = tl_at_option(s, id);
  bool one = c->rank_size == 1 && !c->force_allreduce;
  c->is_tailing_optimization = tl_run_true(s, id);
  if (!c->is_tailing_optimization)
    return;
  if (!c->is_distributed || one) {
    tl_warn_code(d, "W-TAIL-LOCAL", where, "is ignored: %s",
                 c->is_distributed ? "there is one rank only (rank_size)"
                                   : "nothing is distributed (is_distributed)");
    c->is_tailing_optimization = false;
    return;
  }
  if (!c->hcom_parallel)
    tl_warn_code(d, "W-TAIL-SERIAL", where,
                 "gains little without hcom_parallel: updates share the stream of backward");
}

static void read_step(tl_settings *s) {
  tl_train_config *c = &s->train;
  c->train = tl_run_int(s, TL_OPTION_GRAPH_RUN_MODE) == 1;
  c->spec = s->value[TL_OPTION_TRAIN_SPEC];
  c->iterations_per_loop = tl_run_int(s, TL_OPTION_ITERATIONS_PER_LOOP);
  c->total_step = tl_run_int(s, TL_OPTION_TOTAL_STEP);
  c->variable_placement = choice(s, TL_OPTION_VARIABLE_PLACEMENT) ? TL_PLACE_HOST : TL_PLACE_DEVICE;
  c->mix_compile_mode = tl_run_true(s, TL_OPTION_MIX_COMPILE_MODE);
}

/* Warns once if keys of training are set for inference. */
static void warn_inference(tl_settings *s, tl_diag *d) {
  static const tl_option_id training[] = {TL_OPTION_IS_DISTRIBUTED, TL_OPTION_IS_LOSS_SCALE,
                                          TL_OPTION_IS_TAILING_OPTIMIZATION};
  for (size_t i = 0; !s->train.train && i < sizeof training / sizeof *training; i++)
    if (tl_run_true(s, training[i])) {
      tl_warn_code(d, "W-TRN-INFER", tl_at_option(s, training[i]),
                   "has no effect with graph_run_mode=0");
      return;
    }
}

tl_status tl_resolve_run_config(tl_settings *s, tl_diag *d) {
  s->train = tl_train_config_default();
  read_step(s);
  read_ranks(s);
  read_schedule(s);
  tl_status first = read_optimizer(s, d);
  if (first == TL_OK)
    first = name_optimizer(s, d);
  tl_status (*const readers[])(tl_settings *, tl_diag *) = {read_engines, read_buckets,
                                                            read_loss_scale};
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
    tl_status status = readers[i](s, d);
    if (first == TL_OK)
      first = status;
  }
  read_tailing(s, d);
  warn_inference(s, d);
  /* graph_run_mode is 1 by default; only a run configuration in use makes a graph train. */
  s->train.train = s->train.train && tl_run_config_used(s);
  s->options.train = tl_run_config_used(s) ? &s->train : NULL;
  s->options.optim_model = s->value[TL_OPTION_OPTIM_MODEL];
  return first;
}
