/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the data of a page from a model: runs the passes of convert once and records them. */
#ifndef TL_TOOLS_PAGE_MODEL_H
#define TL_TOOLS_PAGE_MODEL_H

#include "support/json_writer.h"
#include "tools/cli/cli.h"
#include "tools/page/chunks.h"
#include "tools/page/record.h"

/* What is asked for. */
typedef struct tl_view_request {
  tl_cli *cli;      /* settings resolved */
  const char *path; /* of the model */
  tl_sv errors; /* what verify --layers --json prints, to be laid over the graph; "": the file of
                     * --errors, if it is given */
  bool bare;    /* no pass runs: the model as it is */
  bool exact;   /* all numbers of constants that are cast are counted, however many there are */
} tl_view_request;

/* A model with all that is known of it. */
typedef struct tl_view_model {
  tl_cli *cli;
  const char *path;
  const tl_view_request *request; /* while it is made */
  tl_module *m;                   /* owned; as it became */
  tl_chunks *chunks;
  tl_view_strings strings;
  tl_view_record record;
  tl_step_record steps;
  tl_u32_vec dtype_why;   /* by node: text */
  tl_u32_vec use_why;     /* by use: text */
  tl_buf precision;       /* the chunk of that name; "": none */
  tl_json_writer decided; /* writes it: what was decided first, motions behind all passes */
  tl_stage stage;
  bool has_errors;   /* errors of tensors are laid over it */
  uint32_t swept;    /* nodes where each pass looked for near misses; 0: all */
  bool npu;          /* it has NPU form */
  const char *ended; /* arena of settings; why the passes ended early; NULL: they did not */
} tl_view_model;

/* Reads a model, runs the passes over it and adds its chunks, all but the index. The request is
 * read during the call. Release it in any case. Errors of loading and TL_NO_MEMORY, reported. A
 * pass that fails is no error: the record ends there. */
tl_status tl_view_model_make(tl_view_model *v, const tl_view_request *request,
                             tl_chunks *chunks) TL_NODISCARD;
/* Frees everything but the chunks. */
void tl_view_model_release(tl_view_model *v);
/* Adds the members of the index about a model and its passes to an open object. */
struct tl_json_writer;
void tl_view_model_index(const tl_view_model *v, struct tl_json_writer *w);

#endif
