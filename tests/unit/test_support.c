/* SPDX-License-Identifier: Apache-2.0 */
/* Containers, text and hashing. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ir/op.h"
#include "support/arena.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/map.h"
#include "support/pages.h"
#include "support/sha256.h"
#include "support/slab.h"
#include "support/symbol.h"
#include "support/wide.h"
#include "tests/unit/unit.h"

static void arena_rewinds_to_mark(void) {
  tl_arena a;
  tl_arena_init(&a, 64);
  char *first = tl_arena_copy(&a, "keep", 4);
  tl_arena_mark mark = tl_arena_save(&a);
  CU_ASSERT_PTR_NOT_NULL(tl_arena_alloc(&a, 100000));
  tl_arena_rewind(&a, mark);
  CU_ASSERT_STRING_EQUAL(first, "keep");
  CU_ASSERT_TRUE(a.total < 100000);
  CU_ASSERT_PTR_NULL(tl_arena_calloc(&a, SIZE_MAX / 2, 4));
  CU_ASSERT_PTR_NOT_NULL(tl_arena_alloc(&a, 0));
  tl_arena_release(&a);
}

/* What a mark gave back is used again; a block too large to keep goes to the system. */
static void arena_keeps_a_spare_block(void) {
  tl_arena a;
  tl_arena_init(&a, 64);
  CU_ASSERT_PTR_NOT_NULL(tl_arena_alloc(&a, 16));
  tl_arena_mark mark = tl_arena_save(&a);
  char *first = tl_arena_alloc(&a, 500000);
  tl_arena_rewind(&a, mark);
  size_t total = a.total;
  char *second = tl_arena_calloc(&a, 400000, 1);
  CU_ASSERT_PTR_EQUAL(second, first);
  CU_ASSERT_TRUE(a.total > total + 400000);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tl_arena_alloc(&a, 8 << 20));
  tl_arena_rewind(&a, mark);
  CU_ASSERT_EQUAL(a.total, total);
  CU_ASSERT_PTR_EQUAL(tl_arena_alloc(&a, 500000), first);
  tl_arena_release(&a);
  CU_ASSERT_PTR_NULL(a.spare);
}

static void symbols_are_equal_by_bytes(void) {
  const tl_seed seeds[] = {{"axis", 4, (uint32_t)tl_hash_bytes("axis", 4, 0)},
                           {"perm", 4, (uint32_t)tl_hash_bytes("perm", 4, 0)}};
  tl_arena a;
  tl_arena_init(&a, 0);
  tl_symtab t;
  CU_ASSERT_EQUAL_FATAL(tl_symtab_init(&t, &a, &(tl_seed_table){seeds, 2, 0, NULL}, 0), TL_OK);
  CU_ASSERT_EQUAL(tl_intern(&t, TL_SV("")), 0);
  CU_ASSERT_EQUAL(tl_intern(&t, TL_SV("perm")), 2);
  char text[] = "name";
  tl_symbol s = tl_intern(&t, tl_sv_from(text));
  text[0] = 'f'; /* the table kept a copy */
  CU_ASSERT_EQUAL(tl_symbol_find(&t, TL_SV("name")), s);
  CU_ASSERT_EQUAL(tl_symbol_find(&t, TL_SV("fame")), TL_NO_SYMBOL);
  CU_ASSERT_NOT_EQUAL(tl_intern(&t, (tl_sv){"a\0b", 3}), tl_intern(&t, (tl_sv){"a\0c", 3}));
  for (int i = 0; i < 5000; i++) {
    char name[16];
    snprintf(name, sizeof name, "v%d", i);
    CU_ASSERT_NOT_EQUAL_FATAL(tl_intern(&t, tl_sv_from(name)), TL_NO_SYMBOL);
  }
  CU_ASSERT_TRUE(tl_sv_is(tl_symbol_sv(&t, tl_symbol_find(&t, TL_SV("v4999"))), "v4999"));
  tl_symtab_release(&t);
  tl_arena_release(&a);
}

