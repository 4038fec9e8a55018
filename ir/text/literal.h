/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of constants as text and back, bit for bit: "1.5", "-inf", "nan(0x7fc00001)", "true",
 * "-3". Only dtypes with a number notation; the others are written as hex bytes by the caller. */
#ifndef TL_IR_TEXT_LITERAL_H
#define TL_IR_TEXT_LITERAL_H

#include "ir/dtype.h"

/* True when every one of the n elements at `data` can be written as text (bools other than 0 and 1
 * and dtypes without a notation cannot). */
bool tl_literal_is_plain(tl_dtype d, const void *data, uint64_t n);

/* Adds one element of a plain dtype. */
void tl_literal_add(tl_buf *out, tl_dtype d, const void *element);

/* Reads one element of a plain dtype into `element`. Integers are accepted for
 * floats. False on junk, on a value out of range or when the dtype has no notation. */
bool tl_literal_parse(tl_dtype d, tl_sv text, void *element);

/* The same for the float of an attribute. */
void tl_literal_add_float(tl_buf *out, float v);

#endif
