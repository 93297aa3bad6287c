/* jsonline.h - finds the line of a key in the text of a JSON object. */
#pragma once

#include "base/base.h"

/* Returns the line, from 1, of key ("a.b" is b inside of a) in text, or 0 when it is
 * not there. text must be valid JSON that ends with a NUL. Keys are compared byte for
 * byte, so a key written with escapes is not found. */
int cla_json_line(const char *text, const char *key);
