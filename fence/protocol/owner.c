#include "fence/protocol/owner.h"

#include "fence/protocol/name.h"

#include <assert.h>
#include <string.h>

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool fence_key_id_valid(const char *id, size_t len)
{
    if (len < FENCE_KEY_ID_MIN || len > FENCE_KEY_ID_MAX || id[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_key_char(id[i]))
            return false;
    return true;
}

bool fence_owner_valid(const char *owner, size_t len)
{
    const char *separator = memchr(owner, FENCE_OWNER_SEPARATOR, len);
    if (separator == NULL)
        return fence_label_valid(owner, len);
    const size_t label_len = (size_t)(separator - owner);
    return fence_label_valid(owner, label_len) &&
           fence_key_id_valid(separator + 1, len - label_len - 1);
}

void fence_owner_join(const char *label, const char *key_id,
                      char ret_owner[static FENCE_OWNER_MAX + 1])
{
    const size_t label_len = strlen(label);
    const size_t id_len = strlen(key_id);
    assert(fence_label_valid(label, label_len));
    memcpy(ret_owner, label, label_len + 1);
    if (id_len == 0)
        return;
    assert(fence_key_id_valid(key_id, id_len));
    ret_owner[label_len] = FENCE_OWNER_SEPARATOR;
    memcpy(ret_owner + label_len + 1, key_id, id_len + 1);
}

const char *fence_owner_split(const char *owner, char ret_label[static FENCE_OWNER_MAX + 1])
{
    const size_t len = strlen(owner);
    assert(len <= FENCE_OWNER_MAX);
    const char *separator =
        fence_owner_valid(owner, len) ? strchr(owner, FENCE_OWNER_SEPARATOR) : NULL;
    const size_t label_len = separator != NULL ? (size_t)(separator - owner) : len;
    memcpy(ret_label, owner, label_len);
    ret_label[label_len] = '\0';
    return separator != NULL ? separator + 1 : "";
}
