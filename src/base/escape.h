/* escape.h - makes characters visible that a message would hide. */
#pragma once

#include "base/base.h"

/* Copies text to out [room], cut to fit, with these characters as \u{feff}: controls,
 * byte order marks, blanks other than U+0020, marks of direction, joiners and other
 * characters without a picture of their own. A byte that is not UTF-8 becomes \xff;
 * the head of a character that was cut off before a quote or the end is left out. Line
 * ends and tabs become blanks, or stay when lines is set. */
void cla_escape(char *out, size_t room, const char *text, bool lines);
