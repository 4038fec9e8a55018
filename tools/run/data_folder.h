/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of values: input_0.pb, input_1.pb ... and output_0.pb ..., as test data of ONNX models
 * comes; .npy files count when there is no .pb file of that number. */
#ifndef TL_TOOLS_RUN_DATA_FOLDER_H
#define TL_TOOLS_RUN_DATA_FOLDER_H

#include "tools/run/evaluation.h"

/* Whether the path names a folder. */
bool tl_is_folder(const char *path);

/* Reads input_N.pb into one entry a graph input. Files go by the names inside them when each names
 * another input, else by position over the inputs without a default. Entries without a file are
 * NULL. */
tl_status tl_folder_inputs(tl_evaluation *e, const char *folder, const tl_module *m,
                           tl_host_vec *out) TL_NODISCARD;
/* Reads output_N.pb into one entry a graph output; NULL where the folder has none. */
tl_status tl_folder_outputs(tl_evaluation *e, const char *folder, const tl_module *m,
                            tl_host_vec *out) TL_NODISCARD;

#endif
