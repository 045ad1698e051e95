#include "server/loop/bootstrap_words.h"

#include "fence/protocol/lease.h"
#include "server/loop/masters.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add_words(char why[static SERVER_BOOTSTRAP_WHY_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_words(char why[static SERVER_BOOTSTRAP_WHY_MAX], const char *format, ...)
{
    const size_t len = strlen(why);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why + len, SERVER_BOOTSTRAP_WHY_MAX - len, format, args);
    va_end(args);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void say_forgotten(const struct fence_bootstrap *bootstrap, char *why)
{
    const unsigned n = bootstrap->params.n, count = bootstrap->outcome.count;
    if (bootstrap->params.closes)
        add_words(why,
                  "only %u of %u masters kept their data, fewer than a majority. Wait until pawld "
                  "has admitted the other masters",
                  count, n);
    else
        add_words(
            why,
            "%u of %u masters have a record of the earlier pawld move that closed the fleet %s. "
            "Run pawld move again with the --master options of that move. If you already gave "
            "these addresses, the masters may have voted after that move, and lost their data",
            count, n, bootstrap->params.from);
    add_words(why,
              ". Alternatively, give --token-floor T, the highest token that any guard has seen");
}

/* Explains a failure of the whole run. Returns false if the failure is about one master. */
static bool say_of_run(const struct fence_bootstrap *bootstrap, char *why)
{
    const struct fence_bootstrap_outcome *outcome = &bootstrap->outcome;
    switch (outcome->failure) {
    case FENCE_BOOTSTRAP_BAD_COUNT:
        add_words(why,
                  "a fleet has 1, 3, 5, 7 or 9 masters, not %u: an even number tolerates no more "
                  "failures than one master fewer",
                  bootstrap->params.n);
        return true;
    case FENCE_BOOTSTRAP_BAD_TTL:
        add_words(why, "the maximum TTL must be %d to %d ms", FENCE_TTL_MIN_MS,
                  FENCE_TTL_CEILING_MS);
        return true;
    case FENCE_BOOTSTRAP_NOTHING_LOST:
        add_words(why,
                  "%s: %u of %u masters, a majority, still have all their data. Start pawld as "
                  "usual: the other masters rejoin, and GET /v1/fleet shows the progress",
                  bootstrap->params.from[0]
                      ? "the masters are already a fleet, but not the fleet of this move"
                      : "nothing was lost",
                  outcome->count, bootstrap->params.n);
        return true;
    case FENCE_BOOTSTRAP_INCARNATION:
        add_words(why,
                  "a marker has the incarnation %" PRId64
                  " for master %u. No incarnation can be higher. Another program wrote the "
                  "marker: find that program",
                  bootstrap->known.incarnation[outcome->master], outcome->master + 1);
        return true;
    case FENCE_BOOTSTRAP_NO_FLEET:
        add_words(why, "no master belongs to a fleet. Check the addresses. If all masters lost "
                       "their data, first run pawld init --token-floor");
        return true;
    case FENCE_BOOTSTRAP_FORGOTTEN:
        say_forgotten(bootstrap, why);
        return true;
    case FENCE_BOOTSTRAP_FLOOR:
        add_words(why,
                  "no floor fits above %" PRId64
                  ": too few tokens are left below 2^53. Create a new fleet on empty masters, for "
                  "locks with other names",
                  outcome->seen);
        return true;
    default:
        return false;
    }
}

/* Explains a failure about the marker of a master. */
static void say_of_marker(const struct fence_bootstrap *bootstrap, char *why)
{
    const struct fence_bootstrap_outcome *outcome = &bootstrap->outcome;
    const struct fence_facts *facts = &bootstrap->seen[outcome->master];
    switch (outcome->failure) {
    case FENCE_BOOTSTRAP_CUT_SHORT:
        add_words(why, "pawld init --token-floor was interrupted on this master. The fleet has "
                       "granted tokens, and a new fleet would start below them. Run that command "
                       "again, with the same T");
        break;
    case FENCE_BOOTSTRAP_MARKED:
        add_words(why,
                  "it is already marked as member %u of the fleet %s. If that fleet is still in "
                  "use, do not make a new fleet. If a majority of its masters lost their data, run "
                  "pawld init --token-floor. If you no longer need any token of that fleet, "
                  "delete " SERVER_MASTERS_MARKER " on this master and run init again",
                  (unsigned)facts->member, facts->fleet_id);
        break;
    case FENCE_BOOTSTRAP_PLACE:
        add_words(why,
                  "it is member %u of its fleet. Give the --master addresses in the order of its "
                  "pawld init",
                  (unsigned)facts->member);
        break;
    case FENCE_BOOTSTRAP_MOVED:
        add_words(why,
                  "it was a master of the fleet %s, which was moved to other masters. If that move "
                  "was interrupted, run it again. Otherwise wipe this master (FLUSHALL)",
                  facts->marked ? facts->fleet_id : facts->closed_fleet_id);
        break;
    case FENCE_BOOTSTRAP_OTHER_MOVE:
        add_words(why,
                  "another run of pawld move has closed the fleet of this master, %s. Complete "
                  "that move first",
                  facts->closed_fleet_id);
        break;
    case FENCE_BOOTSTRAP_OTHER_SIZE:
        add_words(why,
                  "it is a master of the fleet %s, which has %u masters and not %u. If a fleet was "
                  "moved here, start pawld with all of its current masters",
                  facts->fleet_id, (unsigned)facts->other_members, bootstrap->params.n);
        break;
    case FENCE_BOOTSTRAP_OTHER_FLEET:
        add_words(why,
                  "it belongs to the fleet %s, but a master earlier in the list belongs to %s. "
                  "Check the --master addresses. If you no longer need any token of one of the two "
                  "fleets, delete " SERVER_MASTERS_MARKER " on its masters",
                  facts->fleet_id, bootstrap->fleet_id);
        break;
    default:
        add_words(why,
                  "the longest lease of its fleet is %u ms, not %u ms. Remove --max-ttl-ms: a "
                  "fleet keeps its longest lease",
                  (unsigned)facts->ttl_max_ms, (unsigned)bootstrap->ttl_max_ms);
        break;
    }
}

