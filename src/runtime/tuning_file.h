/* tuning_file.h - reads the JSON of a tuning file in place.
 *
 * The core has no JSON library. Of a tuning file it needs only the members of objects;
 * other values stay texts. */
#pragma once

#include "base/base.h"

/* A part of a text. A name is the text between its quotes, with its escapes. */
typedef struct cla_slice {
    const char *at;
    size_t size;
} cla_slice;

/* A member of an object: "name": value. */
typedef struct cla_member {
    cla_slice name, value;
} cla_member;

/* Checks that a text of size bytes and a NUL is one JSON object. The other functions
 * expect a checked text. Errors: CLA_E_INPUT, with the line of a syntax error. */
cla_status cla_members_check(const char *text, size_t size);

/* Returns whether a checked value is an object. */
bool cla_members_are(cla_slice value);

/* Gives the next member of an object and advances *at, which is the object's text at
 * first. Returns false after the last member. */
bool cla_members_next(const char **at, cla_member *member);

/* Returns whether a name, its escapes resolved, equals text. */
bool cla_name_is(cla_slice name, const char *text);
