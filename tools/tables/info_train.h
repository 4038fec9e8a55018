/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the training step of a model (tailor info --train). */
#ifndef TL_TOOLS_TABLES_INFO_TRAIN_H
#define TL_TOOLS_TABLES_INFO_TRAIN_H

#include "ir/module.h"
#include "tools/cli/cli.h"

/* Recognises the training step of a model that was just read, and prints it. */
tl_status tl_info_train(tl_cli *cli, tl_module *m) TL_NODISCARD;

/* Adds a name from a file, quoted if it has characters that could confuse a terminal. */
void tl_info_add_name(tl_buf *out, tl_sv name);

#endif
