/* The words for what fence/fleet/fleet.h decides, and which of them fit. */
#include "fence/fleet/fleet.h"

static const struct fence_words reasons[] = {
    [FENCE_REASON_NONE] = {"none", "It votes."},
    [FENCE_REASON_CONNECTING] = {"connecting", "Not reached yet; pawld keeps trying."},
    [FENCE_REASON_UNREACHABLE] =
        {"unreachable",
         "The connection failed; pawld keeps trying. Check that this server runs, and its "
         "address."},
    [FENCE_REASON_SILENT] =
        {"silent", "It did not answer in time; pawld keeps trying. Check the machine and the "
                   "network."},
    [FENCE_REASON_UNWILLING] =
        {"unwilling",
         "This server answers but takes no writes; pawld keeps trying. Repair what its last "
         "failure names: free its disk, or change its settings."},
    [FENCE_REASON_ERROR] =
        {"error",
         "This server answers with an error; pawld keeps trying. Repair what its last failure "
         "names."},
    [FENCE_REASON_CHANGED] = {"changed", "This server is not what it was; pawld probes it again."},
    [FENCE_REASON_NO_MAJORITY] =
        {"no-majority", "A majority of the masters must name one fleet before any may vote. Start "
                        "the others; if the fleet is new, run pawld init --new once."},
    [FENCE_REASON_RESTARTED] = {"restarted",
                                "It restarted, or its lineage changed. It is being taken back."},
    [FENCE_REASON_UNFIT] = {"unfit", "This server is not fit to be a master."},
    [FENCE_REASON_SAME_SERVER] =
        {"same-server", "Two --master addresses lead to this one server. A server may vote once at "
                        "most. Give each address a server of its own."},
    [FENCE_REASON_BLANK] =
        {"blank",
         "It has no marker: it is new, was wiped, or lost its disk. If the whole fleet is new, "
         "run pawld init --new once. Otherwise it is taken back by itself once a majority of "
         "the fleet, without it, is active."},
    [FENCE_REASON_OTHER_SIZE] =
        {"other-size",
         "It belongs to a fleet with another number of masters. If a fleet was moved here, give "
         "every pawld the --master addresses that pawld move was given."},
    [FENCE_REASON_MOVED] =
        {"moved",
         "Its fleet was moved to other masters. Start pawld with those; if that move was broken "
         "off, run it again. To use this one for something else, wipe it."},
    [FENCE_REASON_MALFORMED] =
        {"malformed",
         "Somebody changed its marker, the hash pawl:fleet, by hand, and it cannot be read. This "
         "master is taken back by itself once a majority of the fleet, without it, is active. If "
         "none is to be had, delete that key on this master (redis-cli DEL pawl:fleet), and run "
         "pawld init --token-floor."},
    [FENCE_REASON_OTHER_FLEET] =
        {"other-fleet",
         "It belongs to another fleet. Check the --master addresses. If they are right, somebody "
         "changed its marker by hand: wipe it (redis-cli FLUSHALL), and it is taken back."},
    [FENCE_REASON_OTHER_MEMBER] =
        {"other-member", "It is another member of the fleet than its place in the list says. Give "
                         "every pawld the --master addresses in the order that init was given. "
                         "If it was a replica of that member and holds a copy of its data, wipe "
                         "it."},
    [FENCE_REASON_LIST_ORDER] =
        {"list-order",
         "It is to be taken back, but not by this pawld: another master is not the member that its "
         "place in the --master list says. So this place may be wrong too. Give every pawld the "
         "--master addresses in the order that init was given."},
    [FENCE_REASON_OTHER_TTL] =
        {"other-ttl", "Its marker names another maximum TTL than the majority's. Someone changed "
                      "it by hand. Wipe this master (redis-cli FLUSHALL), and it is taken back."},
    [FENCE_REASON_UNDURABLE] =
        {"undurable",
         "Its marker says that it is durable, and its settings no longer are. Restore the settings "
         "that its audit names. To go on without them, stop it, remove its data folder, and start "
         "it empty: it is then taken back as a master that forgets."},
    [FENCE_REASON_FORGOT] =
        {"forgot", "It restarted, was a replica for a while, or dropped keys, so it may have "
                   "forgotten. It is taken back by itself once a majority of the fleet, without "
                   "it, is active."},
    [FENCE_REASON_ROLLED_BACK] =
        {"rolled-back",
         "Its data is older than what it has answered before: an older file was put back, or the "
         "end of its append-only file was cut off. It rejoins by itself once a majority of the "
         "other masters is active: start those. If they are lost, run pawld init --token-floor."},
    [FENCE_REASON_SUPERSEDED] =
        {"superseded",
         "Another server has taken its place in the fleet. Retire this one; if it is to "
         "serve again at this address, restart it empty."},
    [FENCE_REASON_JOINING] =
        {"joining",
         "A server is taking it back, and it votes when that is done. If that server is gone, "
         "another one begins anew within seconds."},
    [FENCE_REASON_INIT] =
        {"init",
         "A pawld init or pawld move is running on it. With --token-floor, and in a move, it waits "
         "until the longest lease has run out; then all masters vote. Keep this one running. If it "
         "was broken off, run it again with the same options."},
    [FENCE_REASON_EMPTY] =
        {"blank",
         "It has no marker: it was replaced, wiped, or lost its disk. It is taken back by itself "
         "once a majority of the fleet, without it, is active."},
};

