/* utf8.h - code points, from utf8proc. */
#pragma once

#include "base/base.h"

/* The position of the first byte that is not UTF-8, or size. */
size_t cla_utf8_check(const char *text, size_t size);

/* Reads one code point at text (valid UTF-8, not at its end); returns its bytes. */
int cla_utf8_next(const char *text, int32_t *code);

/* Writes a code point and a NUL to out[5]; returns its bytes. */
int cla_utf8_put(int32_t code, char out[5]);
