/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest program on libtailor: convert MODEL.onnx OUT.air. Needs only the installed library:
 *   cc convert.c $(pkg-config --cflags --libs tailor) -o convert */
#include <stdio.h>
#include <tailor/tailor.h>

static void print_message(void *user, const tl_message *message) { fputs(message->text, user); }

static int convert(tl_context *c, const char *from, const char *to) {
  tl_model *m = NULL;
  int rc = tl_context_set(c, "soc-version", "Ascend910B1");
  if (!rc)
    rc = tl_model_load(c, from, &m);
  if (!rc)
    rc = tl_model_optimize(m, TL_FOR_AIR);
  if (!rc)
    rc = tl_model_save(m, to);
  if (!rc)
    printf("%s: %u nodes\n", to, (unsigned)tl_model_count_nodes(m));
  tl_model_destroy(m);
  return rc;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: convert MODEL.onnx OUT.air\n");
    return TL_ERROR_USAGE;
  }
  tl_context *c = tl_context_create();
  if (!c)
    return TL_ERROR_INTERNAL;
  tl_context_on_message(c, print_message, stderr);
  int rc = convert(c, argv[1], argv[2]);
  tl_context_destroy(c);
  return rc;
}
