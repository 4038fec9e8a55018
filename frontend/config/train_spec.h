/* SPDX-License-Identifier: Apache-2.0 */
/* Reads declarations of a training step: metadata tailor.train.* and the file of --train-spec.
 * The file wins over the metadata of the model. */
#ifndef TL_FRONTEND_CONFIG_TRAIN_SPEC_H
#define TL_FRONTEND_CONFIG_TRAIN_SPEC_H

#include "frontend/config/settings.h"
#include "ir/module.h"
#include "ir/options/train_spec.h"

/* Reads both. *out is in the arena of the settings, which must outlive the module; NULL if nothing
 * is declared. E-TRN-SPEC: no JSON, or not of the form of its key. */
tl_status tl_train_spec_read(tl_settings *s, tl_diag *d, const tl_module *m,
                             const tl_train_spec **out) TL_NODISCARD;

/* Reads the text of a --train-spec file only; `path` names it in messages. */
tl_status tl_train_spec_read_text(tl_settings *s, tl_diag *d, const char *path, tl_sv text,
                                  const tl_train_spec **out) TL_NODISCARD;

#endif
