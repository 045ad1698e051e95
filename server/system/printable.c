#include "server/system/printable.h"

#include "api/json/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    ESCAPED_LEN = 4, /* "\x9b" */
};

size_t server_printable(const char *text, char *ret_text, size_t size)
{
    size_t len = 0;
    size_t left = strlen(text);
    assert(size > 0);
    while (left > 0) {
        const size_t known = api_utf8_sequence(text, left);
        const bool plain = known > 0 && !api_utf8_is_control(text, known);
        const size_t used = known > 0 ? known : 1;
        if (len + (plain ? used : used * ESCAPED_LEN) >= size)
            break;
        if (plain)
            memcpy(ret_text + len, text, used);
        for (size_t i = 0; i < used && !plain; i++)
            (void)snprintf(ret_text + len + i * ESCAPED_LEN, ESCAPED_LEN + 1, "\\x%02x",
                           (unsigned char)text[i]);
        len += plain ? used : used * ESCAPED_LEN;
        text += used;
        left -= used;
    }
    ret_text[len] = '\0';
    return len;
}
