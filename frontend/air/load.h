/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an AIR file, a serialized ModelDef of GE, into a module in NPU form.
 * Nodes keep names, ports, attributes and control edges; ops that the table does not list are
 * carried. Constants are views of the file. Optimizes nothing. What GE's loader refuses is refused
 * here, and what it would drop in silence is reported. */
#ifndef TL_FRONTEND_AIR_LOAD_H
#define TL_FRONTEND_AIR_LOAD_H

#include "frontend/data/view.h"
#include "ir/module.h"

enum { TL_AIR_MAX_NODES = 4000000 }; /* most nodes of a file, over all its graphs */

/* Loads an AIR file, or a text dump of one (tl_air_is_text). Files of weights are looked up
 * below the folder of `path`. The module owns every file it views. After a failure *out is NULL,
 * and one diagnostic says why: TL_IO, TL_INVALID_MODEL, TL_LIMIT, TL_NO_MEMORY. O(bytes of the
 * graph); weights are not read. */
tl_status tl_air_load(tl_diag *d, const char *path, tl_file_mode mode,
                      tl_module **out) TL_NODISCARD;
/* Loads an AIR file from memory likewise; the bytes must outlive the module. `name` stands for the
 * file in messages. beside: opens files of weights; NULL: they are refused, since there is no
 * folder to look in. */
tl_status tl_air_load_bytes(tl_diag *d, const char *name, tl_sv bytes, const tl_beside *beside,
                            tl_module **out) TL_NODISCARD;

/* Returns the text that the file a module was loaded from records for the device compiler under a
 * key; "" if it has none. The module owns it. O(entries). */
tl_sv tl_air_recorded(const tl_module *m, const char *key);

/* Returns true for bytes that begin as a ModelDef with a graph does and a ModelProto of ONNX does
 * not: such a file has its first graph in field 7 and no ir_version in field 1. Looks at the first
 * fields only. */
bool tl_air_looks_like(const void *bytes, size_t n);

/* Returns true for a text that begins as GE's dumps do: protobuf text of a ModelDef
 * (ge_proto_*.txt), or of a ModelProto of ONNX (ge_onnx_*.pbtxt). Looks at the fields up to the
 * first node. */
bool tl_air_is_text(const void *bytes, size_t n);

#endif
