/* mutants [--seeds N] [NAME...]    has the simulator look for each mutant, or for those named
 * mutants --quick [--part I/N]     those that are found soon: all, or each N-th from the I-th on
 * mutants --in KIND [NAME...]      the same, in worlds of one kind only
 * mutants --table                  prints each as a row of FOUND.md, which ./found writes
 * mutants --shrink NAME            tells a short history in which that mutant breaks a promise
 * mutants --shrink --scene FILE NAME   also writes it as a scene that the page /story plays
 * mutants --actions FILE NAME      writes what that mutant does, whatever it breaks, until the
 *                                  checker has refused an action (tests/proof), or to the last seed
 *
 * A mutant is the protocol with one rule switched off, or with rules that cover for each other.
 * tests/sim/mutants/ has the switches. A mutant that is not found within so many seeds means that
 * the simulator is too weak.
 *
 * Exit status: 0 each was found; 1 one was not; 2 bad options. */
#include "tests/sim/mutants/switches.h"
#include "tests/sim/world/seeds.h"
#include "tests/sim/world/shrink.h"

#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEEDS = 1000 * 1000,     /* at most, for each */
    SEEDS_QUICK = 50 * 1000, /* the same with --quick: each is found in 10,000 or fewer as it is,
                              * and a change of the worlds or of the core finds it elsewhere */
    PARTS_MAX = 64,
    ON_MAX = 4, /* switches of one mutant */
    SEEDS_TEXT_BYTES = 40,
    TITLE_BYTES = 120,
};

#define TOKENS  "P1 P2 P4"                            /* tokens, exclusion, lost updates */
#define COMING  "P3"                                  /* answers that come back, and in time */
#define WAITING "W1 W2 W3 W4"                         /* waiters.h */
#define ORDERED "W5"                                  /* next.h */
#define FAIR    "F1"                                  /* readers behind a writer: execute.c */
#define LISTED  "L1 L2 L3"                            /* listed.h */
#define WATCHED "T1 T2 T3"                            /* watched.h */
#define COUNTED "C1 C2 C3"                            /* counted.h */
#define BROKEN  "B1 B2 B3 B4 P2"                      /* broken.h, and exclusion */
#define CLOSED  "K1 K2 K3 P2"                         /* closed.h, and exclusion */
#define UNFOUND "P1 P2 P4 C1 C2 C3 L1 L2 L3 B1 B2 B3" /* it is looked for by name only */

