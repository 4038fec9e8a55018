/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as one of GE's dumps: reading it must end with a module or an error. The messages that
 * are made of a text are well-formed, so the reader of AIR never finds them damaged. */
#include <stdlib.h>
#include <string.h>

#include "frontend/air/load.h"
#include "tests/fuzz/target.h"

static void check_message(void *user, const tl_diagnostic *d) {
  (void)user;
  if (strncmp(d->message, "malformed", strlen("malformed")) == 0)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_diag diag = {.fn = check_message};
  tl_module *m = NULL;
  if (!tl_air_is_text(data, size))
    return 0;
  tl_status status = tl_air_load_bytes(&diag, "fuzz", (tl_sv){(const char *)data, size}, NULL, &m);
  if ((status == TL_OK) != (m != NULL) || (status != TL_OK && diag.errors == 0))
    abort();
  tl_module_destroy(m);
  return 0;
}
