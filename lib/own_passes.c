/* SPDX-License-Identifier: Apache-2.0 */
/* Implements passes of the caller (include/tailor/extend.h). */
#include <ctype.h>

#include "lib/handle.h"

/* Runs a pass of the caller on a handle that lives as long as the call. */
static tl_status run_pass(tl_pass *p, tl_module *module) {
  const tl_lib_pass *own = (const tl_lib_pass *)(const void *)p->row;
  tl_context *c = own->context;
  if (*p->rewrites >= p->limit)
    return TL_OK;
  tl_model m = {.context = c, .module = module, .pass = p};
  uint32_t errors = tl_lib_enter(c);
  int code = own->def.run(own->def.user, &m);
  TL_TRY(tl_lib_leave(c, code, errors, own->def.name));
  tl_status status = tl_lib_check(&m);
  if (status == TL_INVALID_MODEL)
    return tl_fail(&c->diag, TL_INVALID_MODEL, TL_AT_FILE(module->path),
                   "pass '%s' left a model that is not well formed", own->def.name);
  return status;
}

static bool is_pass_name(const char *name) {
  bool good = name && *name;
  for (const char *c = name; good && *c; c++)
    good = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-';
  return good;
}

static bool is_taken(const tl_context *c, const char *name) {
  for (uint32_t i = 0; i < c->passes.n; i++)
    if (strcmp(c->passes.at[i]->row.name, name) == 0)
      return true;
  return tl_pass_find(tl_sv_from(name)) != NULL;
}

/* Says what is wrong with a definition; NULL if nothing is. */
static const char *fault_of(const tl_pass_def *pass) {
  if (!is_pass_name(pass->name))
    return "the name of a pass is lower case, digits and dashes";
  if (!pass->run)
    return "a pass needs a function";
  return pass->level < 0 || pass->level > 2 ? "the level of a pass is 0, 1 or 2" : NULL;
}

/* Copies a text of the caller to the arena of the context; NULL without memory. */
static const char *keep(tl_context *c, const char *text) {
  return tl_arena_copy(&c->arena, text, strlen(text));
}

static tl_status add(tl_context *c, const tl_pass_def *pass) {
  tl_lib_pass *made = tl_arena_calloc(&c->arena, 1, sizeof *made);
  const char *name = keep(c, pass->name);
  const char *summary = keep(c, pass->summary ? pass->summary : "");
  const char *after = pass->after ? keep(c, pass->after) : NULL;
  if (!made || !name || !summary || (pass->after && !after))
    return TL_NO_MEMORY;
  made->own.row = (tl_pass_row){.name = name,
                                .summary = summary,
                                .fn = run_pass,
                                .level = (uint8_t)pass->level,
                                .stage = TL_STAGE_ALL};
  made->own.after = after;
  made->def = *pass;
  made->def.name = name;
  made->context = c;
  return tl_lib_pass_vec_push(&c->passes, &made->own) ? TL_OK : TL_NO_MEMORY;
}

int tl_pass_register(tl_context *c, const tl_pass_def *pass) {
  int code;
  if (tl_lib_lacks(c, pass, "pass", &code) || tl_lib_is_inside(c, "register a pass", &code))
    return code;
  const char *fault = fault_of(pass);
  if (fault)
    return tl_lib_misuse(c, "%s", fault);
  if (is_taken(c, pass->name))
    return tl_lib_misuse(c, "there is a pass '%s' already", pass->name);
  if (pass->after && !tl_pass_find(tl_sv_from(pass->after)))
    return tl_lib_misuse(c, "there is no pass '%s' to run behind\v'tailor passes' lists them",
                         pass->after);
  uint32_t errors = tl_lib_begin(c);
  return tl_lib_end(c, add(c, pass), errors);
}
