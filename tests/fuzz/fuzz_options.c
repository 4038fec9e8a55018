/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a command line holds, the first byte says of which kind: a response file of
 * options (words, or JSON), which are set and resolved together; a configuration of images; a list
 * of op names. Reading ends with options or with an error that was reported. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/config/settings.h"
#include "frontend/config/values.h"
#include "ir/options/aipp.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/target.h"
#include "tools/cli/cli.h"
#include "tools/cli/response.h"

/* Of the file that writes options as JSON, which is linked in with its reader. */
void tl_print_version_key(tl_buf *out) { (void)out; }

static void check(bool holds) {
  if (!holds)
    abort();
}

/* Sets --NAME=VALUE; other words belong to the command. Files that options name have targets of
 * their own, and what they may name here is not ours to open. */
static void set_option(tl_settings *s, tl_diag *d, const char *word) {
  tl_sv name = tl_sv_from(word), value;
  if (name.n < 3 || word[0] != '-' || word[1] != '-')
    return;
  const char *sign = strchr(word, '=');
  value = sign ? tl_sv_from(sign + 1) : TL_SV("");
  name = (tl_sv){word + 2, (sign ? (size_t)(sign - word) : name.n) - 2};
  tl_option_id id = tl_option_find(name, TL_COMMAND_CONVERT);
  if (id == TL_N_OPTION_ROWS || tl_option_row_get(id)->kind == TL_OPTION_PATH)
    return;
  uint64_t errors = d->errors;
  tl_status status = tl_settings_set(s, d, id, value.p);
  check((status == TL_OK) == (d->errors == errors));
}

static void read_response(const char *path) {
  tl_diag diag = {0};
  tl_settings s;
  tl_arguments words = {0};
  char file[FUZZ_PATH + 1];
  snprintf(file, sizeof file, "@%s", path);
  char program[] = "tailor";
  tl_status status = tl_arguments_read(&diag, 2, (char *[]){program, file, NULL}, &words);
  check((status == TL_OK) == (diag.errors == 0));
  tl_settings_init(&s);
  if (status == TL_OK) {
    for (uint32_t i = 1; i < words.list.n && words.list.at[i]; i++)
      set_option(&s, &diag, words.list.at[i]);
    diag.errors = 0;
    status = tl_settings_resolve(&s, &diag);
    check((status == TL_OK) == (diag.errors == 0));
  }
  tl_settings_release(&s);
  tl_arguments_release(&words);
}

static void read_list(const char *path, bool images) {
  tl_diag diag = {0};
  tl_options options = tl_options_default();
  tl_arena arena;
  tl_arena_init(&arena, 0);
  tl_status status = images ? tl_read_aipp(&diag, &arena, (tl_location){0}, path, &options)
                            : tl_read_name_map(&diag, &arena, path, &options);
  check((status == TL_OK) == (diag.errors == 0));
  check(status != TL_OK || !images || options.aipp->n > 0);
  tl_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH];
  int fd = size ? fuzz_file(data + 1, size - 1, path) : -1;
  if (fd < 0)
    return 0;
  if (data[0] % 4 < 2)
    read_response(path);
  else
    read_list(path, data[0] % 4 == 2);
  close(fd);
  return 0;
}