/* The generator of the op table computes lengths and hashes; a wrong one hides its symbol. */
static void seeds_have_their_hashes(void) {
  for (uint32_t i = 0; i < tl_n_seeds; i++) {
    tl_sv s = tl_sv_from(tl_seeds[i].text);
    CU_ASSERT_EQUAL(tl_seeds[i].n, s.n);
    CU_ASSERT_EQUAL(tl_seeds[i].hash, (uint32_t)tl_hash_bytes(s.p, s.n, 0));
  }
}

/* A small table takes the slots that the generator made, a large one makes its own. */
static void seeds_are_found(void) {
  static const uint32_t rooms[] = {0, 100000};
  for (unsigned k = 0; k < 2; k++) {
    tl_arena a;
    tl_symtab t;
    tl_arena_init(&a, 0);
    CU_ASSERT_EQUAL_FATAL(tl_symtab_init(&t, &a, &tl_op_seeds, rooms[k]), TL_OK);
    CU_ASSERT_EQUAL(t.n_slots == tl_op_seeds.n_slots, rooms[k] == 0);
    CU_ASSERT_EQUAL(tl_symbol_find(&t, TL_SV("")), 0);
    for (uint32_t i = 0; i < tl_n_seeds; i++)
      CU_ASSERT_EQUAL(tl_symbol_find(&t, tl_sv_from(tl_seeds[i].text)), i + 1);
    CU_ASSERT_EQUAL(tl_symbol_find(&t, TL_SV("no such seed")), TL_NO_SYMBOL);
    tl_symtab_release(&t);
    tl_arena_release(&a);
  }
}

static void slab_runs_are_contiguous(void) {
  tl_slab s;
  tl_slab_init(&s, 8);
  uint32_t one = tl_slab_alloc(&s, 1);
  CU_ASSERT_EQUAL(one, 1);
  uint32_t run = tl_slab_alloc(&s, 5000);
  char *first = tl_slab_at(&s, run);
  for (uint32_t i = 0; i < 5000; i++)
    CU_ASSERT_PTR_EQUAL_FATAL(tl_slab_at(&s, run + i), first + (size_t)8 * i);
  CU_ASSERT_TRUE(tl_slab_alloc(&s, 1) >= run + 5000);
  static const char zeros[8];
  CU_ASSERT_EQUAL(memcmp(tl_slab_at(&s, 0), zeros, sizeof zeros), 0); /* the record of nothing */
  CU_ASSERT_EQUAL(memcmp(first + 8 * 4999, zeros, sizeof zeros), 0);
  for (uint32_t id = one + 1; id < run; id++) /* nothing is there either */
    CU_ASSERT_EQUAL(memcmp(tl_slab_at(&s, id), zeros, sizeof zeros), 0);
  CU_ASSERT_EQUAL(tl_slab_alloc(&s, 0), 0);
  tl_slab_release(&s);
  uint32_t whole = tl_slab_alloc(&s, TL_SLAB_CHUNK); /* id 0 stays unused even then */
  CU_ASSERT_EQUAL(whole, 1);
  tl_slab_release(&s);
}

static void map_finds_what_was_set(void) {
  enum { KEYS = 20000 };
  tl_map map = {0};
  uint32_t value = 7;
  CU_ASSERT_FALSE(tl_map_find(&map, 0, &value));
  CU_ASSERT_EQUAL(tl_map_count(&map), 0);
  for (uint32_t i = 0; i < KEYS; i++)
    CU_ASSERT_TRUE_FATAL(tl_map_set(&map, tl_map_pair(i % 100, i), i));
  CU_ASSERT_TRUE(tl_map_set(&map, tl_map_pair(1, 1), 5));
  CU_ASSERT_EQUAL(tl_map_count(&map), KEYS);
  for (uint32_t i = 0; i < KEYS; i++)
    CU_ASSERT_TRUE(tl_map_find(&map, tl_map_pair(i % 100, i), &value) && value == (i == 1 ? 5 : i));
  CU_ASSERT_FALSE(tl_map_find(&map, tl_map_pair(1, 2), &value));
  CU_ASSERT_EQUAL(value, KEYS - 1); /* untouched */
  CU_ASSERT_TRUE(tl_map_find(&map, 0, NULL));
  tl_map_release(&map);
  CU_ASSERT_FALSE(tl_map_find(&map, 0, NULL));
  CU_ASSERT_TRUE(tl_map_set(&map, UINT64_MAX, 3) && tl_map_find(&map, UINT64_MAX, &value));
  CU_ASSERT_EQUAL(value, 3);
  tl_map_release(&map);
}

