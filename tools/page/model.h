/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the data of a page from a model: runs the passes of convert once and records them. */
#ifndef TL_TOOLS_PAGE_MODEL_H
#define TL_TOOLS_PAGE_MODEL_H

#include "tools/cli/cli.h"
#include "tools/page/chunks.h"
#include "tools/page/record.h"

/* A model with all that is known of it. */
typedef struct tl_view_model {
  tl_cli *cli;
  const char *path;
  tl_module *m; /* owned; as it became */
  tl_chunks *chunks;
  tl_view_strings strings;
  tl_view_record record;
  tl_step_record steps;
  tl_u32_vec dtype_why; /* by node: text */
  tl_u32_vec use_why;   /* by use: text */
  tl_stage stage;
  bool explains;     /* near misses were looked for */
  bool npu;          /* it has NPU form */
  const char *ended; /* arena of settings; why the passes ended early; NULL: they did not */
} tl_view_model;

/* Reads a model, runs the passes over it and adds its chunks, all but the index. Release it in any
 * case. Errors of loading and TL_NO_MEMORY, reported. A pass that fails is no error: the record
 * ends there. */
tl_status tl_view_model_make(tl_view_model *v, tl_cli *cli, const char *path,
                             tl_chunks *chunks) TL_NODISCARD;
/* Frees everything but the chunks. */
void tl_view_model_release(tl_view_model *v);
/* Adds the members of the index about a model and its passes to an open object. */
struct tl_json_writer;
void tl_view_model_index(const tl_view_model *v, struct tl_json_writer *w);

#endif
