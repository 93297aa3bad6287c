/* choose.c - chooses a device by the text of CLATTN_DEVICE or --device. */
#include <string.h>

#include "base/text.h"
#include "runtime/device.h"
#include "runtime/driver.h"

/* Shorter numbers are positions only: "5" must not mean a "3050", nor "avx512". */
enum { NAME_DIGITS = 3 };

/* A form of a word. The forms are tried in order. */
typedef struct reading {
    bool (*is)(const char *word); // whether it has this form
    bool (*matches)(const cla_device *d, const char *word);
    bool last;  // no other form is tried
    bool class; // several may match: the first is chosen
} reading;

/* ---- the forms --------------------------------------------------------------- */

static bool only(const char *word, const char *characters)
{
    return *word && !word[strspn(word, characters)];
}

static bool is_index(const char *word)
{
    return only(word, "0123456789");
}

static bool is_short_index(const char *word)
{
    return is_index(word) && strlen(word) < NAME_DIGITS;
}

static bool index_matches(const cla_device *d, const char *word)
{
    int64_t index;
    return cla_parse_int(word, &index) && d->index == index;
}

static bool is_pair(const char *word)
{
    return only(word, "0123456789:") && strchr(word, ':');
}

static bool pair_matches(const cla_device *d, const char *word)
{
    cla_text text = { 0 };
    const bool same = cla_text_add(&text, "%d:%d", d->platform, d->member) == CLA_OK &&
                      strcmp(text.data, word) == 0;
    cla_text_free(&text);
    return same;
}

static bool is_type(const char *word)
{
    return cla_equals_nocase(word, "cpu") || cla_equals_nocase(word, "gpu") ||
           cla_equals_nocase(word, "accelerator");
}

static bool type_matches(const cla_device *d, const char *word)
{
    switch (d->kind) {
    case CLA_DEVICE_GPU:
    case CLA_DEVICE_INTEGRATED:
        return cla_equals_nocase(word, "gpu");
    case CLA_DEVICE_CPU:
    case CLA_DEVICE_SOFTWARE: // it runs on the processor, and is last of the list
        return cla_equals_nocase(word, "cpu");
    case CLA_DEVICE_ACCELERATOR:
        return cla_equals_nocase(word, "accelerator");
    }
    return false;
}

/* A word for a vendor, and the texts that its drivers report. */
static const struct vendor {
    const char *word, *signature[3];
} vendors[] = {
    { "pocl", { "pocl", "portable computing language" } },
    { "amd", { "amd", "advanced micro devices" } },
    { "intel", { "intel" } },
    { "nvidia", { "nvidia" } },
};

static const struct vendor *find_vendor(const char *word)
{
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++) {
        if (cla_equals_nocase(word, vendors[i].word)) return &vendors[i];
    }
    return NULL;
}

static bool is_vendor(const char *word)
{
    return find_vendor(word) != NULL;
}

static bool signed_by(const struct vendor *vendor, const char *text)
{
    for (int i = 0; i < 3 && vendor->signature[i]; i++) {
        if (cla_contains_nocase(text, vendor->signature[i])) return true;
    }
    return false;
}

/* Compares with the vendor of the driver, not of the processor: on an AMD processor
 * PoCL reports AuthenticAMD as its vendor, and Intel's runtime runs there, too. */
static bool vendor_matches(const cla_device *d, const char *word)
{
    const struct vendor *vendor = find_vendor(word);
    if (signed_by(vendor, d->platform_name)) return true;
    return !signed_by(&vendors[0], d->platform_name) && signed_by(vendor, d->vendor) &&
           !cla_contains_nocase(d->vendor, "authentic") &&
           !cla_contains_nocase(d->vendor, "genuine");
}

static bool is_uuid(const char *word)
{
    return strlen(word) > 5 && strncmp(word, "uuid:", 5) == 0;
}

/* Matches the whole identifier or its beginning, with or without dashes. */
static bool uuid_matches(const cla_device *d, const char *word)
{
    char digits[sizeof d->uuid] = "";
    size_t size = 0;
    for (const char *c = word + 5; *c; c++) {
        if (*c == '-') continue;
        if (size + 1 == sizeof digits) return false;
        digits[size++] = *c;
    }
    char start[sizeof d->uuid] = "";
    memcpy(start, d->uuid, size);
    return size > 0 && cla_equals_nocase(start, digits);
}

