/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises files that are no ONNX models by how they begin (foreign.h). */
#include "frontend/onnx/foreign.h"

#include <strings.h>

#include "frontend/wire/wire.h"

enum { MAX_FIELDS = 4096, MAX_ENTRIES = 64, MAX_LINES = 64 };

typedef enum foreign {
  FOREIGN_NONE,
#define FOREIGN(id, noun, advice) FOREIGN_##id,
#include "frontend/onnx/foreign.tbl"
} foreign;

/* ---- magic numbers and first words ----------------------------------------------------------- */

static foreign by_magic(tl_sv s) {
  static const struct {
    foreign id;
    size_t offset;
    const char *bytes;
    size_t n;
  } rows[] = {
#define MAGIC(id, offset, bytes) {FOREIGN_##id, offset, bytes, sizeof(bytes) - 1},
#include "frontend/onnx/foreign.tbl"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (s.n >= rows[i].offset + rows[i].n &&
        memcmp(s.p + rows[i].offset, rows[i].bytes, rows[i].n) == 0)
      return rows[i].id;
  return FOREIGN_NONE;
}

/* The header of safetensors: its length as 8 bytes, then JSON. */
static bool is_safetensors(tl_sv s) {
  uint64_t n = 0;
  for (size_t i = 0; i < 8 && s.n > 9; i++)
    n |= (uint64_t)(unsigned char)s.p[i] << (8 * i);
  return s.n > 9 && n >= 2 && n <= s.n - 8 && s.p[8] == '{' && (s.p[9] == '"' || s.p[9] == '}');
}

/* Skips a byte order mark and blanks. */
static tl_sv text_start(tl_sv s) {
  if (s.n >= 3 && memcmp(s.p, "\xef\xbb\xbf", 3) == 0)
    s = (tl_sv){s.p + 3, s.n - 3};
  while (s.n && strchr(" \t\r\n", s.p[0]) && s.p[0])
    s = (tl_sv){s.p + 1, s.n - 1};
  return s;
}

static foreign by_word(tl_sv s) {
  static const struct {
    foreign id;
    const char *text;
  } rows[] = {
#define WORD(id, text) {FOREIGN_##id, text},
#include "frontend/onnx/foreign.tbl"
  };
  bool angle = s.n && s.p[0] == '<'; /* blanks may follow */
  tl_sv inner = angle ? text_start((tl_sv){s.p + 1, s.n - 1}) : s;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *text = rows[i].text + (angle && rows[i].text[0] == '<');
    size_t n = strlen(text);
    bool same_kind = angle == (rows[i].text[0] == '<');
    if (same_kind && inner.n >= n && strncasecmp(inner.p, text, n) == 0)
      return rows[i].id;
  }
  return FOREIGN_NONE;
}

/* ---- protobuf text --------------------------------------------------------------------------- */

