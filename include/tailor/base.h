/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of libtailor uses: versions, result codes, messages, element types. */
#ifndef TL_TAILOR_BASE_H
#define TL_TAILOR_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TL_API __attribute__((visibility("default")))
#else
#define TL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header. Within one major version programs that were compiled with an older header
 * work with a newer library. Major version 0 makes no promise yet between 0.x and 0.y. */
#define TL_VERSION_MAJOR 0
#define TL_VERSION_MINOR 1
#define TL_VERSION_PATCH 0
#define TL_VERSION "0.1.0"
/* One number to compare: 1002003 is 1.2.3. */
#define TL_VERSION_NUMBER (TL_VERSION_MAJOR * 1000000 + TL_VERSION_MINOR * 1000 + TL_VERSION_PATCH)

/* Version of the library that runs, such as "0.1.0"; a static string. Any thread may call it. */
TL_API const char *tl_version(void);
/* The same as TL_VERSION_NUMBER has it. */
TL_API uint32_t tl_version_number(void);

typedef struct tl_context tl_context; /* options, rules, the sink of messages */
typedef struct tl_model tl_model;     /* one model */

/* What functions that can fail return: 0, or the exit code of the command for the same failure. The
 * sink of the context has then got at least one message of severity error. Arguments are not NULL
 * unless a comment says so: functions that can fail refuse it with TL_ERROR_USAGE, but for the
 * context or the model itself, without which nothing can be said. */
enum {
  TL_SUCCESS = 0,
  TL_ERROR_USAGE = 1,       /* an option or argument is wrong */
  TL_ERROR_INPUT = 2,       /* the model is not well formed, or beyond a documented limit */
  TL_ERROR_UNSUPPORTED = 3, /* well formed, beyond this version */
  TL_ERROR_IO = 4,
  TL_ERROR_INTERNAL = 70,  /* out of memory, or a defect of the library */
  TL_ERROR_CANCELLED = 130 /* tl_context_cancel, or a function of the caller, asked to stop */
};

/* How much a message matters. Errors come with a code of failure, others do not. */
typedef enum tl_message_severity {
  TL_SEVERITY_NOTE,
  TL_SEVERITY_WARNING,
  TL_SEVERITY_ERROR
} tl_message_severity;

/* A message in parts. Strings are valid during the call of the sink; NULL: there is none. Later
 * versions may add members at the end. */
typedef struct tl_message {
  tl_message_severity severity; /* how much it matters */
  const char *text;             /* the whole message: "file: error: what is wrong\n", and possibly a
                          * second line that starts with "  hint: "; never NULL */
  const char *code;             /* for programs, such as "E10016" or "W_FUSION_UNKNOWN_PASS" */
  const char *file;             /* the model or configuration that it is about */
  const char *node;             /* name of the node, or op and result of one without a name */
  const char *attribute;        /* attribute, operand or option */
  const char *what;             /* one sentence without place and hint; never NULL */
  const char *hint;             /* what to do */
  int64_t offset;               /* bytes from the start of a binary file; -1: not known */
  uint32_t line;                /* of a text file, from 1; 0: not known */
  uint32_t column;              /* bytes from 1; 0: not known */
} tl_message;

/* Receives a message, on the thread that called the library. It must not call the library with the
 * same context. */
typedef void (*tl_message_fn)(void *user, const tl_message *message);

/* Element types of tensors, with the numbers of ONNX (TensorProto.DataType). Types of less than a
 * byte are packed, the first element in the low bits. */
typedef enum tl_element {
  TL_ELEMENT_UNKNOWN = 0,
  TL_ELEMENT_F32 = 1,
  TL_ELEMENT_U8 = 2,
  TL_ELEMENT_I8 = 3,
  TL_ELEMENT_U16 = 4,
  TL_ELEMENT_I16 = 5,
  TL_ELEMENT_I32 = 6,
  TL_ELEMENT_I64 = 7,
  TL_ELEMENT_STRING = 8,
  TL_ELEMENT_BOOL = 9,
  TL_ELEMENT_F16 = 10,
  TL_ELEMENT_F64 = 11,
  TL_ELEMENT_U32 = 12,
  TL_ELEMENT_U64 = 13,
  TL_ELEMENT_C64 = 14,
  TL_ELEMENT_C128 = 15,
  TL_ELEMENT_BF16 = 16,
  TL_ELEMENT_F8E4M3FN = 17,
  TL_ELEMENT_F8E4M3FNUZ = 18,
  TL_ELEMENT_F8E5M2 = 19,
  TL_ELEMENT_F8E5M2FNUZ = 20,
  TL_ELEMENT_U4 = 21,
  TL_ELEMENT_I4 = 22,
  TL_ELEMENT_F4E2M1 = 23,
  TL_ELEMENT_F8E8M0 = 24
} tl_element;

/* Dims that are no size: not known, and a symbol (its name is asked for apart). */
enum { TL_DIM_OPEN = -1, TL_DIM_NAMED = -2, TL_RANK_OPEN = -1 };

/* A tensor in memory: row-major, packed, in the byte order of the machine. Who made a view says how
 * long it is valid. */
typedef struct tl_tensor_view {
  const char *name;    /* may be NULL where nobody asks for it */
  tl_element element;  /* type of elements */
  int32_t rank;        /* of a tensor in memory at least 0 */
  const int64_t *dims; /* [rank] */
  const void *data;    /* of strings: const char *[elements] */
  uint64_t bytes;      /* of data */
} tl_tensor_view;

/* Where all memory of the library comes from. The functions may be called by several threads at
 * once. */
typedef struct tl_allocator {
  void *user; /* handed to the functions */
  /* Returns at least `bytes` > 0 bytes at a multiple of `alignment`, a power of two of at most 64;
   * NULL when there are none, which ends the call of the library as lack of memory does. */
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  /* Returns a block of the new size with the same content, at a multiple of 16, in place of p that
   * allocate or resize returned; NULL when there is none, and p stays. */
  void *(*resize)(void *user, void *p, size_t bytes);
  /* Takes a block back; p is not NULL. */
  void (*release)(void *user, void *p);
} tl_allocator;

/* Sets the allocator of this process, which is copied; `user` must live as long as the process. To
 * be called before every other function, once. Returns TL_ERROR_USAGE if something has been
 * allocated, or a function is missing; TL_ERROR_UNSUPPORTED in the static library, which takes its
 * memory from malloc. There is no message, as there is no context. */
TL_API int tl_allocator_set(const tl_allocator *a);

#ifdef __cplusplus
}
#endif

#endif
