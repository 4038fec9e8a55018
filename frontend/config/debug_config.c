/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/config/debug_config.h"

#include "frontend/config/config_file.h"

/* Returns the member that a word sets, or NULL for an unknown word. */
static bool *flag_of(tl_debug_config *c, tl_sv word) {
  const struct {
    const char *name;
    bool *flag;
  } words[] = {{"oom", &c->oom},    {"dump_cce", &c->dump_cce}, {"dump_loc", &c->dump_loc},
               {"ccec_O0", &c->o0}, {"ccec_g", &c->g},          {"check_flag", &c->check_flag}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (tl_sv_is(word, words[i].name))
      return words[i].flag;
  return NULL;
}

tl_status tl_read_debug_words(tl_diag *d, tl_location where, tl_sv list, tl_debug_config *out) {
  tl_status first = TL_OK;
  for (tl_sv rest = list; rest.p;) {
    tl_sv word = tl_sv_trim(tl_sv_split(&rest, ','));
    bool *flag = flag_of(out, word);
    if (flag)
      *flag = true;
    else if (word.n)
      first = tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-UNKNOWN", where,
                           "'%.*s' is not one of oom, dump_cce, dump_loc, ccec_O0, ccec_g and "
                           "check_flag",
                           TL_SV_ARG(tl_sv_shown(word)));
  }
  return first;
}

/* A text is a list if one of its items is a known word and either it is a single item, or it has a
 * comma and no '/'. A path with a comma thus stays a path. */
bool tl_is_debug_words(tl_sv text) {
  tl_debug_config any = {0};
  bool list = text.n && memchr(text.p, ',', text.n) && !memchr(text.p, '/', text.n);
  for (tl_sv rest = text; rest.p;)
    if (flag_of(&any, tl_sv_trim(tl_sv_split(&rest, ','))))
      return list || !memchr(text.p, ',', text.n);
  return false;
}

tl_status tl_read_debug_config_text(tl_diag *d, const char *path, tl_sv text,
                                    tl_debug_config *out) {
  /* Reading goes on after a bad line, so that one run shows every problem; the first status is
   * kept. */
  tl_status result = TL_OK;
  tl_location where = {.file = path};
  for (tl_sv rest = tl_config_without_mark(text); rest.p;) {
    tl_sv line = tl_sv_split(&rest, '\n');
    tl_sv value = tl_sv_split(&line, '#'); /* the part before a comment */
    where.line++;
    if (tl_sv_trim(value).n == 0)
      continue;
    tl_sv name = tl_sv_trim(tl_sv_split(&value, '='));
    tl_status status = TL_OK;
    if (tl_sv_is(name, "op_debug_config") && value.p)
      status = tl_read_debug_words(d, where, value, out);
    else if (!tl_sv_is(name, "op_debug_list") || !value.p)
      status = tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-UNKNOWN", where,
                            "'%.*s' is neither 'op_debug_config = WORD,...' nor 'op_debug_list = "
                            "OP,...'",
                            TL_SV_ARG(tl_sv_shown(name)));
    if (result == TL_OK)
      result = status;
  }
  return result;
}

tl_status tl_read_debug_config(tl_diag *d, tl_location where, const char *path,
                               tl_debug_config *out) {
  static const tl_config_kind kind = {"op_debug_config", "E-OPT-FILE", "E-OPT-FILE", false, 0};
  tl_file *f;
  TL_TRY(tl_config_open(d, where, path, &kind, &f));
  tl_status status =
      tl_read_debug_config_text(d, path, (tl_sv){(const char *)f->data, (size_t)f->size}, out);
  tl_file_close(f);
  return status;
}
