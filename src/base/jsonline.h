/* jsonline.h - where a key stands in the text of a JSON object. */
#pragma once

#include "base/base.h"

/* The line, from 1, of key ("a.b" is b inside of a) in text, which must be valid JSON
 * that ends with a NUL; 0 when it is not there. Keys are compared byte for byte: one
 * that text writes with escapes is not found. */
int cla_json_line(const char *text, const char *key);
