#include "storage/text.h"

#include <string.h>

bool storage_text_copy(char *to, size_t size, const char *from, size_t len)
{
    if (len >= size)
        return false;
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}