static bool is_name(const char *word)
{
    return *word != '\0';
}

/* The names of a device: its own, and as messages and `clattn devices` print it. */
enum { NAMES = 5 };
static cla_status name_device(cla_text *text, const cla_device *d, int form)
{
    text->size = 0;
    switch (form) {
    case 0:
        return cla_text_add(text, "%s", d->name);
    case 1:
        return cla_text_add(text, "%s/%s", d->platform_name, d->name);
    case 2:
        return cla_text_add(text, "%s (%s, %s)", d->name, d->vendor, d->driver);
    case 3:
        return cla_text_add(text, "%s %s", d->platform_name, d->name);
    default:
        return cla_text_add(text, "%s %s", vendors[0].word, d->name); // as messages do
    }
}

static bool whole_matches(const cla_device *d, const char *word)
{
    cla_text text = { 0 };
    bool same = false;
    for (int form = 0; form < NAMES && !same; form++) {
        same =
            name_device(&text, d, form) == CLA_OK && cla_equals_nocase(text.data, word);
    }
    cla_text_free(&text);
    return same;
}

static bool part_matches(const cla_device *d, const char *word)
{
    cla_text text = { 0 };
    const bool found =
        cla_text_add(&text, "%s/%s", d->platform_name, d->name) == CLA_OK &&
        cla_contains_nocase(text.data, word);
    cla_text_free(&text);
    return found;
}

static const reading readings[] = {
    { is_short_index, index_matches, .last = true },
    { is_index, index_matches, .last = false },
    { is_pair, pair_matches, .last = true },
    { is_type, type_matches, .last = true, .class = true },
    { is_vendor, vendor_matches, .last = true },
    { is_uuid, uuid_matches, .last = true },
    { is_name, whole_matches, .last = false },
    { is_name, part_matches, .last = true },
};
enum { READINGS = sizeof readings / sizeof *readings, FIRST_NAME = READINGS - 2 };

/* ---- the choice -------------------------------------------------------------- */

/* The devices, those that are excluded, and those that a word matches. */
typedef struct choice {
    const cla_device *list;
    int count;
    bool *excluded, *matched;
} choice;

/* Marks the devices left that the word matches. Returns whether to choose the first
 * one. */
static bool match(choice *c, const cla_wish *wish, int *matches)
{
    *matches = 0;
    for (int r = wish->quoted ? FIRST_NAME : 0; r < READINGS; r++) {
        if (!readings[r].is(wish->word)) continue;
        for (int i = 0; i < c->count; i++) {
            c->matched[i] =
                !c->excluded[i] && readings[r].matches(&c->list[i], wish->word);
            *matches += c->matched[i];
        }
        if (*matches || readings[r].last) return readings[r].class;
    }
    return false;
}

static int first_of(const bool *flags, int count, bool value)
{
    for (int i = 0; i < count; i++) {
        if (flags[i] == value) return i;
    }
    return -1;
}

/* Adds "0 pocl pthread-...; 1 NVIDIA CUDA NVIDIA ..." of those in flags (NULL: all). */
static cla_status describe(cla_text *text, const choice *c, const bool *flags)
{
    for (int i = 0; i < c->count; i++) {
        if (flags && !flags[i]) continue;
        const cla_device *d = &c->list[i];
        const bool pocl = signed_by(&vendors[0], d->platform_name);
        CLA_TRY(cla_text_add(text, "%s%d %s %s", text->size ? "; " : "", d->index,
                             pocl ? "pocl" : d->platform_name, d->name));
    }
    return CLA_OK;
}

static cla_status fail_match(const choice *c, const char *word, int matches)
{
    cla_text devices = { 0 };
    const cla_status status = describe(&devices, c, matches ? c->matched : NULL);
    if (!status && matches) {
        cla_fail(CLA_E_USAGE, "'%s' matches %d devices (%s)", word, matches,
                 devices.data);
    } else if (!status) {
        cla_fail(CLA_E_USAGE, "no device matches '%s' (%s)", word, devices.data);
    }
    cla_text_free(&devices);
    return status ? status : CLA_E_USAGE;
}