static void numbers_parse_whole_or_not(void) {
  int64_t i;
  double d;
  CU_ASSERT_TRUE(tl_parse_i64(TL_SV("-9223372036854775808"), &i) && i == INT64_MIN);
  CU_ASSERT_FALSE(tl_parse_i64(TL_SV("9223372036854775808"), &i));
  CU_ASSERT_FALSE(tl_parse_i64(TL_SV("12x"), &i));
  CU_ASSERT_FALSE(tl_parse_i64(TL_SV(""), &i));
  CU_ASSERT_TRUE(tl_parse_f64(TL_SV("-1.5e3"), &d) && d == -1500.0);
  CU_ASSERT_FALSE(tl_parse_f64(TL_SV("0x10"), &d));
  CU_ASSERT_FALSE(tl_parse_f64(TL_SV(" 1"), &d));
}

static void floats_print_shortest(void) {
  static const struct {
    float value;
    const char *text;
  } rows[] = {{1.0f, "1.0"},
              {0.1f, "0.1"},
              {-2.5f, "-2.5"},
              {1e10f, "1e+10"},
              {16777216.0f, "16777216.0"},
              {3.4028235e38f, "3.4028235e+38"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_buf b;
    tl_buf_init(&b);
    tl_buf_add_f32(&b, rows[i].value);
    CU_ASSERT_STRING_EQUAL(b.p, rows[i].text);
    tl_buf_release(&b);
  }
}

static void quoting_keeps_terminals_safe(void) {
  tl_buf b;
  tl_buf_init(&b);
  tl_buf_add_quoted(&b, (tl_sv){"a\"\\\n\x1b\xff\xc3\xa9", 8});
  CU_ASSERT_STRING_EQUAL(b.p, "\"a\\\"\\\\\\n\\x1b\\xff\xc3\xa9\"");
  tl_buf_release(&b);
}

/* Plain text is taken eight bytes at a time: each byte is quoted as it is alone, wherever it is. */
static void quoting_is_that_of_each_byte(void) {
  for (unsigned c = 0; c < 256; c++)
    for (size_t place = 0; place < 20; place++) {
      char text[21] = "aaaaaaaaaaaaaaaaaaaa", byte = (char)c;
      tl_buf whole, alone, expected;
      tl_buf_init(&whole);
      tl_buf_init(&alone);
      tl_buf_init(&expected);
      tl_buf_add_quoted(&alone, (tl_sv){&byte, 1});
      tl_buf_add_char(&expected, '"');
      tl_buf_add(&expected, text, place);
      tl_buf_add(&expected, alone.p + 1, alone.n - 2);
      tl_buf_add(&expected, text, 19 - place);
      tl_buf_add_char(&expected, '"');
      text[place] = byte;
      tl_buf_add_quoted(&whole, (tl_sv){text, 20});
      CU_ASSERT(tl_sv_eq(tl_buf_view(&whole), tl_buf_view(&expected)));
      tl_buf_release(&whole);
      tl_buf_release(&alone);
      tl_buf_release(&expected);
    }
}

static void distance_counts_edits(void) {
  CU_ASSERT_EQUAL(tl_edit_distance(TL_SV("Relu"), TL_SV("Relu"), 3), 0);
  CU_ASSERT_EQUAL(tl_edit_distance(TL_SV("Rleu"), TL_SV("Relu"), 3), 1);
  CU_ASSERT_EQUAL(tl_edit_distance(TL_SV("Conv"), TL_SV("Softmax"), 3), 4);
}

/* Vectors of FIPS 180-4 (examples document): "", "abc", and the 448-bit message. */
static void sha256_known_answers(void) {
  char hex[65];
  tl_sha256_hex("", 0, hex);
  CU_ASSERT_STRING_EQUAL(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  tl_sha256_hex("abc", 3, hex);
  CU_ASSERT_STRING_EQUAL(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  tl_sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
  CU_ASSERT_STRING_EQUAL(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* An aborted output leaves neither the file nor a temporary behind. */
static void aborted_output_leaves_nothing(void) {
  char folder[] = "/tmp/tailor-unit-XXXXXX";
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  char path[64];
  snprintf(path, sizeof path, "%s/out", folder);
  tl_diag quiet = {0};
  tl_writer *w = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&quiet, path, NULL, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_write(w, "half", 4), TL_OK);
  tl_writer_abort(w);
  CU_ASSERT_EQUAL(rmdir(folder), 0); /* only works on an empty folder */
}

static void committed_output_is_whole(void) {
  char folder[] = "/tmp/tailor-unit-XXXXXX";
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  char path[64];
  snprintf(path, sizeof path, "%s/out", folder);
  tl_diag quiet = {0};
  tl_writer *w = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_writer_open(&quiet, path, NULL, &w), TL_OK);
  CU_ASSERT_EQUAL(tl_writer_write(w, "abc", 3), TL_OK);
  CU_ASSERT_EQUAL(access(path, F_OK), -1); /* invisible until commit */
  CU_ASSERT_EQUAL(tl_writer_commit(w), TL_OK);
  tl_file *f = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_file_open(&quiet, path, TL_FILE_MAP, &f), TL_OK);
  CU_ASSERT_TRUE(f->size == 3 && memcmp(f->data, "abc", 3) == 0);
  tl_file_close(f);
  unlink(path);
  rmdir(folder);
}

/* Both ways to multiply, where a carry is lost most easily. */
static void products_are_whole(void) {
  static const uint64_t values[] = {0,
                                    1,
                                    2,
                                    UINT32_MAX,
                                    UINT64_C(1) << 32,
                                    UINT64_C(0xffffffff00000001),
                                    UINT64_MAX,
                                    UINT64_MAX - 1,
                                    UINT64_C(0xa0761d6478bd642f),
                                    UINT64_C(0x8000000080000000)};
  enum { N = sizeof values / sizeof *values };
  uint64_t high, other;
  CU_ASSERT_EQUAL(tl_mul_wide(UINT64_MAX, UINT64_MAX, UINT64_MAX, &high), 0);
  CU_ASSERT_EQUAL(high, UINT64_MAX); /* (2^64 - 1) * 2^64 */
  for (int i = 0; i < N * N * N; i++) {
    uint64_t a = values[i % N], b = values[i / N % N], c = values[i / N / N];
    uint64_t low = tl_mul_wide(a, b, c, &high);
    CU_ASSERT_EQUAL(low, a * b + c);
    CU_ASSERT_EQUAL(low, tl_mul_wide_by_halves(a, b, c, &other));
    CU_ASSERT_EQUAL(high, other);
  }
}

/* A table keeps what is in it when it grows, on the heap, onto pages and from pages to pages; what
 * is new is 0. */
static void tables_keep_what_they_have(void) {
  enum { FIRST = 1000, GROWTHS = 4 };
  size_t n = FIRST;
  uint64_t *table = tl_pages_alloc(n, sizeof *table);
  CU_ASSERT_PTR_NOT_NULL_FATAL(table);
  for (size_t i = 0; i < n; i++)
    table[i] = i + 1;
  for (int k = 0; k < GROWTHS; k++) { /* 8 KB, 160 KB, 3 MB, 64 MB, 128 MB */
    size_t more = n * (k < GROWTHS - 1 ? 20 : 2);
    table = tl_pages_grow(table, n, more, sizeof *table);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
      wrong += table[i] != i + 1;
    for (size_t i = n; i < more; i++) {
      wrong += table[i] != 0;
      table[i] = i + 1;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    n = more;
  }
  CU_ASSERT_PTR_NULL(tl_pages_grow(table, n, SIZE_MAX / 4, sizeof *table));
  CU_ASSERT_EQUAL(table[n - 1], n); /* stays valid */
  tl_pages_free(table, n, sizeof *table);
}

static void keep_message(void *user, const tl_diagnostic *d) {
  snprintf(user, 64, "%s", d->message);
}

/* An activity that fails is named even when its end is told; one that ends well makes place for the
 * one around it. */
static void own_room_is_not_left(void) {
  char room[8];
  tl_buf b = tl_buf_in(room, sizeof room);
  CU_ASSERT_STRING_EQUAL(room, "");
  tl_buf_add_z(&b, "seven b");
  CU_ASSERT_FALSE(b.failed);
  tl_buf_add_char(&b, '!');
  CU_ASSERT_TRUE(b.failed);
  CU_ASSERT_STRING_EQUAL(room, "seven b");
  tl_buf_clear(&b);
  tl_buf_printf(&b, "%d bytes and more", 17);
  CU_ASSERT_TRUE(b.failed);
  CU_ASSERT_PTR_EQUAL(b.p, room);
  tl_buf_release(&b);
  CU_ASSERT_PTR_NULL(b.p);
}

static void lack_of_memory_names_the_activity(void) {
  char said[64] = "";
  tl_diag d = {.fn = keep_message, .user = said};
  uint32_t before = tl_diag_begin(&d);
  tl_activity nothing = tl_activity_begin(&d, "while reading", "m.onnx");
  tl_activity reading = tl_activity_begin(&d, "in pass", "select");
  CU_ASSERT_EQUAL(tl_activity_end(&d, reading, TL_OK), TL_OK);
  CU_ASSERT_EQUAL(tl_activity_end(&d, nothing, TL_NO_MEMORY), TL_NO_MEMORY);
  CU_ASSERT_EQUAL(tl_diag_close(&d, TL_NO_MEMORY, before), TL_NO_MEMORY);
  CU_ASSERT_STRING_EQUAL(said, "out of memory while reading 'm.onnx'");
  tl_diag_begin(&d);
  CU_ASSERT_EQUAL(tl_fail_memory(&d, TL_NOWHERE), TL_NO_MEMORY);
  CU_ASSERT_STRING_EQUAL(said, "out of memory");
}

static const unit_test tests[] = {
    {"lack of memory names the activity", lack_of_memory_names_the_activity},
    {"arena rewinds to mark", arena_rewinds_to_mark},
    {"arena keeps a spare block", arena_keeps_a_spare_block},
    {"symbols are equal by bytes", symbols_are_equal_by_bytes},
    {"products are whole", products_are_whole},
    {"own room is not left", own_room_is_not_left},
    {"seeds have their hashes", seeds_have_their_hashes},
    {"seeds are found", seeds_are_found},
    {"slab runs are contiguous", slab_runs_are_contiguous},
    {"tables keep what they have", tables_keep_what_they_have},
    {"map finds what was set", map_finds_what_was_set},
    {"numbers parse whole or not", numbers_parse_whole_or_not},
    {"floats print shortest", floats_print_shortest},
    {"quoting keeps terminals safe", quoting_keeps_terminals_safe},
    {"quoting is that of each byte", quoting_is_that_of_each_byte},
    {"distance counts edits", distance_counts_edits},
    {"sha256 known answers", sha256_known_answers},
    {"aborted output leaves nothing", aborted_output_leaves_nothing},
    {"committed output is whole", committed_output_is_whole},
    {NULL, NULL}};
const unit_suite unit_suite_support = {"support", tests};