const struct fence_words *fence_reason_words(enum fence_reason reason,
                                             const struct fence_facts *facts)
{
    if (reason == FENCE_REASON_UNFIT && facts && facts->unfit)
        return facts->unfit;
    if (reason == FENCE_REASON_UNDURABLE && facts && facts->undurable)
        return facts->undurable;
    return &reasons[reason];
}

bool fence_reason_passes(enum fence_reason reason)
{
    switch (reason) {
    case FENCE_REASON_CONNECTING:
    case FENCE_REASON_UNREACHABLE:
    case FENCE_REASON_SILENT:
    case FENCE_REASON_UNWILLING:
    case FENCE_REASON_ERROR:
    case FENCE_REASON_CHANGED:
    case FENCE_REASON_NO_MAJORITY:
    case FENCE_REASON_RESTARTED:
    case FENCE_REASON_FORGOT:
    case FENCE_REASON_JOINING:
    case FENCE_REASON_INIT:
    case FENCE_REASON_EMPTY:
        return true;
    default:
        return false;
    }
}

const char *fence_master_state_name(enum fence_master_state state)
{
    switch (state) {
    case FENCE_MASTER_ACTIVE:
        return "active";
    case FENCE_MASTER_WAITING:
        return "waiting";
    case FENCE_MASTER_RESTAMP:
        return "returning";
    case FENCE_MASTER_REJOIN:
        return "rejoining";
    case FENCE_MASTER_REFUSED:
        return "refused";
    case FENCE_MASTER_DOWN:
        break;
    }
    return "down";
}

/* Whether some master still says which fleet it is of, or once did. */
static bool is_of_a_fleet(const struct fence_fleet *fleet)
{
    bool marked = fleet->fleet_id[0] != '\0';
    for (unsigned i = 0; i < fleet->n; i++)
        marked = marked || fleet->master[i].facts.marked || fleet->master[i].facts.closed;
    return marked;
}

enum fence_reason fence_fleet_told(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_master *master = &fleet->master[i];
    switch (master->reason) {
    case FENCE_REASON_BLANK:
        return is_of_a_fleet(fleet) ? FENCE_REASON_EMPTY : FENCE_REASON_BLANK;
    case FENCE_REASON_JOINING:
        return master->facts.initialising ? FENCE_REASON_INIT : FENCE_REASON_JOINING;
    case FENCE_REASON_SUPERSEDED:
        return fleet->view.incarnation[i] == master->believed ? FENCE_REASON_SUPERSEDED
                                                              : FENCE_REASON_CHANGED;
    default:
        return master->reason;
    }
}

bool fence_fleet_initialising(const struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++)
        if (fence_fleet_told(fleet, i) == FENCE_REASON_INIT)
            return true;
    return false;
}
