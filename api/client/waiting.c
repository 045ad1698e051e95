/* The common rules of calls that wait at a pawld: attempts, and what gateways do to them. */
#include "api/client/client.h"

static int64_t end_of_wait(int64_t wait_ms)
{
    const int64_t now_ms = pawl_now_ms();
    if (wait_ms == PAWL_NO_WAIT)
        return now_ms;
    return wait_ms <= 0 || wait_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + wait_ms;
}

struct client_wait client_wait(const pawl_client *client, int64_t wait_ms)
{
    struct client_wait wait = {.until_ms = end_of_wait(wait_ms)};
    client_wait_restart(client, &wait);
    return wait;
}

void client_wait_restart(const pawl_client *client, struct client_wait *wait)
{
    wait->first_ms = pawl_now_ms() + client->call_timeout_ms;
    wait->patience = client_patience(wait->first_ms);
}

int client_wait_check(pawl_client *client, int64_t wait_ms)
{
    if (wait_ms >= PAWL_NO_WAIT)
        return 0;
    client_say(client,
               "wait_ms must not be negative; give PAWL_NO_WAIT, PAWL_WAIT or milliseconds");
    return PAWL_EINVAL;
}

int64_t client_wait_left_ms(const struct client_wait *wait, int64_t most_ms)
{
    const int64_t left_ms = wait->until_ms - pawl_now_ms();
    if (left_ms <= 0)
        return 0;
    return left_ms < most_ms ? left_ms : most_ms;
}

/* Reports whether the last attempt waited at a pawld. If a gateway cuts such a wait, it ends
 * early. */
static bool did_wait(const struct client_wait *wait)
{
    return wait->step_ms > 0 && pawl_now_ms() - wait->asked_ms >= CLIENT_CUT_LEAST_MS;
}

int client_wait_ask(pawl_client *client, struct client_wait *wait, struct client_request *request,
                    int64_t step_ms, struct client_answer *ret_answer)
{
    wait->asked_ms = pawl_now_ms();
    wait->step_ms = step_ms;
    request->timeout_ms = step_ms + client_attempt_ms(client);
    client->attempting = true;
    const int error = client_ask(client, request, ret_answer);
    client->attempting = false;
    if (error < 0)
        wait->answered |= client->cut && did_wait(wait);
    return error;
}

int client_wait_problem(pawl_client *client, struct client_wait *wait,
                        const struct client_answer *answer)
{
    const bool is_foreign = client_is_foreign(answer);
    int error = client_problem(client, answer);
    if (is_foreign && error == PAWL_EPROTOCOL && (wait->answered || did_wait(wait)))
        error = PAWL_EUNAVAILABLE; /* a page of a gateway */
    wait->answered |= !is_foreign || error == PAWL_EUNAVAILABLE;
    return error;
}

bool client_wait_goes_on(struct client_wait *wait)
{
    const bool did = did_wait(wait);
    if (did)
        wait->patience.pause_ms = 0; /* the attempt did wait, and the place in the queue is kept
                                      * for a moment */
    if (wait->answered && wait->until_ms > wait->first_ms)
        wait->patience.until_ms = wait->until_ms;
    return client_pause(&wait->patience) || (did && wait->answered);
}

void pawl_cancel(pawl_client *client)
{
    atomic_store(&client->cancelled, true);
}
