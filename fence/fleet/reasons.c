/* The words for what fence/fleet/fleet.h decides, and which of them fit. */
#include "fence/fleet/fleet.h"

static const struct fence_words reasons[] = {
    [FENCE_REASON_NONE] = {"none", "This master votes."},
    [FENCE_REASON_CONNECTING] = {"connecting",
                                 "pawld has not reached this master yet, and keeps trying."},
    [FENCE_REASON_UNREACHABLE] = {"unreachable",
                                  "The connection to this master failed. pawld keeps trying. Check "
                                  "that the master runs, and that its address is correct."},
    [FENCE_REASON_SILENT] =
        {"silent", "This master did not answer in time. pawld keeps trying. Check the machine and "
                   "the network."},
    [FENCE_REASON_UNWILLING] =
        {"unwilling", "This master answers, but accepts no writes. pawld keeps trying. Repair the "
                      "cause of the last failure: free disk space at the master, or change its "
                      "settings."},
    [FENCE_REASON_ERROR] = {"error", "This master answers with an error. pawld keeps trying. "
                                     "Repair the cause of the last failure of this master."},
    [FENCE_REASON_CHANGED] = {"changed", "This master has changed. pawld probes the master again."},
    [FENCE_REASON_NO_MAJORITY] =
        {"no-majority", "No master can vote until a majority of the masters belongs to one fleet. "
                        "Start the other masters. If the fleet is new, run pawld init --new once."},
    [FENCE_REASON_RESTARTED] =
        {"restarted", "This master restarted, or its data changed. The master votes again by "
                      "itself once a majority of the masters answers."},
    [FENCE_REASON_UNFIT] = {"unfit", "This server cannot be a master."},
    [FENCE_REASON_SAME_SERVER] = {"same-server",
                                  "Two --master addresses lead to this server, and a server has "
                                  "only one vote. Use a different server for each address."},
    [FENCE_REASON_BLANK] =
        {"blank",
         "This master has no marker: it is new, was wiped, or lost its disk. If the whole fleet is "
         "new, run pawld init --new once. Otherwise the master rejoins once a majority of the "
         "other masters is active."},
    [FENCE_REASON_OTHER_SIZE] =
        {"other-size",
         "This master belongs to a fleet with another number of masters. If a fleet was moved "
         "here, give every pawld the same --master addresses as that pawld move."},
    [FENCE_REASON_MOVED] =
        {"moved",
         "The fleet of this master was moved. Start pawld with the new masters. If the move was "
         "interrupted, run pawld move again. If an older file was restored, or to use this server "
         "for something else, wipe it."},
    [FENCE_REASON_MALFORMED] =
        {"malformed", "Another program changed the marker of this master, the hash pawl:fleet, so "
                      "pawld cannot read the marker. The master rejoins once a majority of the "
                      "other masters is active. If no majority is left, delete the key pawl:fleet "
                      "on this master (redis-cli DEL pawl:fleet), and run pawld init "
                      "--token-floor."},
    [FENCE_REASON_OTHER_FLEET] =
        {"other-fleet", "This master belongs to another fleet. Check the --master addresses. If "
                        "the addresses are correct, another program changed the marker of this "
                        "master: wipe the master (redis-cli FLUSHALL), and it rejoins."},
    [FENCE_REASON_OTHER_MEMBER] =
        {"other-member", "This master is at the wrong position in the --master list. Give every "
                         "pawld the addresses in the order of pawld init. If the master was a "
                         "replica of another member and has a copy of its data, wipe it."},
    [FENCE_REASON_LIST_ORDER] =
        {"list-order",
         "This master is empty, and pawld does not admit it yet. Another master is at the wrong "
         "position in the --master list, so this position may be wrong, too. Give "
         "every pawld the addresses in the order of pawld init."},
    [FENCE_REASON_OTHER_TTL] =
        {"other-ttl",
         "Another program changed the marker of this master: its maximum TTL differs from that of "
         "the majority. Wipe this master (redis-cli FLUSHALL), and it rejoins."},
    [FENCE_REASON_UNDURABLE] =
        {"undurable", "This master is marked as durable, and its settings have become weaker. "
                      "Restore the settings that the audit of this master names. To keep the "
                      "weaker settings, stop the master, remove its data folder, and start the "
                      "master empty. The master then rejoins as a master that loses its data at "
                      "each restart."},
    [FENCE_REASON_FORGOT] =
        {"forgot", "This master restarted, was a replica for a while, or dropped keys, so it may "
                   "have lost data. The master rejoins once a majority of the other masters is "
                   "active."},
    [FENCE_REASON_ROLLED_BACK] =
        {"rolled-back", "The data of this master is older than the answers that this master gave: "
                        "an older file was restored, or the end of its append-only file was cut "
                        "off. The master rejoins once a majority of the other masters is active. "
                        "Start the other masters. If the other masters lost their data, run pawld "
                        "init --token-floor."},
    [FENCE_REASON_SUPERSEDED] = {"superseded",
                                 "Another server has replaced this master in the fleet, or an "
                                 "older file of this master was restored. Retire this server. To "
                                 "use this server again at this address, restart it empty."},
    [FENCE_REASON_JOINING] = {"joining",
                              "A pawld is admitting this master. After the admission, the master "
                              "votes. If that pawld fails, a pawld continues within seconds."},
    [FENCE_REASON_INIT] =
        {"init",
         "pawld init or pawld move is running on this master. With --token-floor, and in a move, "
         "the command waits until the longest lease has ended. Then all masters vote. Keep this "
         "master running. If the command was interrupted, run it again with the same options."},
    [FENCE_REASON_EMPTY] =
        {"blank", "This master has no marker: it was replaced, wiped, or lost its disk. The master "
                  "rejoins once a majority of the other masters is active."},
};

/* The advice for a fleet in a file, which has no network and no other masters. */
static const struct fence_words silent_file = {
    "silent", "The file did not answer in time. pawld keeps trying. The disk is slow, or another "
              "program has locked the file. Find that program (fuser pawl.db), and end the "
              "program."};
static const struct fence_words forgotten_file = {
    "forgot",
    "While pawld served, the file was moved or replaced, or another program changed it. The file "
    "may lack granted tokens. Stop pawld, and continue with higher tokens: pawld init "
    "--token-floor T --data FOLDER, where T is the highest token that any guard has seen."};

const struct fence_words *fence_reason_words(enum fence_reason reason,
                                             const struct fence_facts *facts)
{
    if (reason == FENCE_REASON_SILENT && facts && facts->exclusive)
        return &silent_file;
    if (reason == FENCE_REASON_FORGOT && facts && facts->exclusive)
        return &forgotten_file;
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

/* Reports whether some master still says which fleet it is of, or once did. */
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
