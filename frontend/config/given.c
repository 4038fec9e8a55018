/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options as they were given (given.h). */
#include "frontend/config/given.h"

const char *tl_settings_get(const tl_settings *s, tl_option_id id) {
  const char *oo = s->value[TL_OPTION_OO_LEVEL];
  if (id == TL_OPTION_LEVEL && oo) /* atc's O1 is what is needed and simplifications, O3 all */
    return oo[1] == '0' ? "0" : oo[1] == '1' ? "1" : "2";
  return s->value[id] ? s->value[id] : tl_option_row_get(id)->fallback;
}

tl_location tl_at_option(tl_settings *s, tl_option_id id) {
  tl_sv name = tl_sv_from(tl_option_row_get(id)->name);
  /* A value of a file is reported at its place there, spelled as files spell it. */
  if (s->origin[id].file) {
    tl_location where = s->origin[id];
    char *spelled = tl_arena_copy(&s->arena, name.p, name.n);
    for (size_t i = 0; spelled && i < name.n; i++)
      spelled[i] = name.p[i] == '-' ? '_' : name.p[i];
    where.attr = spelled ? (tl_sv){spelled, name.n} : name;
    return where;
  }
  char *text = tl_arena_alloc(&s->arena, name.n + 2);
  if (!text)
    return (tl_location){.attr = name};
  memcpy(text, "--", 2);
  memcpy(text + 2, name.p, name.n);
  return (tl_location){.attr = {text, name.n + 2}};
}