/* The switches of a row. clang-format gives each bare brace within its own row a line. */
#define ON(...)                                                                                    \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const struct mutant {
    const char *name;
    const char *rule;              /* data that are not kept */
    const char *promises;          /* the promise that is broken then */
    enum mutant_switch on[ON_MAX]; /* MUTANT_NONE behind the last */
} mutants[] = {
    {"majority-of-asked", "a majority is of all N masters", TOKENS, ON(MUTANT_MAJORITY_OF_ASKED)},
    {"confirm-by-id", "a confirmation applies only to the attempt with its number", TOKENS,
     ON(MUTANT_CONFIRM_BY_ID)},
    {"late-number",
     "a late number is not added to the fixed set (switched off together with confirm-by-id)",
     TOKENS, ON(MUTANT_LATE_NUMBERS_JOIN, MUTANT_CONFIRM_BY_ID)},
    {"late-number-exactly",
     "a late number is not added to the fixed set (with a check of the exact number)", TOKENS,
     ON(MUTANT_LATE_NUMBERS_JOIN, MUTANT_CONFIRM_EXACTLY)},
    {"undo-by-lock-id", "a clean-up undoes its own attempt only", TOKENS,
     ON(MUTANT_UNDO_BY_LOCK_ID)},
    {"seats-apart", "all seats of a name share a counter", TOKENS, ON(MUTANT_SEATS_APART)},
    {"writer-lacks-a-seat", "a writer has every seat that a reader can have", TOKENS,
     ON(MUTANT_WRITER_LACKS_A_SEAT)},
    {"gate-for-seat", "a reader needs its seat, whatever the state of the gate", TOKENS,
     ON(MUTANT_GATE_FOR_SEAT)},
    {"gate-unchecked", "a master with a held gate refuses readers", FAIR,
     ON(MUTANT_GATE_UNCHECKED)},
    {"survey-skipped", "a retry looks for the seat that its lock id has", COMING,
     ON(MUTANT_SURVEY_SKIPPED)},
    {"turns-ignored", "a free seat goes to the first call that knows the seat", WAITING,
     ON(MUTANT_TURNS_IGNORED)},
    {"no-view", "a master compares views", TOKENS, ON(MUTANT_VIEW_UNCHECKED)},
    {"extended-in-any-view", "a master also compares views for an extension", TOKENS,
     ON(MUTANT_EXTEND_VIEW_UNCHECKED)},
    {"hedge-under-new-view", "a hedge names the view of the first requests", TOKENS,
     ON(MUTANT_HEDGE_UNDER_NEW_VIEW)},
    {"valid-from-hedge", "the validity counts from the first request of the call", TOKENS,
     ON(MUTANT_VALID_FROM_HEDGE)},
    {"nothing-recorded",
     "a master records the incarnation before its pages are read, or pages compare the incarnation",
     TOKENS, ON(MUTANT_NOTHING_RECORDED, MUTANT_PAGES_UNCHECKED)},
    {"one-read-fewer", "a rejoin reads a majority of the other masters", TOKENS,
     ON(MUTANT_ONE_READ_FEWER)},
    {"reads-itself", "the majority that a rejoin reads does not include the rejoining master",
     TOKENS, ON(MUTANT_READ_ITSELF)},
    {"read-before-record",
     "a rejoin reads a master after this master has recorded the incarnation, or pages compare the "
     "incarnation",
     TOKENS, ON(MUTANT_READ_BEFORE_RECORD, MUTANT_PAGES_UNCHECKED)},
    {"one-believed", "a report about a master is believed after a second master reports the same",
     COMING, ON(MUTANT_ONE_BELIEVED)},
    {"two-views",
     "all masters that are read record under one view, or pages compare the incarnation", TOKENS,
     ON(MUTANT_RECORDED_UNDER_TWO_VIEWS, MUTANT_PAGES_UNCHECKED)},
    {"locks-kept", "a rejoin clears the member first", TOKENS, ON(MUTANT_LOCKS_KEPT)},
    {"cleared-again", "a late copy of CLEAR removes nothing that was imported", TOKENS,
     ON(MUTANT_CLEAR_UNCOUNTED)},
    {"incarnation-reused", "each mark has a new incarnation", TOKENS,
     ON(MUTANT_INCARNATION_REUSED)},
    {"counters-not-imported", "a rejoin imports counters", TOKENS,
     ON(MUTANT_COUNTERS_NOT_IMPORTED)},
    {"locks-not-imported", "a rejoin imports locks", TOKENS, ON(MUTANT_LOCKS_NOT_IMPORTED)},
    {"seen-by-majority", "a rejoin also imports locks that only some of the read masters had",
     TOKENS, ON(MUTANT_SEEN_BY_MAJORITY)},
    {"stored-number-kept", "an imported lock gets a new number", TOKENS,
     ON(MUTANT_STORED_NUMBER_KEPT)},
    {"mixed-by-number",
     "locks of two lock ids become a tombstone, and the lock with the higher number is not kept",
     TOKENS, ON(MUTANT_MIXED_BY_NUMBER)},
    {"mixed-by-first", "locks of two lock ids become a tombstone, and the first lock is not kept",
     TOKENS, ON(MUTANT_MIXED_BY_FIRST)},
    {"tombstone-deletable", "a tombstone ends only when its time is over", TOKENS,
     ON(MUTANT_TOMBSTONE_DELETABLE)},
    {"tombstone-not-copied", "a rejoin also imports tombstones", TOKENS,
     ON(MUTANT_TOMBSTONE_NOT_COPIED)},
    {"lease-not-max", "of two leases a rejoin keeps the longer one", TOKENS,
     ON(MUTANT_LEASE_NOT_MAX)},
    {"no-nonce",
     "install and admission check the nonce of the rejoin, or the steps of a rejoin are counted",
     TOKENS,
     ON(MUTANT_INSTALL_NONCE_UNCHECKED, MUTANT_ADMIT_NONCE_UNCHECKED, MUTANT_PROGRESS_UNCHECKED)},
    {"lineage-not-in-take", "requests compare the lineage", TOKENS,
     ON(MUTANT_LINEAGE_UNCHECKED_TAKE)},
    {"lineage-not-in-read", "records and pages compare the lineage", TOKENS,
     ON(MUTANT_LINEAGE_UNCHECKED_READ)},
    {"change-ignored",
     "a master that restarted or was a replica loses its vote (and refuses requests)", TOKENS,
     ON(MUTANT_CHANGE_IGNORED, MUTANT_LINEAGE_UNCHECKED_TAKE, MUTANT_LINEAGE_UNCHECKED_READ,
        MUTANT_LINEAGE_UNCHECKED_INSTALL)},
    {"all-intact",
     "if no other master can be asked, only a master that proves to be intact is trusted", TOKENS,
     ON(MUTANT_ALL_INTACT)},
    {"undurable-votes", "a durable master has no vote while it is not durable", TOKENS,
     ON(MUTANT_UNDURABLE_VOTES, MUTANT_UNDURABLE_COUNTS)},
    {"mark-unseen", "a mark applies only if the master has not changed since it was judged", TOKENS,
     ON(MUTANT_MARK_UNSEEN)},
    {"floor-without-wait", "a token floor waits for the longest lease", TOKENS,
     ON(MUTANT_BOOTSTRAP_NO_WAIT)},
    {"floor-without-margin", "a floor is above tokens that no guard has seen", TOKENS,
     ON(MUTANT_FLOOR_WITHOUT_MARGIN)},
    {"floor-without-survivors", "a floor is above the counters of survivors", TOKENS,
     ON(MUTANT_FLOOR_WITHOUT_SURVIVORS)},
    {"new-over-marked", "no new fleet is made where an older fleet granted tokens", TOKENS,
     ON(MUTANT_NEW_OVER_MARKED)},
    {"floor-in-a-known-view",
     "a token floor raises incarnations above all incarnations that it may have missed", COMING,
     ON(MUTANT_BOOTSTRAP_VIEW_LOW)},
    {"no-wait", "if locks cannot be imported, a rejoin waits for the longest lease", TOKENS,
     ON(MUTANT_NO_WAIT)},
    {"everybody-asks", "only the first waiter of a queue asks", WAITING, ON(MUTANT_EVERYBODY_ASKS)},
    {"asks-out-of-line", "a call that does not wait keeps to the queue if the lock may be free",
     WAITING, ON(MUTANT_ASKS_OUT_OF_LINE)},
    {"last-served-first", "first come, first served", WAITING, ON(MUTANT_LAST_SERVED_FIRST)},
    {"place-forgotten", "a waiter that returns soon keeps its place", WAITING,
     ON(MUTANT_PLACE_FORGOTTEN)},
    {"next-not-woken", "a waiter that has become the first asks soon", WAITING,
     ON(MUTANT_NEXT_NOT_WOKEN)},
    {"word-ignored", "a notice of a release wakes the first waiter", WAITING,
     ON(MUTANT_WORD_IGNORED)},
    {"early-word-ignored", "a notice that arrives during an attempt also wakes the first waiter",
     WAITING, ON(MUTANT_EARLY_WORD_IGNORED)},
    {"lease-end-ignored", "a waiter asks at the end of the lease", WAITING,
     ON(MUTANT_LEASE_END_IGNORED)},
    {"own-id-past",
     "a lock of the same lock id with a higher number does not mean that the lock is lost", TOKENS,
     ON(MUTANT_OWN_ID_PAST)},
    {"tombstone-past", "a tombstone does not mean that the lock is lost", TOKENS,
     ON(MUTANT_TOMBSTONE_PAST)},
    {"waits-unnoted", "a master notes that a waiter asked", WAITING, ON(MUTANT_WAITS_UNNOTED)},
    {"next-unkept", "a master reserves a released lock for the waiter that came first", ORDERED,
     ON(MUTANT_NEXT_UNKEPT)},
    {"next-without-end", "a reservation ends after a moment", ORDERED, ON(MUTANT_NEXT_WITHOUT_END)},
    {"next-held-back", "the waiter of a reservation can take the lock", ORDERED,
     ON(MUTANT_NEXT_HELD_BACK)},
    {"next-twice", "the reservation ends when its waiter takes the lock", ORDERED,
     ON(MUTANT_NEXT_TWICE)},
    {"next-for-strangers", "a waiter without a ticket does not take a reserved lock", ORDERED,
     ON(MUTANT_NEXT_FOR_STRANGERS)},
    {"ticket-of-nobody", "the ticket of a waiter is the number of the holder at its arrival",
     ORDERED, ON(MUTANT_TICKET_OF_NOBODY)},
    {"held-back-unnoted", "a master notes a waiter that a reservation holds back", ORDERED,
     ON(MUTANT_HELD_BACK_UNNOTED)},
    {"no-looks", "a waiter asks repeatedly", WAITING, ON(MUTANT_NO_LOOKS)},
    {"holder-waits", "a call that asks again for its own lock does not wait for itself", WAITING,
     ON(MUTANT_HOLDER_WAITS)},
    {"adopted-unmarked", "after a retry finds a lock, the lock no longer belongs to one attempt",
     TOKENS, ON(MUTANT_ADOPTED_UNMARKED)},
    {"adopted-undone", "a clean-up leaves a lock that a retry has found", TOKENS,
     ON(MUTANT_ADOPTED_UNDONE)},
    {"adopted-unconfirmed", "a lock that a retry has found can be confirmed", COMING,
     ON(MUTANT_ADOPTED_UNCONFIRMED)},
    {"adopted-by-id", "a lock that a retry has found is confirmed only with its number", TOKENS,
     ON(MUTANT_ADOPTED_BY_ID)},
    {"own-lease-only", "a grant is not valid for longer than the leases that it found", TOKENS,
     ON(MUTANT_OWN_LEASE_ONLY)},
    {"all-adopt", "only a lock id chosen by a client finds an existing lock", COMING,
     ON(MUTANT_ALL_ADOPT)},
    {"group-in-part", "a call for several locks takes all or none", TOKENS,
     ON(MUTANT_GROUP_IN_PART)},
    {"group-confirmed-in-part", "a call for several locks confirms all or none", TOKENS,
     ON(MUTANT_GROUP_CONFIRMED_IN_PART)},
    {"group-undone-in-part", "a clean-up of a call for several locks undoes all", COMING,
     ON(MUTANT_GROUP_UNDONE_IN_PART)},
    {"count-majority-of-asked", "a value needs a majority of all N masters", COUNTED,
     ON(MUTANT_COUNT_MAJORITY_OF_ASKED)},
    {"count-highest-wins",
     "a value needs the same number from a majority; the highest number is not enough", COUNTED,
     ON(MUTANT_COUNT_HIGHEST_WINS)},
    {"count-parts-shared", "each call of a round gets a separate part of the values", COUNTED,
     ON(MUTANT_COUNT_PARTS_SHARED)},
    {"named-not-imported", "a rejoin imports named counters", COUNTED,
     ON(MUTANT_NAMED_NOT_IMPORTED)},
    {"listing-walks-too-few", "a listing walks N - q + 1 masters", LISTED,
     ON(MUTANT_LISTING_WALKS_TOO_FEW)},
    {"listing-skips-unasked", "a listing does not skip a name whose masters cannot be asked",
     LISTED, ON(MUTANT_LISTING_SKIPS_UNASKED)},
    {"listing-knows-by-name",
     "a listing does not skip a name that has another holder on that master", LISTED,
     ON(MUTANT_LISTING_KNOWS_BY_NAME)},
    {"listing-split-loses",
     "if a scan step does not fit on a page, the next page continues in this step", LISTED,
     ON(MUTANT_LISTING_SPLIT_LOSES)},
    {"listing-ends-behind-step",
     "if a scan step does not fit on a page, the page ends before this step", LISTED,
     ON(MUTANT_LISTING_ENDS_BEHIND_STEP)},
    {"listing-part-unchecked", "a listing continues only in the same part of the table", LISTED,
     ON(MUTANT_LISTING_PART_UNCHECKED)},
    {"listing-held-unchecked", "a listing has only locks that an inspection finds held", LISTED,
     ON(MUTANT_LISTING_HELD_UNCHECKED)},
    {"listing-untimed", "a listing waits for a master for a limited time", LISTED,
     ON(MUTANT_LISTING_UNTIMED)},
    {"break-majority-of-heard", "a break needs a majority of all N masters", BROKEN,
     ON(MUTANT_BREAK_MAJORITY_OF_HEARD)},
    {"break-uncounted", "a break raises the counter above the token (or leaves a note)", BROKEN,
     ON(MUTANT_BREAK_UNCOUNTED, MUTANT_BREAK_UNNOTED)},
    {"break-unnoted", "an extension finds the note of a break", BROKEN, ON(MUTANT_BREAK_UNNOTED)},
    {"broken-reacquired", "one note ends an extension, and the lock is not acquired again", BROKEN,
     ON(MUTANT_BROKEN_REACQUIRED)},
    {"watch-look-too-old", "a look counts only for watches that began before the look", WATCHED,
     ON(MUTANT_WATCH_LOOK_TOO_OLD)},
    {"watch-change-missed", "a watch compares each look with what its client knows", WATCHED,
     ON(MUTANT_WATCH_CHANGE_MISSED)},
    {"watch-no-looks", "a watch looks repeatedly", WATCHED, ON(MUTANT_WATCH_NO_LOOKS)},
    {"delay-after-release", "a release opens a lock with a delay at once", CLOSED,
     ON(MUTANT_DELAY_AFTER_RELEASE)},
    {"delay-not-extended", "an extension keeps the delay of the lock", CLOSED,
     ON(MUTANT_DELAY_NOT_EXTENDED)},
    {"delay-as-lease", "a retry finds the lease without the delay", CLOSED,
     ON(MUTANT_DELAY_AS_LEASE)},
    {"keep-lengthens", "a release that keeps a lock closed never makes the lock last longer",
     CLOSED, ON(MUTANT_KEEP_LENGTHENS)},
    {"break-by-name", "a break leaves the locks of other lock ids", BROKEN,
     ON(MUTANT_BREAK_BY_NAME)},
    {"break-by-id", "a break leaves a later grant of the same lock id", BROKEN,
     ON(MUTANT_BREAK_BY_ID)},
    {"break-others-unseen",
     "a lock of another lock id with such a number does not count for a break", BROKEN,
     ON(MUTANT_BREAK_OTHERS_UNSEEN)},
    {"disk-trusted-blindly", "a disk behind a known position is not trusted", TOKENS,
     ON(MUTANT_DISK_TRUSTED_BLINDLY, MUTANT_POSITION_UNCHECKED)},
    {"told-ignored", "a disk is not trusted if other masters know a later position", TOKENS,
     ON(MUTANT_TOLD_IGNORED)},

    /* Looked for only by name. README.md says why they are not found. */
    {"lost-without-past", "a lock is lost only if enough masters are past its token", UNFOUND,
     ON(MUTANT_LOST_WITHOUT_PAST)},
    {"join-past", "a lock joins a master only if the counter there is not past the token", UNFOUND,
     ON(MUTANT_JOIN_PAST)},
    {"pages-unchecked", "a page comes from a master that has recorded the incarnation", UNFOUND,
     ON(MUTANT_PAGES_UNCHECKED)},
    {"extended-unmarked", "an extended lock no longer belongs to one attempt", UNFOUND,
     ON(MUTANT_EXTENDED_UNMARKED)},
    {"extends-any-imported", "an imported lock is extended only if a majority had it", UNFOUND,
     ON(MUTANT_EXTEND_ANY_IMPORTED)},
    {"listing-any-process", "a scan's cursor is valid for one process only", UNFOUND,
     ON(MUTANT_LISTING_PROCESS_UNCHECKED)},
    {"read-on-elsewhere", "an import's cursor is valid for one process of its source only", UNFOUND,
     ON(MUTANT_READ_ON_ELSEWHERE)},
    {"progress-unchecked", "a member is admitted only after all steps are done", UNFOUND,
     ON(MUTANT_PROGRESS_UNCHECKED)},
    {"lineage-not-in-install",
     "install and admission compare the lineage, or the steps of a rejoin are counted", UNFOUND,
     ON(MUTANT_LINEAGE_UNCHECKED_INSTALL, MUTANT_PROGRESS_UNCHECKED)},
    {"merge-keeps-attempt", "neither of two attempts undoes their merged lock", UNFOUND,
     ON(MUTANT_MERGE_KEEPS_ATTEMPT)},
    {"memory-unnamed", "a machine with old data has a lower incarnation than its replacement",
     UNFOUND, ON(MUTANT_MEMORY_UNNAMED)},
    {"named-below-floor", "named counters also start above the floor", UNFOUND,
     ON(MUTANT_NAMED_BELOW_FLOOR)},
    {"kept-uncounted", "an extension does not join a name that is kept closed", UNFOUND,
     ON(MUTANT_KEPT_UNCOUNTED)},
    {"kept-for-nobody", "a lock that is kept closed has no holder", UNFOUND,
     ON(MUTANT_KEPT_FOR_NOBODY)},
    {"break-by-number", "a break leaves the locks of other lock ids, with any number", UNFOUND,
     ON(MUTANT_BREAK_BY_NUMBER)},
    {"break-in-any-view", "a break names one view", UNFOUND, ON(MUTANT_BREAK_VIEW_UNCHECKED)},
    {"reacquired-by-few", "a lock is acquired again only if a majority answered", UNFOUND,
     ON(MUTANT_REACQUIRED_BY_FEW)},
    {"late-answer-counts", "an answer that is read late does not count", UNFOUND,
     ON(MUTANT_LATE_ANSWER_COUNTS)},
    {"telling-not-awaited", "a disk is trusted only after all servers could report", UNFOUND,
     ON(MUTANT_TELLING_NOT_AWAITED)},
    {"restamp-uncounted",
     "the position of a trusted disk is above the position of each copy of the disk", UNFOUND,
     ON(MUTANT_RESTAMP_UNCOUNTED)},
    {"lineage-not-in-mark", "the mark of a master that kept its data compares the lineage", UNFOUND,
     ON(MUTANT_LINEAGE_UNCHECKED_MARK)},
};

