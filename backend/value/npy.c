/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values as .npy arrays, the file format of NumPy. */
#include "backend/value/value.h"

#include "backend/data.h"

/* PREFIX: bytes of magic, version and header length. ALIGNMENT: elements begin at a multiple of it.
 */
enum { PREFIX = 10, ALIGNMENT = 64 };

/* Returns NumPy's code of an element type: byte order, kind, bytes; NULL if there is none. */
static const char *descr(tl_dtype d) {
  switch (d) {
  case TL_DTYPE_F16: return "<f2";
  case TL_DTYPE_F32: return "<f4";
  case TL_DTYPE_F64: return "<f8";
  case TL_DTYPE_I8: return "|i1";
  case TL_DTYPE_I16: return "<i2";
  case TL_DTYPE_I32: return "<i4";
  case TL_DTYPE_I64: return "<i8";
  case TL_DTYPE_U8: return "|u1";
  case TL_DTYPE_U16: return "<u2";
  case TL_DTYPE_U32: return "<u4";
  case TL_DTYPE_U64: return "<u8";
  case TL_DTYPE_BOOL: return "|b1";
  case TL_DTYPE_C64: return "<c8";
  case TL_DTYPE_C128: return "<c16";
  default: return NULL;
  }
}

const char *tl_npy_obstacle(const tl_host *v) {
  if (v->kind != TL_HOST_TENSOR)
    return "sequences and optionals have no .npy form";
  if (v->dtype == TL_DTYPE_STRING)
    return "strings have no portable .npy form";
  return descr((tl_dtype)v->dtype) ? NULL : "the element type has no .npy form";
}

tl_status tl_value_emit_npy(const tl_host *v, tl_writer *out) {
  tl_buf head;
  tl_buf_init(&head);
  tl_buf_printf(&head, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                descr((tl_dtype)v->dtype));
  for (int i = 0; i < v->rank; i++)
    tl_buf_printf(&head, "%s%lld", i ? ", " : "", (long long)v->dims[i]);
  tl_buf_add_z(&head, v->rank == 1 ? ",), }" : "), }");
  /* Blanks and a line feed fill the header up to the alignment, as the format wants it. */
  while ((PREFIX + head.n + 1) % ALIGNMENT && !head.failed)
    tl_buf_add_char(&head, ' ');
  tl_buf_add_char(&head, '\n');
  if (head.failed) {
    tl_buf_release(&head);
    return TL_NO_MEMORY;
  }
  const unsigned char start[PREFIX] = {0x93,
                                       'N',
                                       'U',
                                       'M',
                                       'P',
                                       'Y',
                                       1,
                                       0,
                                       (unsigned char)(head.n & 0xff),
                                       (unsigned char)(head.n >> 8)}; /* 255 dims: 5200 bytes */
  tl_status status = tl_writer_write(out, start, sizeof start);
  if (status == TL_OK)
    status = tl_writer_write(out, head.p, head.n);
  if (status == TL_OK && v->bytes)
    status = tl_data_write_elements(out, (tl_dtype)v->dtype, v->data, v->bytes);
  tl_buf_release(&head);
  return status;
}
