/* A program of others: one lock of a pawld (PAWL_SERVER), with the installed client. Prints its
 * token. */
#include <pawl.h>
#include <stdio.h>

static int fail(const char *what, const char *reason)
{
    fprintf(stderr, "%s: %s\n", what, reason);
    return 1;
}

int main(void)
{
    const char *const names[] = {"package/client"};
    struct pawl_request request = {0};
    pawl_client *client = NULL;
    pawl_lock *lock = NULL;
    bool released = false;

    request.names = names;
    request.name_count = 1;
    if (pawl_client_new(NULL, &client) < 0)
        return fail("pawl_client_new", "failed");
    if (pawl_acquire(client, &request, &lock) < 0)
        return fail("pawl_acquire", pawl_client_reason(client));
    if (pawl_lock_token(lock, 0) < 1 || pawl_lock_left_ms(lock) < 1)
        return fail("pawl_acquire", "no token, or no time");
    if (pawl_extend(client, lock, 0) != 0)
        return fail("pawl_extend", pawl_client_reason(client));
    if (pawl_release(client, lock, &released) < 0 || !released)
        return fail("pawl_release", pawl_client_reason(client));
    printf("%lld\n", (long long)pawl_lock_token(lock, 0));
    pawl_lock_free(lock);
    pawl_client_free(client);
    return 0;
}
