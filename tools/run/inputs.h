/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the inputs of a run: what --input says, and random values for the rest. */
#ifndef TL_TOOLS_RUN_INPUTS_H
#define TL_TOOLS_RUN_INPUTS_H

#include "tools/run/evaluation.h"

/* Makes one entry for each graph input; NULL means its default. *out may have all entries already:
 * those that are not NULL stay, unless --input names them. Values have the type that the model
 * declares. *note receives what the summary should say: which inputs are random, and which dims
 * were taken to be 1. The caller releases the values, also after an error. */
tl_status tl_inputs_settle(tl_evaluation *e, tl_module *m, tl_host_vec *out,
                           tl_buf *note) TL_NODISCARD;

/* Makes inputs for a second model that computes the same: by name, else by position if there are as
 * many inputs. Numbers are converted where the element types differ. TL_INVALID_ARGUMENT if an
 * input has no counterpart and no default. */
tl_status tl_inputs_adapt(tl_evaluation *e, const tl_module *from, const tl_host_vec *values,
                          tl_module *to, tl_host_vec *out) TL_NODISCARD;

/* Checks values against the types that the model declares for its inputs, which kernels rely on; an
 * input without a type gets that of its value. dims: sizes too; test data sometimes disagrees with
 * those that its model declares, and kernels look at the values. */
tl_status tl_inputs_check(tl_evaluation *e, tl_module *m, const tl_host_vec *values,
                          bool dims) TL_NODISCARD;

/* Reads a value from a .npy file, or from a protobuf message of the kind. *name receives the name
 * in the message, "" for .npy; name may be NULL. */
tl_status tl_value_read(tl_evaluation *e, const char *path, tl_type_kind kind, tl_host **out,
                        tl_sv *name) TL_NODISCARD;

#endif
