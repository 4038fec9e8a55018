/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a conversion as JSON: --options-json writes them, and a response file that begins with
 * '{' (response.h) gives them again. */
#ifndef TL_TOOLS_CLI_OPTIONS_JSON_H
#define TL_TOOLS_CLI_OPTIONS_JSON_H

#include <cjson/cJSON.h>

#include "tools/cli/output.h"

/* Takes one argument of a command line; the text is valid during the call only. */
typedef tl_status (*tl_argument_fn)(void *user, const char *argument);

/* Who takes the arguments, and where problems are reported. */
typedef struct tl_argument_sink {
  tl_diag *d;
  const char *path; /* of the file, for messages */
  tl_argument_fn add;
  void *user;
} tl_argument_sink;

/* Gives the arguments that a text stands for: --NAME=VALUE for each option, -o for each output,
 * and --model. Members that only describe are passed over. TL_INVALID_ARGUMENT, reported, for what
 * is no JSON, for another command, for unknown members and for values that no option can have. */
tl_status tl_options_json_read(const tl_argument_sink *to, tl_sv text) TL_NODISCARD;
/* Gives the arguments of an object of that form; fails likewise. */
tl_status tl_options_json_take(const tl_argument_sink *to, const cJSON *object) TL_NODISCARD;

/* Writes the file of --options-json into the journal, if there is to be one. */
tl_status tl_options_json_write(tl_cli *cli) TL_NODISCARD;

#endif
