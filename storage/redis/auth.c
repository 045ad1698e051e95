#include "storage/redis/auth.h"

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
