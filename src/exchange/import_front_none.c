/* import_front_none.c - a build without libyaml reads no front matter. */
#include "exchange/import_card.h"

cla_status cla_card_front(json_t **front, const char *path, const char *text,
                          size_t size)
{
    (void)path;
    (void)text;
    (void)size;
    *front = NULL;
    return CLA_OK;
}