static void say_of_master(const struct fence_bootstrap *bootstrap, const char *detail, char *why)
{
    const struct fence_bootstrap_outcome *outcome = &bootstrap->outcome;
    switch (outcome->failure) {
    case FENCE_BOOTSTRAP_UNFIT:
        add_words(why, "%s",
                  fence_reason_words(outcome->reason, &bootstrap->seen[outcome->master])->text);
        break;
    case FENCE_BOOTSTRAP_LOST_ONE:
        add_words(why, "%s", detail);
        break;
    case FENCE_BOOTSTRAP_CHANGED:
        add_words(why, SERVER_MASTERS_MARKER " has just changed on it: a pawld admitted the "
                                             "master, or another pawld init was faster");
        break;
    case FENCE_BOOTSTRAP_TAKEN_OVER:
        add_words(why, "this run of init has lost its claim on the master: the master was wiped, "
                       "or another run of init claimed it");
        break;
    default:
        say_of_marker(bootstrap, why);
        break;
    }
}

/* ---- what to do now -------------------------------------------------------------------------- */

static void advise_new(const struct fence_bootstrap *bootstrap, char *why)
{
    if (bootstrap->outcome.state == FENCE_BOOTSTRAP_CLAIMING)
        add_words(why, ". Nothing can be granted yet. Repair the master, then run init again");
    else if (bootstrap->outcome.admitted >= fence_majority(bootstrap->params.n))
        add_words(why,
                  ". The other masters are a majority: the fleet exists, and pawld admits this "
                  "master later. Do not run init again");
    else
        add_words(why, ". Other masters may already be active, and may have granted tokens. Repair "
                       "the master, then run pawld init --token-floor 0");
}

static void advise_floor(const struct fence_bootstrap *bootstrap, char *why)
{
    if (bootstrap->outcome.state != FENCE_BOOTSTRAP_ADMITTING)
        add_words(why, ". No lock is granted until this command succeeds. Repair the master, then "
                       "run this command again with the same T");
    else if (bootstrap->outcome.admitted >= fence_majority(bootstrap->params.n))
        add_words(why,
                  ". The other masters are a majority and continue above %" PRId64
                  ": pawld admits this master later. Do not run init again",
                  bootstrap->floor);
    else
        add_words(why,
                  ". Other masters may be active already, with tokens above %" PRId64
                  ". Repair the master, then run pawld init --token-floor %" PRId64,
                  bootstrap->floor, bootstrap->floor);
}

static void advise_move(const struct fence_bootstrap *bootstrap, char *why)
{
    if (bootstrap->outcome.state == FENCE_BOOTSTRAP_ADMITTING && !bootstrap->params.closes)
        add_words(why, ". Other masters already vote, with tokens above %" PRId64,
                  bootstrap->floor);
    add_words(why, ". Repair the master, then run pawld move again with the same options");
}

void server_bootstrap_words(const struct fence_bootstrap *bootstrap, const char *address,
                            const char *detail, char ret_why[static SERVER_BOOTSTRAP_WHY_MAX])
{
    ret_why[0] = '\0';
    if (!say_of_run(bootstrap, ret_why)) {
        add_words(ret_why, "master %u (%s): ", bootstrap->outcome.master + 1, address);
        say_of_master(bootstrap, detail, ret_why);
    }
    if (bootstrap->outcome.state == FENCE_BOOTSTRAP_LOOKING ||
        bootstrap->outcome.failure == FENCE_BOOTSTRAP_FLOOR)
        return; /* nothing was written, or another run cannot help */
    if (bootstrap->params.closes || bootstrap->params.from[0])
        advise_move(bootstrap, ret_why);
    else if (bootstrap->params.goes_on)
        advise_floor(bootstrap, ret_why);
    else
        advise_new(bootstrap, ret_why);
}