static bool is_name_char(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Takes the field at the start of a line: "name: value" or "name { ...". Returns its name, empty
 * for another line. */
static tl_sv field_of_line(tl_sv line) {
  size_t n = 0;
  line = tl_sv_trim(line);
  while (n < line.n && is_name_char(line.p[n]))
    n++;
  tl_sv rest = tl_sv_trim((tl_sv){line.p + n, line.n - n});
  bool digit = n && line.p[0] >= '0' && line.p[0] <= '9';
  bool field = n && !digit && rest.n && (rest.p[0] == ':' || rest.p[0] == '{');
  return (tl_sv){line.p, field ? n : 0};
}

/* Says whose message a text is by the names of fields in its first lines. */
static foreign by_fields(tl_sv s) {
  static const struct {
    const char *field;
    foreign id;
  } rows[] = {
      {"layer", FOREIGN_CAFFE},
      {"layers", FOREIGN_CAFFE},
      {"input_dim", FOREIGN_CAFFE},
      {"input_shape", FOREIGN_CAFFE},
      {"base_lr", FOREIGN_CAFFE},
      {"node", FOREIGN_GRAPHDEF},
      {"meta_graphs", FOREIGN_SAVEDMODEL},
      {"saved_model_schema_version", FOREIGN_SAVEDMODEL},
      {"meta_info_def", FOREIGN_METAGRAPH},
      {"graph_def", FOREIGN_METAGRAPH},
  };
  foreign found = FOREIGN_NONE;
  for (int i = 0; i < MAX_LINES && s.p && s.n; i++) {
    tl_sv line = tl_sv_trim(tl_sv_split(&s, '\n'));
    if (!line.n || line.p[0] == '#')
      continue;
    tl_sv name = field_of_line(line);
    if (found == FOREIGN_NONE && (!name.n || tl_sv_is(name, "module")))
      return FOREIGN_NONE; /* some other text, or textual IR */
    if (found == FOREIGN_NONE)
      found = FOREIGN_PROTOTEXT;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
      if (tl_sv_is(name, rows[k].field))
        return rows[k].id;
    if (tl_sv_is(name, "ir_version") || tl_sv_is(name, "opset_import"))
      return FOREIGN_PROTOTEXT;
  }
  return found;
}

/* ---- zip ------------------------------------------------------------------------------------- */

/* Says what an archive holds by the names in its first local headers. */
static foreign by_entries(tl_sv s) {
  enum { HEADER = 30, NAME_LENGTH = 26, EXTRA_LENGTH = 28, PACKED = 18 };
  const unsigned char *p = (const unsigned char *)s.p;
  if (s.n < HEADER || memcmp(p, "PK\x03\x04", 4) != 0)
    return FOREIGN_NONE;
  for (int i = 0; i < MAX_ENTRIES && s.n >= HEADER && memcmp(p, "PK\x03\x04", 4) == 0; i++) {
    size_t n = p[NAME_LENGTH] | (size_t)p[NAME_LENGTH + 1] << 8;
    uint64_t size = p[PACKED] | (uint64_t)p[PACKED + 1] << 8 | (uint64_t)p[PACKED + 2] << 16 |
                    (uint64_t)p[PACKED + 3] << 24;
    uint64_t skip = HEADER + n + (p[EXTRA_LENGTH] | (size_t)p[EXTRA_LENGTH + 1] << 8) + size;
    if (n > s.n - HEADER)
      break;
    tl_sv name = {(const char *)p + HEADER, n};
    if (tl_sv_ends_with(name, ".pkl"))
      return FOREIGN_TORCH;
    if (tl_sv_ends_with(name, ".npy"))
      return FOREIGN_NPZ;
    if (tl_sv_is(name, "config.json") || tl_sv_is(name, "model.weights.h5"))
      return FOREIGN_KERAS;
    if (skip > s.n)
      break;
    s = (tl_sv){s.p + skip, s.n - (size_t)skip};
    p += skip;
  }
  return FOREIGN_ZIP;
}

/* ---- protobuf -------------------------------------------------------------------------------- */

/* The fields of a message: which numbers there are, as bytes and as numbers, and the first one. */
typedef struct fields {
  uint64_t bytes;   /* bits by field number below 64 */
  uint64_t numbers; /* likewise */
  bool layers;      /* field 100 */
  tl_field first;
  bool whole; /* the walk came to the end */
} fields;

static fields walk(tl_sv s) {
  fields out = {0};
  tl_field f;
  tl_step step = TL_STEP_END;
  tl_proto w = {(const unsigned char *)s.p, (const unsigned char *)s.p + s.n};
  for (int i = 0; i < MAX_FIELDS && (step = tl_proto_next(&w, &f)) == TL_STEP_FIELD; i++) {
    uint64_t bit = f.number < 64 ? UINT64_C(1) << f.number : 0;
    if (i == 0)
      out.first = f;
    out.layers = out.layers || f.number == 100;
    if (f.type == TL_WIRE_BYTES)
      out.bytes |= bit;
    else
      out.numbers |= bit;
  }
  out.whole = step != TL_STEP_BAD;
  return out;
}

static bool begins_with(const tl_field *f, const char *bytes, size_t n) {
  return f->type == TL_WIRE_BYTES && tl_proto_left(&f->body) > n &&
         memcmp(f->body.p, bytes, n) == 0;
}

/* A name, and not a message that begins with the tag of a field below 4. */
static bool is_name(const tl_field *f) {
  return f->type == TL_WIRE_BYTES && tl_proto_left(&f->body) && f->body.p[0] >= ' ';
}

/* Says whose message the bytes are. An ONNX model has a number as field 1, its version, and its
 * graph as field 7. The messages: ModelDef of GE (1 name, 2 version, 7 graph), ModelProto of
 * MindSpore (1 version as text, 2 producer, 7 graph), NetParameter of Caffe (1 name, 2 or 100
 * layers), GraphDef of TensorFlow (1 nodes, 2 functions, 4 versions), SavedModel (1 version, 2
 * graphs), MetaGraphDef (1 facts, 2 graph), ProgramDesc of PaddlePaddle (1 blocks, which begin
 * with their index 0), TensorProto (1 dims, 2 element type). */
static foreign by_messages(tl_sv s) {
  enum { F1 = 1 << 1, F2 = 1 << 2, F4 = 1 << 4, F7 = 1 << 7 };
  fields f = walk(s);
  if (!f.whole || f.first.number != 1)
    return FOREIGN_NONE;
  if (f.first.type == TL_WIRE_VARINT) {
    tl_proto graph = {(const unsigned char *)s.p, (const unsigned char *)s.p + s.n};
    tl_field second = {0};
    if (f.numbers & F2)
      return FOREIGN_TENSOR;
    bool two = tl_proto_next(&graph, &second) == TL_STEP_FIELD &&
               tl_proto_next(&graph, &second) == TL_STEP_FIELD;
    bool only = !(f.bytes & ~(uint64_t)F2) && !(f.numbers & ~(uint64_t)F1);
    return two && only && begins_with(&second, "\x0a", 1) ? FOREIGN_SAVEDMODEL : FOREIGN_NONE;
  }
  if (f.bytes & F7)
    return f.bytes & F2 ? FOREIGN_MINDIR : FOREIGN_AIR;
  if (begins_with(&f.first, "\x08\0", 2))
    return FOREIGN_PADDLE;
  if (f.layers)
    return FOREIGN_CAFFE;
  if (f.first.type == TL_WIRE_BYTES && (f.numbers & F2))
    return FOREIGN_TENSOR;
  bool graph = begins_with(&f.first, "\x0a", 1) && !(f.bytes & ~(uint64_t)(F1 | F2 | F4));
  if (graph || !(f.bytes & F2))
    return graph ? FOREIGN_GRAPHDEF : FOREIGN_NONE;
  return is_name(&f.first) ? FOREIGN_CAFFE : FOREIGN_METAGRAPH;
}

/* ---- all together ---------------------------------------------------------------------------- */

static foreign find(tl_sv s) {
  foreign found = by_magic(s);
  if (!found && is_safetensors(s))
    found = FOREIGN_SAFETENSORS;
  if (!found)
    found = by_entries(s);
  if (!found)
    found = by_word(text_start(s));
  if (!found)
    found = by_messages(s);
  return found ? found : by_fields(text_start(s));
}

/* Reports what a file is. */
static tl_status report(tl_diag *d, const char *path, foreign found) {
  static const struct {
    const char *noun;
    const char *advice;
  } rows[] = {
      {NULL, NULL},
#define FOREIGN(id, noun, advice) {noun, advice},
#include "frontend/onnx/foreign.tbl"
  };
  if (!found)
    return TL_OK;
  return tl_fail(d, TL_INVALID_MODEL, TL_AT_FILE(path), "this is %s\v%s", rows[found].noun,
                 rows[found].advice);
}

tl_status tl_foreign_check(tl_diag *d, const char *path, const void *bytes, uint64_t n) {
  return report(d, path, n ? find((tl_sv){bytes, (size_t)n}) : FOREIGN_NONE);
}

tl_status tl_foreign_check_air(tl_diag *d, const char *path, const void *bytes, uint64_t n) {
  enum { GRAPH = 1 << 7 };
  tl_sv s = {bytes, (size_t)n};
  foreign found = n ? find(s) : FOREIGN_NONE;
  fields f = found || !n ? (fields){0} : walk(s);
  bool onnx = f.whole && f.first.number == 1 && f.first.type == TL_WIRE_VARINT && (f.bytes & GRAPH);
  return report(d, path, onnx ? FOREIGN_ONNX : found);
}
