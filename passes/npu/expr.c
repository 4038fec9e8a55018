/* SPDX-License-Identifier: Apache-2.0 */
/* Parses expressions of the op table. A mistake in our own table is a text for TL_INTERNAL, without
 * a place in a file. */
#include "passes/npu/expr.h"

/* Keeps the message of the parser in the arena; NULL without memory. */
static tl_status keep_mistake(tl_expr_parser *p, tl_token at, tl_sv text) {
  const char **why = p->user;
  (void)at;
  *why = tl_arena_copy(p->arena, text.p, text.n);
  return TL_INTERNAL;
}

const tl_expr *tl_npu_expr_parse(tl_module *m, tl_arena *arena, tl_sv text, unsigned place,
                                 const char **why) {
  tl_buf room;
  tl_expr *e = NULL;
  tl_expr_parser p = {.m = m,
                      .arena = arena,
                      .lexer = tl_lex_start_rules(text),
                      .place = place,
                      .text = &room,
                      .fail = keep_mistake,
                      .user = why};
  tl_buf_init(&room);
  *why = NULL;
  p.at = tl_lex_next(&p.lexer);
  if (tl_expr_parse(&p, &e) != TL_OK) {
    e = NULL;
  } else if (p.at.kind != TL_TOKEN_END) {
    e = NULL;
    *why = "text after the end";
  }
  tl_buf_release(&room);
  return e;
}
