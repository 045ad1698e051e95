#include "api/tls/pem.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF_WRITTEN                                                                               \
    "the file may be truncated; write a complete new file, and rename it over this file"

int api_tls_tell(char ret_why[static API_TLS_WHY_MAX], const char *what, const char *path,
                 const char *why)
{
    (void)snprintf(ret_why, API_TLS_WHY_MAX, "%s %s: %s", what, path, why);
    return FENCE_EINVAL;
}

void api_tls_pem_wipe(gnutls_datum_t *data)
{
    if (data->data != NULL)
        gnutls_memset(data->data, 0, data->size);
    free(data->data);
    *data = (gnutls_datum_t){.data = NULL};
}

/* ---- half written files ---------------------------------------------------------------------- */

static bool line_begins(const char *line, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static bool is_blank_line(const char *line, size_t len)
{
    while (len > 0 && strchr(" \t\r", line[len - 1]) != NULL && line[len - 1] != '\0')
        len--;
    return len == 0;
}

/* A cut between two blocks cannot be told from a file with fewer blocks. */
static const char *find_cut(const char *text, size_t size)
{
    bool blocks = false; /* there are some */
    bool within = false; /* a block */
    bool behind = false; /* the last block: other text follows */
    if (size > 0 && text[size - 1] != '\n')
        return "the last line has no line break: " HALF_WRITTEN;
    for (const char *line = text; line < text + size;) {
        const char *end = memchr(line, '\n', (size_t)(text + size - line));
        assert(end != NULL); /* the last line ends */
        const size_t len = (size_t)(end - line);
        if (line_begins(line, len, "-----BEGIN ")) {
            if (within)
                break;
            within = blocks = true;
        } else if (line_begins(line, len, "-----END ")) {
            within = false;
            behind = false;
        } else if (!within && !is_blank_line(line, len)) {
            behind = true;
        }
        line = end + 1;
    }
    if (within)
        return "the last block has no end: " HALF_WRITTEN;
    return behind && blocks ? "text follows the last block: " HALF_WRITTEN : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

int api_tls_pem_read(const char *what, const char *path, gnutls_datum_t *ret_data,
                     char ret_why[static API_TLS_WHY_MAX])
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return api_tls_tell(ret_why, what, path, strerror(errno));
    gnutls_datum_t data = {NULL, 0};
    data.data = malloc(API_TLS_FILE_MAX);
    if (data.data == NULL) {
        (void)fclose(file);
        return FENCE_ENOMEM;
    }
    (void)setvbuf(file, NULL, _IONBF, 0); /* no copy of a key stays in a buffer */
    errno = 0;
    data.size = (unsigned)fread(data.data, 1, API_TLS_FILE_MAX, file);
    const char *fault = ferror(file) != 0 ? strerror(errno) : NULL;
    (void)fclose(file);
    if (fault == NULL && data.size == API_TLS_FILE_MAX)
        fault = "the file is too large";
    if (fault == NULL)
        fault = find_cut((const char *)data.data, data.size);
    if (fault != NULL) {
        api_tls_pem_wipe(&data);
        return api_tls_tell(ret_why, what, path, fault);
    }
    *ret_data = data;
    return 0;
}
