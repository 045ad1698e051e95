#include "storage/redis/auth.h"

#include <assert.h>
#include <string.h>

int storage_auth_args(const struct storage_redis_url *url,
                      const char *ret_args[static STORAGE_AUTH_ARGS])
{
    int count = 0;
    if (!url->password[0])
        return 0;
    ret_args[count++] = "AUTH";
    if (url->user[0])
        ret_args[count++] = url->user;
    ret_args[count++] = url->password;
    return count;
}

void storage_auth_refused(struct storage_redis_url *url)
{
    char refused[sizeof(url->password)];
    if (!url->other_password[0])
        return;
    memcpy(refused, url->password, sizeof(refused));
    memcpy(url->password, url->other_password, sizeof(refused));
    memcpy(url->other_password, refused, sizeof(refused));
    explicit_bzero(refused, sizeof(refused));
}

void storage_auth_change(struct storage_redis_url *url, const char *password)
{
    const size_t size = strlen(password) + 1;
    assert(size > 1 && size <= sizeof(url->password));
    if (strcmp(url->password, password) == 0)
        return;
    memcpy(url->other_password, url->password, sizeof(url->password));
    memcpy(url->password, password, size);
}
