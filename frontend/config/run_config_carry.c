/* SPDX-License-Identifier: Apache-2.0 */
/* Records a run configuration in the model. Keys of the runtime have GE's names. The effective
 * values of the others have "tailor.run." in front, so that a user can see later what was in
 * force. */
#include "frontend/config/run_config_read.h"

/* Returns a value as GE reads it: truth values are digits, and jit_compile has the numbers 0, 1 and
 * 2. */
static const char *as_ge_reads(const tl_run_key *key, const char *value) {
  bool yes = strcmp(value, "true") == 0;
  if (key->option == TL_OPTION_JIT_COMPILE)
    return yes ? "1" : strcmp(value, "false") == 0 ? "0" : strcmp(value, "auto") == 0 ? "2" : value;
  if (key->type.kind != TL_OPTION_BOOL)
    return value;
  return yes ? "1" : strcmp(value, "false") == 0 ? "0" : value;
}

/* Where recorded values go, with scratch texts for names and values. */
typedef struct carrier {
  tl_carry_fn add;
  void *user;
  tl_buf name;  /* of the audit */
  tl_buf value; /* made up */
} carrier;

/* Records the effective value of a key under "tailor.run.". */
static void audit(carrier *c, const tl_run_key *key, const char *value) {
  tl_buf_clear(&c->name);
  tl_buf_add_z(&c->name, "tailor.run.");
  for (const char *p = key->type.name; *p; p++)
    tl_buf_add_char(&c->name, *p == '-' ? '_' : *p);
  c->add(c->user, c->name.p ? c->name.p : "", tl_sv_from(value));
}

/* Records the members of an object under GE's keys. */
static void carry_object(const tl_settings *s, carrier *c, const tl_run_key *key) {
  uint32_t n;
  const tl_run_member *members = tl_run_members(&n);
  tl_run_object o;
  if (!tl_run_object_open(s, (tl_option_id)key->option, &o))
    return;
  for (uint32_t i = 0; i < n; i++) {
    const char *text =
        members[i].option == key->option ? tl_run_member_text(&o, members[i].type.name) : NULL;
    bool truth = members[i].type.kind == TL_OPTION_BOOL;
    if (text && *members[i].key)
      c->add(c->user, members[i].key, tl_sv_from(!truth ? text : text[0] == 't' ? "1" : "0"));
  }
  tl_run_object_close(&o);
}

/* Returns the value in force. It differs from the given one where options resolve a default or a
 * conflict, where the chip rounds hccl_timeout, and where GE wants bytes instead of a text. */
static const char *effective(const tl_settings *s, carrier *c, const tl_run_key *key) {
  tl_option_id id = (tl_option_id)key->option;
  switch (key->option) {
  case TL_OPTION_HCOM_PARALLEL: return s->train.hcom_parallel ? "true" : "false";
  case TL_OPTION_IS_TAILING_OPTIMIZATION:
  case TL_OPTION_OPTIMIZER_IS_TAILING_OPTIMIZATION:
    return s->train.is_tailing_optimization ? "true" : "false";
  case TL_OPTION_PRECISION_MODE:
    return s->value[id] || s->value[TL_OPTION_PRECISION_MODE_V2] ? tl_settings_get(s, id)
           : s->precision.mode_name                              ? s->precision.mode_name
                                                                 : "";
  case TL_OPTION_BUCKET_STRATEGY:
    return s->train.buckets == TL_BUCKETS_SIZE      ? "size"
           : s->train.buckets == TL_BUCKETS_INDEX   ? "index"
           : s->train.buckets == TL_BUCKETS_LIBRARY ? "library"
                                                    : tl_settings_get(s, id);
  default: break;
  }
  if (key->option != TL_OPTION_HCCL_TIMEOUT && key->type.kind != TL_OPTION_SIZE)
    return tl_settings_get(s, id);
  tl_buf_clear(&c->value);
  if (*tl_settings_get(s, id))
    tl_buf_add_i64(&c->value, key->option == TL_OPTION_HCCL_TIMEOUT ? tl_run_hccl_timeout(s)
                                                                    : tl_run_int(s, id));
  return c->value.n ? c->value.p : "";
}

/* Returns true for the number of steps of a loop that the model already contains: a runtime that
 * read it would run a second loop around it. */
static bool is_done(const tl_settings *s, const tl_run_key *key) {
  return key->option == TL_OPTION_ITERATIONS_PER_LOOP && s->train.train &&
         s->train.iterations_per_loop > 1;
}

/* Records one key, as its consumer needs it. A shared key of the host or of the past has two
 * meanings; only its value in the file belongs to the run configuration. */
static void carry_key(const tl_settings *s, carrier *c, const tl_run_key *key, bool used) {
  tl_option_id id = (tl_option_id)key->option;
  bool of_file = key->shared &&
                 (key->consumer == TL_CONSUMER_HOST || key->consumer == TL_CONSUMER_GONE);
  const char *given = of_file ? s->file_value[id] : s->value[id];
  bool acts = key->consumer == TL_CONSUMER_COMPILE || key->consumer == TL_CONSUMER_BOTH;
  /* Options that atc has, too, are recorded by settings_resolve.c if they are only recorded. */
  bool named = *key->key && !(key->shared && (!used || key->consumer == TL_CONSUMER_ATTR));
  if (key->consumer == TL_CONSUMER_GONE || (acts && !used))
    return;
  if (key->consumer == TL_CONSUMER_HOST && given)
    audit(c, key, given);
  if (key->consumer == TL_CONSUMER_HOST)
    return;
  const char *value = effective(s, c, key);
  if (given && named && !is_done(s, key))
    c->add(c->user, key->key, tl_sv_from(as_ge_reads(key, value)));
  if (given && !acts && key->type.kind == TL_OPTION_OBJECT)
    carry_object(s, c, key);
  if (acts && *value)
    audit(c, key, value);
}

tl_status tl_carry_run_config(tl_settings *s, tl_diag *d, tl_carry_fn add, void *user) {
  uint32_t n;
  const tl_run_key *keys = tl_run_keys(&n);
  bool used = tl_run_config_used(s);
  carrier c = {.add = add, .user = user};
  tl_buf_init(&c.name);
  tl_buf_init(&c.value);
  for (uint32_t i = 0; i < n; i++)
    carry_key(s, &c, &keys[i], used);
  bool failed = c.name.failed || c.value.failed;
  tl_buf_release(&c.name);
  tl_buf_release(&c.value);
  return failed ? tl_fail_memory(d, TL_NOWHERE) : TL_OK;
}
