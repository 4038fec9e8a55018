/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of a program: allocator FOLDER. malloc is defined here and sees who calls it: with
 * an allocator set, none of the calls is the library's. All blocks come back, and when one of the
 * allocations fails, the call ends as it does when memory is out. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailor/tailor.h>
#include <unistd.h>

#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "allocator.c:%d: %s\n", __LINE__, #condition);                               \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* A block keeps its size in front of it, so that another free is noticed. */
typedef struct head {
  size_t bytes, mark;
} head;

enum { MARK = 0x7a110c, ROOM = 64 };

typedef struct counts {
  atomic_size_t live, blocks, largest;
  atomic_size_t left; /* allocations that still succeed */
} counts;

static void *take(void *user, size_t bytes, size_t alignment) {
  counts *c = user;
  void *base;
  NEED(bytes && alignment <= ROOM && (alignment & (alignment - 1)) == 0);
  size_t left = c->left;
  while (left && !atomic_compare_exchange_weak(&c->left, &left, left - 1))
    ;
  if (!left)
    return NULL;
  if (posix_memalign(&base, ROOM, bytes + ROOM))
    return NULL;
  *(head *)((char *)base + ROOM - sizeof(head)) = (head){bytes, MARK};
  c->live += bytes;
  c->blocks++;
  size_t largest = c->largest;
  while (bytes > largest && !atomic_compare_exchange_weak(&c->largest, &largest, bytes))
    ;
  return (char *)base + ROOM;
}

static void give(void *user, void *p) {
  counts *c = user;
  head *h = (head *)((char *)p - sizeof(head));
  NEED(h->mark == MARK);
  h->mark = 0;
  c->live -= h->bytes;
  free((char *)p - ROOM);
}

static void *resize(void *user, void *p, size_t bytes) {
  size_t had = ((head *)((char *)p - sizeof(head)))->bytes;
  void *other = take(user, bytes, 16);
  if (!other)
    return NULL;
  memcpy(other, p, had < bytes ? had : bytes);
  give(user, p);
  return other;
}

/* ---- who calls malloc ------------------------------------------------------------------------ */

#if !defined(__SANITIZE_ADDRESS__) && !defined(WITH_SANITIZERS)
void *__libc_malloc(size_t n);
static atomic_size_t foreign; /* calls of the library */
static atomic_bool watching;

void *malloc(size_t n) {
  Dl_info info;
  if (watching && dladdr(__builtin_return_address(0), &info) && strstr(info.dli_fname, "libtailor"))
    foreign++;
  return __libc_malloc(n);
}
#else
static atomic_size_t foreign;
static atomic_bool watching;
#endif

/* ---- the library at work --------------------------------------------------------------------- */

static const char text[] = "graph @g(%x: f32[64,64]) -> (%y) {\n"
                           "  const %w: f32[4] = [0.5, 1, 1.5, 2]\n  const %s: i64[2] = [-1, 4]\n"
                           "  %a = MatMul(%x, %x)\n  %b = Relu(%a)\n"
                           "  %c = Reshape(%b, %s)\n  %d = Mul(%c, %w)\n  %y = Softmax(%d)\n}\n";

static void hear(void *user, const tl_message *m) {
  (void)user;
  if (watching && m->severity == TL_SEVERITY_ERROR)
    fputs(m->text, stderr);
}

/* Loads, optimizes, runs and saves; returns the code of the first call that fails. */
static int work(const char *path) {
  static const int64_t dims[] = {64, 64};
  static float x[64 * 64];
  tl_context *c = tl_context_create();
  tl_model *m = NULL;
  tl_tensors *results = NULL;
  if (!c)
    return TL_ERROR_INTERNAL;
  tl_context_on_message(c, hear, NULL);
  int code = tl_context_set(c, "soc_version", "Ascend910B");
  if (code == TL_SUCCESS)
    code = tl_model_load_bytes(c, "m.tir", text, strlen(text), &m);
  tl_tensor_view input = {"x", TL_ELEMENT_F32, 2, dims, x, sizeof x};
  if (code == TL_SUCCESS)
    code = tl_model_run(m, &input, 1, NULL, &results);
  if (code == TL_SUCCESS)
    code = tl_model_optimize(m, TL_FOR_AIR);
  if (code == TL_SUCCESS)
    code = tl_model_save(m, path);
  tl_tensors_destroy(results);
  tl_model_destroy(m);
  tl_context_destroy(c);
  return code;
}

int main(int argc, char **argv) {
  static counts c = {.left = (size_t)-1};
  char path[512];
  NEED(argc == 2);
  snprintf(path, sizeof path, "%s/m.air", argv[1]);
  tl_allocator a = {&c, take, resize, NULL};
  NEED(tl_allocator_set(&a) == TL_ERROR_USAGE && tl_allocator_set(NULL) == TL_ERROR_USAGE);
  a.release = give;
  NEED(tl_allocator_set(&a) == TL_SUCCESS);
  NEED(tl_allocator_set(&a) == TL_ERROR_USAGE);
  watching = true;
  NEED(work(path) == TL_SUCCESS);
  watching = false;
  NEED(foreign == 0);
  NEED(c.blocks > 100 && c.largest >= 64 * 64 * sizeof(float) && c.live == 0);
  size_t all = c.blocks;
  for (size_t i = 0; i < all; i += 1 + all / 200) {
    unlink(path);
    c.left = i;
    int code = work(path);
    NEED(c.live == 0);
    NEED(code == TL_SUCCESS ? access(path, F_OK) == 0 : code == TL_ERROR_INTERNAL);
    NEED(code == TL_SUCCESS || access(path, F_OK) != 0);
  }
  puts("all of it works");
  return 0;
}