/* Excludes the devices that "!x" words match, and counts the other words. Returns
 * whether there is a "!x" word. */
static bool exclude(choice *c, const cla_wish *wishes, int *words)
{
    bool any = false;
    *words = 0;
    for (const cla_wish *w = wishes; w->word; w++) {
        if (!w->exclude) {
            *words += *w->word != '\0';
            continue;
        }
        int matches;
        match(c, w, &matches);
        for (int i = 0; i < c->count; i++) {
            if (matches && c->matched[i]) c->excluded[i] = true;
        }
        any = true;
    }
    return any;
}

/* Chooses by the first word that matches a device. */
static cla_status prefer(choice *c, const cla_wish *wishes, const char *text,
                         int *index)
{
    for (const cla_wish *w = wishes; w->word; w++) {
        if (!*w->word || w->exclude) continue;
        int matches;
        const bool class = match(c, w, &matches);
        if (matches > 1 && !class) return fail_match(c, w->word, matches);
        if (matches) {
            *index = first_of(c->matched, c->count, true);
            return CLA_OK;
        }
    }
    return fail_match(c, text, 0);
}

static cla_status open_choice(choice *c, const char *text, cla_wish **wishes)
{
    CLA_TRY(cla_alloc(&c->excluded, (size_t)c->count, sizeof *c->excluded));
    CLA_TRY(cla_alloc(&c->matched, (size_t)c->count, sizeof *c->matched));
    return cla_wishes_read(wishes, text, c->list, c->count);
}

static void close_choice(choice *c, cla_wish **wishes)
{
    free(c->excluded);
    free(c->matched);
    cla_wishes_free(wishes);
}

static cla_status choose(choice *c, const char *text, cla_wish **wishes, int *index)
{
    CLA_TRY(open_choice(c, text, wishes));
    int words;
    const bool exclusions = exclude(c, *wishes, &words);
    if (words || !exclusions) return prefer(c, *wishes, text, index);
    *index = first_of(c->excluded, c->count, false);
    return *index < 0 ? fail_match(c, text, 0) : CLA_OK;
}

cla_status cla_device_choose(const cla_device *list, int count, const char *text,
                             int *index)
{
    *index = 0;
    if (count == 0) return cla_driver_absent();
    if (!text || !*text) return CLA_OK;
    choice c = { .list = list, .count = count };
    cla_wish *wishes = NULL;
    const cla_status status = choose(&c, text, &wishes, index);
    close_choice(&c, &wishes);
    return status;
}

/* Returns whether the word is a name. Other forms may exclude what only other machines
 * have: "!nvidia" is right everywhere, "!nvida" nowhere. */
static bool names(const cla_wish *wish)
{
    for (int r = 0; r < FIRST_NAME && !wish->quoted; r++) {
        if (readings[r].is(wish->word)) return false;
    }
    return true;
}

void cla_device_warn(const cla_device *list, int count, const char *text)
{
    if (!text || !*text || count == 0) return;
    choice c = { .list = list, .count = count };
    cla_wish *wishes = NULL;
    const cla_status status = open_choice(&c, text, &wishes);
    for (const cla_wish *w = wishes; !status && w->word; w++) {
        int matches = 1;
        if (w->exclude && names(w)) match(&c, w, &matches);
        if (!matches) cla_log(CLA_LOG_WARN, "'!%s' excludes no device", w->word);
    }
    close_choice(&c, &wishes);
}

bool cla_device_named(const cla_device *d, const char *text, size_t *size)
{
    *size = 0;
    cla_text name = { 0 };
    for (int form = 0; form < NAMES; form++) {
        if (name_device(&name, d, form)) break;
        const bool same = cla_starts_nocase(text, name.data);
        const size_t blanks = same ? strspn(text + name.size, " \t") : 0;
        const bool ends = same && strchr(",", text[name.size + blanks]) != NULL;
        if (ends && name.size > *size) *size = name.size;
    }
    cla_text_free(&name);
    return *size > 0;
}
