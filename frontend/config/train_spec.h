/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of a training step: metadata tailor.train.* of a model, and the file of
 * --train-spec, which goes before it. */
#ifndef TL_FRONTEND_CONFIG_TRAIN_SPEC_H
#define TL_FRONTEND_CONFIG_TRAIN_SPEC_H

#include "frontend/config/settings.h"
#include "ir/module.h"
#include "ir/options/train_spec.h"

/* Reads both. *out is in the arena of the settings, which must outlive the module; NULL when
 * nothing is declared. E-TRN-SPEC: JSON that is none, or not of the form of its key. */
tl_status tl_train_spec_read(tl_settings *s, tl_diag *d, const tl_module *m,
                             const tl_train_spec **out) TL_NODISCARD;

/* The text of such a file alone; `path` is for messages. */
tl_status tl_train_spec_read_text(tl_settings *s, tl_diag *d, const char *path, tl_sv text,
                                  const tl_train_spec **out) TL_NODISCARD;

#endif
