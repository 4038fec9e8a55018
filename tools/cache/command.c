/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor cache: stats, clear, verify, trim. */
#include <errno.h>

#include "support/json_writer.h"
#include "support/measure.h"
#include "tools/cache/cache.h"
#include "tools/cache/entry.h"
#include "tools/cache/trim.h"

/* One action on an open cache. */
typedef tl_status (*action_fn)(tl_cli *cli, const tl_store *s);

/* Reports what errno says. */
static tl_status cannot_read(tl_cli *cli, const tl_store *s, int error) {
  if (error == ENOMEM)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return tl_fail(&cli->diag, TL_IO, TL_AT_FILE(s->dir), "cannot read the cache: %s",
                 strerror(error));
}

/* ---- stats ----------------------------------------------------------------------------------- */

static void put_text(const tl_store *s, const tl_store_counts *c, const tl_store_size *size,
                     tl_buf *out) {
  tl_buf_printf(out, "cache       %s\nentries     %llu\nsize        ", s->dir,
                (unsigned long long)size->entries);
  tl_add_bytes(out, size->bytes);
  tl_buf_add_z(out, " of ");
  tl_add_bytes(out, (uint64_t)c->limit);
  tl_buf_printf(out,
                "\nhits        %lld\nmisses      %lld\nnot cached  %lld\n"
                "damaged     %lld\nevicted     %lld\n",
                (long long)c->hits, (long long)c->misses, (long long)c->not_cached,
                (long long)c->damaged, (long long)c->evicted);
}

static void put_json(const tl_store *s, const tl_store_counts *c, const tl_store_size *size,
                     tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_member_z(&w, "cache", s->dir);
  const tl_count_member counts[] = {
      {"entries", size->entries},        {"bytes", size->bytes},
      {"limit", (uint64_t)c->limit},     {"hits", (uint64_t)c->hits},
      {"misses", (uint64_t)c->misses},   {"not_cached", (uint64_t)c->not_cached},
      {"damaged", (uint64_t)c->damaged}, {"evicted", (uint64_t)c->evicted}};
  tl_member_counts(&w, counts, sizeof counts / sizeof *counts);
  tl_json_finish(&w);
}

static tl_status show_stats(tl_cli *cli, const tl_store *s) {
  tl_store_size size;
  tl_store_counts c = tl_store_count(s, NULL);
  tl_buf text;
  if (c.error || !tl_store_measure(s, &size))
    return cannot_read(cli, s, c.error ? c.error : errno);
  tl_buf_init(&text);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON))
    put_json(s, &c, &size, &text);
  else
    put_text(s, &c, &size, &text);
  return tl_cli_print(cli, &text);
}

/* ---- clear, trim ----------------------------------------------------------------------------- */

/* Adds an object of counts. */
static void put_counts(tl_buf *out, const tl_count_member *counts, size_t n) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_member_counts(&w, counts, n);
  tl_json_finish(&w);
}

/* Prints what is left. */
static tl_status say_left(tl_cli *cli, const tl_store_size *left, uint64_t evicted) {
  tl_buf text;
  tl_buf_init(&text);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON)) {
    put_counts(&text,
               (tl_count_member[]){
                   {"removed", evicted}, {"entries", left->entries}, {"bytes", left->bytes}},
               3);
    return tl_cli_print(cli, &text);
  }
  tl_buf_printf(&text, "%llu entries removed; %llu left, ", (unsigned long long)evicted,
                (unsigned long long)left->entries);
  tl_add_bytes(&text, left->bytes);
  tl_buf_add_char(&text, '\n');
  return tl_cli_print(cli, &text);
}

static tl_status cut_to(tl_cli *cli, const tl_store *s, uint64_t limit) {
  tl_store_size left;
  uint64_t evicted;
  return tl_store_trim(s, limit, &left, &evicted) ? say_left(cli, &left, evicted)
                                                  : cannot_read(cli, s, errno);
}

static tl_status clear(tl_cli *cli, const tl_store *s) { return cut_to(cli, s, 0); }