enum {
    MUTANTS = sizeof(mutants) / sizeof(mutants[0]),
};

/* Mutants that take more than 10,000 seeds: scripts/search looks for them. */
static const char *const seldom_found[] = {
    "adopted-by-id",
    "all-intact",
    "break-unnoted",
    "broken-reacquired",
    "extended-in-any-view",
    "floor-in-a-known-view",
    "hedge-under-new-view",
    "lineage-not-in-read",
    "locks-kept",
    "mark-unseen",
    "no-wait",
    "survey-skipped",
    "told-ignored",
    "undurable-votes",
};

struct options {
    uint64_t seeds;
    bool quick;
    bool table;
    unsigned part, parts; /* part 1 .. parts */
    bool shrink;
    const char *actions;
    const char *scene;
    bool kinds[SIM_WORLD_KINDS];
    bool any_kind;
    bool chosen[MUTANTS];
    bool any_chosen;
};

/* ---- options --------------------------------------------------------------------------------- */

static bool parse_part(const char *text, struct options *options)
{
    char *end;
    const unsigned long part = strtoul(text, &end, 10);
    const unsigned long parts = *end == '/' ? strtoul(end + 1, &end, 10) : 0;
    if (*end != '\0' || part < 1 || part > parts || parts > PARTS_MAX)
        return false;
    options->part = (unsigned)part;
    options->parts = (unsigned)parts;
    return true;
}

