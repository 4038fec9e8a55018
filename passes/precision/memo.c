/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps judged ops in a small direct-mapped cache (memo.h). */
#include "passes/precision/memo.h"

#include "support/hash.h"

enum { MEMO_ENTRIES = 256 };

struct tl_precision_memo {
  const tl_precision_form *form;
  uint64_t key;
  int32_t column;
  uint16_t first; /* preferred column; may differ from `column` */
  uint8_t rule[TL_MEMO_SLOTS];
  uint8_t match[TL_MEMO_SLOTS];
};

_Static_assert(TL_N_DTYPES <= 64 && TL_N_PRECISION_MODES <= 16 && TL_MEMO_SLOTS == 4,
               "14 bits a slot, 4 for the mode, 2 for the colour and 1 for kept fill a key");

/* Ops with customized dtypes, marks, promotions or a policy for constants depend on more than the
 * key holds. */
uint64_t tl_precision_memo_key(const tl_precision_walk *w, const tl_precision_form *form) {
  uint64_t key = 0;
  if (w->custom || w->op.inherits || form->promotes || w->slots.n > TL_MEMO_SLOTS ||
      w->d->config->constants >= TL_CONST_KEEP_FP32)
    return 0;
  for (uint32_t i = 0; i < w->slots.n; i++) {
    const tl_judged_slot *s = &w->slots.at[i];
    if (!s->output && s->index != i) /* an operand before it is absent: slots and indices differ */
      return 0;
    uint64_t slot = (uint64_t)s->original << 8 | (uint64_t)s->producer << 2;
    key = key << 14 | slot | (s->late ? 2U : 0U) | (s->output ? 1U : 0U);
  }
  key = key << 4 | (uint64_t)w->op.mode;
  key = key << 2 | (uint64_t)w->op.colour;
  return key << 1 | (w->op.kept ? 1U : 0U);
}

/* Returns the place of a key. The address of the form is part of the hash: it affects speed only,
 * since recall compares form and key. */
static struct tl_precision_memo *entry_of(tl_precision_walk *w, const tl_precision_form *form,
                                          uint64_t key) {
  if (!w->memo)
    w->memo = tl_arena_calloc(w->arena, MEMO_ENTRIES, sizeof *w->memo);
  uint64_t h = tl_hash_mix(key, (uintptr_t)form);
  return w->memo ? &w->memo[(h >> 32) % MEMO_ENTRIES] : NULL;
}

/* Form and key are compared in full: an entry may have been overwritten by another op. */
bool tl_precision_recall(tl_precision_walk *w, const tl_precision_form *form, uint64_t key,
                         int32_t *column) {
  const struct tl_precision_memo *e = key ? entry_of(w, form, key) : NULL;
  if (!e || e->form != form || e->key != key)
    return false;
  for (uint32_t i = 0; i < w->slots.n; i++) {
    tl_judged_slot *s = &w->slots.at[i];
    s->slot->rule = e->rule[i];
    s->slot->match = e->match[i];
    bool follows = e->rule[i] == TL_BY_FOLLOWS || e->rule[i] == TL_BY_VIEW;
    s->slot->from = follows && !s->output ? s->from : TL_NO_VALUE;
  }
  w->columns.at[0] = e->first;
  *column = e->column;
  return true;
}

void tl_precision_remember(tl_precision_walk *w, const tl_precision_form *form, uint64_t key,
                           int32_t column) {
  struct tl_precision_memo *e = key ? entry_of(w, form, key) : NULL;
  if (!e)
    return;
  *e = (struct tl_precision_memo){form, key, column, w->columns.at[0], {0}, {0}};
  for (uint32_t i = 0; i < w->slots.n; i++) {
    e->rule[i] = w->slots.at[i].slot->rule;
    e->match[i] = w->slots.at[i].slot->match;
  }
}