static tl_status trim(tl_cli *cli, const tl_store *s) {
  uint64_t limit = 0;
  if (tl_cli_has(cli, TL_OPTION_CACHE_SIZE)) {
    const char *text = tl_cli_get(cli, TL_OPTION_CACHE_SIZE);
    if (!tl_parse_size(tl_sv_from(text), &limit) || limit == 0 || limit > INT64_MAX)
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                     tl_at_option(&cli->settings, TL_OPTION_CACHE_SIZE),
                     "'%s' is not a number of bytes\vfor example 500M or 20G", text);
    tl_store_counts set = tl_store_count(s, &(tl_store_counts){.limit = (int64_t)limit});
    if (set.error)
      return tl_fail(&cli->diag, TL_IO, TL_AT_FILE(s->dir), "cannot write the limit: %s",
                     strerror(set.error));
  }
  tl_store_counts c = tl_store_count(s, NULL);
  return c.error ? cannot_read(cli, s, c.error) : cut_to(cli, s, (uint64_t)c.limit);
}

/* ---- verify ---------------------------------------------------------------------------------- */

typedef struct verification {
  tl_cli *cli;
  const tl_store *store;
  uint64_t checked;
  uint64_t damaged;
  bool failed; /* an entry could not be read, which was reported */
} verification;

static void verify_one(void *user, const char *key) {
  verification *v = user;
  tl_entry e = {.store = v->store, .cancel = v->cli->signal};
  if (*v->cli->signal || v->failed)
    return;
  tl_fetched got = tl_entry_find(&e, key);
  if (got == TL_FETCHED)
    got = tl_entry_check(&e);
  if (got == TL_FETCH_UNREAD) {
    v->failed = true;
    (void)!cannot_read(v->cli, v->store, errno);
  }
  v->checked += got != TL_FETCH_NONE;
  v->damaged += got == TL_FETCH_DAMAGED;
  if (got == TL_FETCH_DAMAGED) {
    tl_warn_code(&v->cli->diag, "W_CACHE_DAMAGED", TL_AT_FILE(e.path),
                 "this entry of the cache is damaged: %s\vit is removed", e.why);
    tl_store_remove(v->store, e.path);
  }
  tl_entry_release(&e);
}

static tl_status verify(tl_cli *cli, const tl_store *s) {
  verification v = {.cli = cli, .store = s};
  tl_buf text;
  if (!tl_store_each(s, verify_one, &v))
    return cannot_read(cli, s, errno);
  if (v.failed)
    return TL_IO;
  tl_buf_init(&text);
  if (v.damaged)
    tl_store_count(s, &(tl_store_counts){.damaged = (int64_t)v.damaged});
  cli->differs = v.damaged > 0;
  if (tl_cli_has(cli, TL_OPTION_AS_JSON))
    put_counts(&text, (tl_count_member[]){{"checked", v.checked}, {"damaged", v.damaged}}, 2);
  else
    tl_buf_printf(&text, "%llu entries checked, %llu damaged\n", (unsigned long long)v.checked,
                  (unsigned long long)v.damaged);
  return *cli->signal ? TL_IO : tl_cli_print(cli, &text);
}

/* ---- all ------------------------------------------------------------------------------------- */

static action_fn find_action(const char *name) {
  static const struct {
    const char *name;
    action_fn fn;
  } actions[] = {{"stats", show_stats}, {"clear", clear}, {"verify", verify}, {"trim", trim}};
  for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
    if (strcmp(actions[i].name, name) == 0)
      return actions[i].fn;
  return NULL;
}

tl_status tl_command_cache(tl_cli *cli) {
  const char *folder = tl_cache_folder(cli);
  action_fn act = find_action(cli->word);
  tl_store store;
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "nothing is said that can be done with a cache\vstats, clear, verify or trim");
  if (!act)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "'%s' is nothing that can be done with a cache\vstats, clear, verify or trim",
                   cli->word);
  if (act != trim && tl_cli_has(cli, TL_OPTION_CACHE_SIZE))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_CACHE_SIZE),
                   "is for 'tailor cache trim'");
  if (!folder)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no cache is named\vgive --cache-dir=DIR, or set TAILOR_CACHE_DIR");
  tl_store_state state = tl_store_open(&store, folder, false);
  if (state == TL_STORE_FOREIGN)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(folder),
                   "the folder is not empty and no cache of tailor");
  if (state == TL_STORE_NONE)
    return tl_fail(&cli->diag, TL_IO, TL_AT_FILE(folder), "there is no cache in this folder");
  return act(cli, &store);
}