/* False: there is no such kind of world; no such mutant. */
static bool parse_kind(const char *text, struct options *options)
{
    options->any_kind = true;
    for (unsigned k = 0; k < SIM_WORLD_KINDS; k++)
        if (strcmp(text, sim_world_kind_name((enum sim_world_kind)k)) == 0)
            return options->kinds[k] = true;
    return false;
}

static bool parse_mutant(const char *text, struct options *options)
{
    options->any_chosen = true;
    for (unsigned m = 0; m < MUTANTS; m++)
        if (strcmp(text, mutants[m].name) == 0)
            return options->chosen[m] = true;
    return false;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 's':
        if (!sim_seeds_number(text, &options->seeds))
            argp_error(state, "a number of seeds is wanted, not: %s", text);
        return 0;
    case 'q':
        options->quick = true;
        return 0;
    case 't':
        options->table = true;
        return 0;
    case 'p':
        if (!parse_part(text, options))
            argp_error(state, "a part is written 1/4, of at most %d, not: %s", PARTS_MAX, text);
        return 0;
    case 'k':
        options->shrink = true;
        return 0;
    case 'w':
        options->actions = text;
        return 0;
    case 'c':
        options->scene = text;
        return 0;
    case 'i':
        if (!parse_kind(text, options))
            argp_error(state, "no such kind of world: %s", text);
        return 0;
    case ARGP_KEY_ARG:
        if (!parse_mutant(text, options))
            argp_error(state, "no such mutant: %s", text);
        return 0;
    case ARGP_KEY_END:
        if ((options->shrink || options->actions) && !options->any_chosen)
            argp_error(state, "say which mutant");
        if (options->scene && !options->shrink)
            argp_error(state, "--scene needs --shrink");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option known_options[] = {
    {"seeds", 's', "N", 0, "How many to look through, at most, for each mutant", 0},
    {"quick", 'q', NULL, 0, "Leave out those that take more than 10,000 seeds", 0},
    {"table", 't', NULL, 0, "Print rows of a table in Markdown", 0},
    {"part", 'p', "I/N", 0, "Of all that are looked for, the I-th and each N-th after that", 0},
    {"in", 'i', "KIND", 0, "Look in worlds of this kind only; may be given more than once", 0},
    {"actions", 'w', "FILE", 0, "Write what the mutant that is named does, for the checker", 0},
    {"scene", 'c', "FILE", 0, "With --shrink: write that history as a scene for the page /story",
     0},
    {"shrink", 'k', NULL, 0, "Tell a short history of each mutant that is named", 0},
    {0},
};

static const struct argp argp = {
    .options = known_options,
    .parser = parse_option,
    .args_doc = "[MUTANT...]",
    .doc = "Switches off one rule at a time, and lets the simulator find out.",
};

/* ---- reading ------------------------------------------------------------------------------ */

/* That something does not come back, or not in time, is no sign of a wrong token: those promises do
 * not count where others are looked for. */
static bool broke_a_promise(const struct sim_world *world, const struct mutant *mutant)
{
    char broken[] = "??";
    memcpy(broken, world->check.violation, sizeof(broken) - 1);
    return broken[0] != '\0' && strstr(mutant->promises, broken);
}

/* UNCHECKED: a rule that is off may be an invariant of the core. */
static void switch_on(const struct mutant *mutant)
{
    memset(mutant_is_on, 0, sizeof(mutant_is_on));
    mutant_is_on[MUTANT_UNCHECKED] = true;
    for (unsigned k = 0; k < ON_MAX && mutant->on[k] != MUTANT_NONE; k++)
        mutant_is_on[mutant->on[k]] = true;
}

/* The seeds that it took. 0: it was not found. */
static uint64_t look_for(struct sim_world *world, const struct mutant *mutant,
                         const struct options *options)
{
    switch_on(mutant);
    for (uint64_t seed = 0; seed < options->seeds; seed++) {
        struct sim_plan plan = sim_plan_of_seed(seed, 0);
        if (options->any_kind && !options->kinds[plan.kind])
            continue;
        (void)sim_world_play(world, &plan, seed, NULL);
        if (broke_a_promise(world, mutant))
            return seed + 1;
    }
    return 0;
}

static bool report(struct sim_world *world, const struct mutant *mutant,
                   const struct options *options)
{
    const uint64_t took = look_for(world, mutant, options);
    char found[SEEDS_TEXT_BYTES];
    if (took)
        snprintf(found, sizeof(found), "%" PRIu64, took);
    else
        snprintf(found, sizeof(found), "NOT FOUND in %" PRIu64, options->seeds);
    printf(options->table ? "| %s | %s | %s | %s |\n" : "%-24s %-76s %7s  %s\n", mutant->name,
           mutant->rule, found, took ? world->check.violation : "");
    fflush(stdout);
    return took > 0;
}

static bool tell_short(struct sim_world *world, const struct mutant *mutant,
                       const struct options *options)
{
    struct sim_short found;
    uint64_t took = look_for(world, mutant, options);
    if (!took || !sim_shrink(world, took - 1, 0, &found)) {
        printf("%s: not found\n", mutant->name);
        return false;
    }
    (void)sim_world_play(world, &found.plan, found.seed, stdout);
    char title[TITLE_BYTES];
    (void)snprintf(title, sizeof(title), "Without the rule: %s", mutant->rule);
    if (!options->scene ||
        sim_scene_play(world, &found.plan, found.seed, title, options->scene) == 0)
        return true;
    fprintf(stderr, "%s: cannot be written\n", options->scene);
    return false;
}

static bool write_actions(struct sim_world *world, const struct mutant *mutant,
                          const struct options *options)
{
    FILE *out = fopen(options->actions, "w");
    world->actions = out ? sim_actions_new(out) : NULL;
    if (!world->actions)
        return false;
    switch_on(mutant);
    for (uint64_t seed = 0; seed < options->seeds && !sim_actions_broken(world->actions); seed++)
        (void)sim_world_run(world, seed, 0, NULL);
    sim_actions_free(world->actions);
    (void)fclose(out); /* nobody may read on */
    return true;
}

static bool is_seldom_found(const struct mutant *mutant)
{
    const size_t count = sizeof(seldom_found) / sizeof(seldom_found[0]);
    for (size_t i = 0; i < count; i++)
        if (strcmp(mutant->name, seldom_found[i]) == 0)
            return true;
    return false;
}

/* Reports whether mutant @m is looked for. */
static bool is_wanted(unsigned m, const struct options *options)
{
    if (options->any_chosen)
        return options->chosen[m];
    return strcmp(mutants[m].promises, UNFOUND) != 0 &&
           !(options->quick && is_seldom_found(&mutants[m]));
}

int main(int argc, char **argv)
{
    struct options options = {.part = 1, .parts = 1};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct sim_world *world = sim_world_new();
    if (!world)
        return EXIT_FAILURE;
    if (!options.shrink && !options.table && !options.actions)
        printf("%-24s %-76s %7s  %s\n", "mutant", "the rule that is off", "seeds", "found by");
    if (options.seeds == 0)
        options.seeds = options.quick ? SEEDS_QUICK : SEEDS;
    bool all = true;
    unsigned nth = 0;
    (void)signal(SIGPIPE, SIG_IGN); /* the checker ends with the first refusal */
    for (unsigned m = 0; m < MUTANTS; m++) {
        if (!is_wanted(m, &options) || nth++ % options.parts != options.part - 1)
            continue;
        if (options.actions)
            all &= write_actions(world, &mutants[m], &options);
        else
            all &= options.shrink ? tell_short(world, &mutants[m], &options)
                                  : report(world, &mutants[m], &options);
    }
    sim_world_free(world);
    return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
