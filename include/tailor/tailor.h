/* SPDX-License-Identifier: Apache-2.0 */
/* libtailor: an offline graph compiler for Ascend NPUs. Reads ONNX (or AIR, or textual IR),
 * rewrites it, and writes AIR, ONNX or textual IR. Everything is opaque; options are those of the
 * command line (`tailor help convert`, docs/options.md). docs/c-api.md goes through it.
 *
 *   tl_context *c = tl_context_create();
 *   tl_context_on_message(c, print_message, NULL);
 *   tl_model *m = NULL;
 *   if (tl_context_set(c, "soc-version", "Ascend910B1") == TL_SUCCESS &&
 *       tl_model_load(c, "model.onnx", &m) == TL_SUCCESS &&
 *       tl_model_optimize(m, TL_FOR_AIR) == TL_SUCCESS)
 *     tl_model_save(m, "model.air");
 *   tl_model_destroy(m);
 *   tl_context_destroy(c);
 *
 * Functions that can fail return TL_SUCCESS or one of TL_ERROR_..., the exit codes of the command,
 * and have then reported at least one message. Once memory is out, the function in which that
 * happens says "out of memory" and nothing else. A context and its models belong to one thread at a
 * time; different contexts are independent. Nothing is printed, no environment variable is read,
 * and there is no state outside contexts. */
#ifndef TL_TAILOR_H
#define TL_TAILOR_H

#include <tailor/base.h>
#include <tailor/context.h>
#include <tailor/extend.h>
#include <tailor/graph.h>
#include <tailor/model.h>
#include <tailor/run.h>

#endif
