/* SPDX-License-Identifier: Apache-2.0 */
/* Reads folders of values: input_0.pb, input_1.pb ... and output_0.pb ..., as test data of ONNX
 * models comes. A .npy file counts if there is no .pb file of its number. */
#ifndef TL_TOOLS_RUN_DATA_FOLDER_H
#define TL_TOOLS_RUN_DATA_FOLDER_H

#include "tools/run/evaluation.h"

/* Returns true if the path names a folder. */
bool tl_is_folder(const char *path);

/* Reads input_N.pb into one entry for each graph input. Files go by the names inside them if each
 * names another input, else by position over the inputs without a default. Entries without a file
 * are NULL. The caller releases the values, also after an error. TL_INVALID_MODEL for too many
 * files. */
tl_status tl_folder_inputs(tl_evaluation *e, const char *folder, const tl_module *m,
                           tl_host_vec *out) TL_NODISCARD;
/* Reads output_N.pb into one entry for each graph output; NULL where the folder has none. The
 * caller releases the values. TL_INVALID_ARGUMENT if the folder has no output at all. */
tl_status tl_folder_outputs(tl_evaluation *e, const char *folder, const tl_module *m,
                            tl_host_vec *out) TL_NODISCARD;

#endif
