/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point that libFuzzer and replay.c call. */
#ifndef TL_TESTS_FUZZ_TARGET_H
#define TL_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Tries one input; any bytes are allowed. Returns 0; a defect ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
