/* import_front.c - the front matter of a model's card. */
#include "base/yaml.h"
#include "exchange/import_card.h"

cla_status cla_card_front(json_t **front, const char *path, const char *text,
                          size_t size)
{
    *front = NULL;
    const cla_status status = cla_yaml_parse(front, path, text, size);
    if (status != CLA_E_INPUT) {
        return status;
    }
    cla_log(CLA_LOG_INFO, "%s: its front matter is not read: %s", path, cla_error());
    return CLA_OK;
}
