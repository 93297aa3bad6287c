/* tuning_file.h - reads the JSON of a tuning file where it stands.
 *
 * The core has no JSON library: of a tuning file it needs the members of objects, and
 * the text of everything else. */
#pragma once

#include "base/base.h"

/* A part of a text. A name's is what stands between its quotes, with its escapes. */
typedef struct cla_slice {
    const char *at;
    size_t size;
} cla_slice;

/* A member of an object: "name": value. */
typedef struct cla_member {
    cla_slice name, value;
} cla_member;

/* Checks that a text of so many bytes and a NUL is one JSON object; the other functions
 * expect that. Errors: CLA_E_INPUT, with the line. */
cla_status cla_members_check(const char *text, size_t size);

/* Whether a checked value is an object. */
bool cla_members_are(cla_slice value);

/* The next member of an object, the first one where *at is the object's text; false
 * after the last one. */
bool cla_members_next(const char **at, cla_member *member);

/* Whether a name, its escapes resolved, is this text. */
bool cla_name_is(cla_slice name, const char *text);
