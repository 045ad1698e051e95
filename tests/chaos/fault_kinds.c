#include "tests/chaos/fault_kinds.h"

#include "tests/chaos/fault_acts.h"
#include "tests/chaos/master_settings.h"
#include "tests/lib/wait.h"

enum {
    ALL = 0xff, /* every kind of victim */

    /* As the stage has it. */
    ALWAYS = 1 << 0 | 1 << 1,
    EVERYSEC = 1 << 2 | 1 << 3,
    VOLATILE = 1 << 4,
    KEEPING = ALWAYS | EVERYSEC,
    FORGETFUL = EVERYSEC | VOLATILE,
};

void fault_harms(const struct stage *stage, struct fault *fault)
{
    fault->incarnation =
        chaos_master_incarnation(&stage->master[fault->victim], fault->victim, false);
    fault->harmed_ms = wait_now_ms();
}

/* clang-format off */
const struct fault_kind fault_kinds[FAULT_KINDS] = {
    /* name                               target           weight from    to  victims   forget     doubted   begin, end, go on; disk */
    {"master killed, data kept",           FAULT_OF_MASTER,   16,    50,  1000, ALL,      FORGETFUL, 0,        act_kill_master, act_start_master, NULL, FAULT_PLAIN},
    {"master killed, data gone",           FAULT_OF_MASTER,   10,    50,  1000, ALL,      ALL,       0,        act_kill_master, act_start_empty, NULL, FAULT_PLAIN},
    {"master killed, tail of AOF cut",     FAULT_OF_MASTER,   16,    50,  1000, EVERYSEC, EVERYSEC,  0,        act_kill_master, act_start_cut, NULL, FAULT_PLAIN},
    {"master flushed",                     FAULT_OF_MASTER,   10,     0,     0, ALL,      ALL,       0,        act_flush_master, NULL, NULL, FAULT_PLAIN},
    {"master replaced, old one alive",     FAULT_OF_MASTER,    8,   500,  3000, ALL,      ALL,       0,        act_replace_master, act_retire_master, NULL, FAULT_PLAIN},
    {"master stopped",                     FAULT_OF_MASTER,   10,    20,  3000, ALL,      0,         0,        act_stop_master, act_continue_master, NULL, FAULT_PLAIN},
    {"master demoted to a copy and back",  FAULT_OF_MASTER,    8,     0,     0, ALL,      ALL,       0,        act_copy_begin, act_copy_end, act_copy_go_on, FAULT_PLAIN},
    {"master failed over by Sentinel",     FAULT_OF_MASTER,    7,     0,     0, KEEPING,  KEEPING,   0,        act_sentinel_begin, act_sentinel_end, act_sentinel_go_on, FAULT_HIDES},
    {"failed over to one that restarted",  FAULT_OF_MASTER,    7,     0,     0, KEEPING,  KEEPING,   0,        act_sentinel_restart_begin, act_sentinel_end, act_sentinel_go_on, FAULT_HIDES},
    {"replica attached, or data dumped",   FAULT_OF_MASTER,    6,    50,  1000, ALL,      0,         ALL,      act_replica_begin, act_replica_end, NULL, FAULT_PLAIN},
    {"appendonly off, then restarted",     FAULT_OF_MASTER,    8,    50,  2000, KEEPING,  KEEPING,   0,        act_append_off, act_restart, NULL, FAULT_PLAIN},
    {"appendonly off, on, and killed",     FAULT_OF_MASTER,    8,    50,  2000, KEEPING,  KEEPING,   0,        act_append_off, act_append_on_killed, NULL, FAULT_PLAIN},
    {"appendonly off for a while",         FAULT_OF_MASTER,    6,    50,  2000, KEEPING,  0,         KEEPING,  act_append_off, act_append_on, NULL, FAULT_PLAIN},
    {"fsync weakened, power lost",         FAULT_OF_MASTER,    8,    50,  2000, ALWAYS,   ALWAYS,    0,        act_weaken_fsync, act_lose_power, NULL, FAULT_PLAIN},
    {"fsync weakened for a while",         FAULT_OF_MASTER,    6,    50,  2000, ALWAYS,   0,         ALWAYS,   act_weaken_fsync, act_strengthen_fsync, NULL, FAULT_PLAIN},
    {"no fsync in a rewrite, power lost",  FAULT_OF_MASTER,    8,    50,  2000, ALWAYS,   ALWAYS,    0,        act_rewrite_without_fsync, act_lose_power_in_rewrite, NULL, FAULT_PLAIN},
    {"locks evicted",                      FAULT_OF_MASTER,   10,    50,  1000, ALL,      ALL,       0,        act_crowd, act_uncrowd, NULL, FAULT_PLAIN},
    {"locks evicted, statistics reset",    FAULT_OF_MASTER,    8,     0,     0, ALL,      ALL,       0,        act_evict_and_hide, NULL, NULL, FAULT_HIDES},
    {"eviction allowed for a while",       FAULT_OF_MASTER,    6,    50,  2000, ALL,      0,         ALL,      act_allow_eviction, act_uncrowd, NULL, FAULT_PLAIN},
    {"older files put back",               FAULT_OF_MASTER,    8,   100,  3000, KEEPING,  KEEPING,   0,        act_copy_files, act_put_back, NULL, FAULT_OLDER},
    {"rolled back to a snapshot",          FAULT_OF_MASTER,    8,   100,  3000, KEEPING,  KEEPING,   0,        act_snapshot, act_put_back, NULL, FAULT_OLDER},
    {"append-only file damaged, mended",   FAULT_OF_MASTER,    8,    50,  1000, KEEPING,  KEEPING,   0,        act_kill_master, act_start_mended, NULL, FAULT_OLDER},
    {"link black-holed",                   FAULT_OF_LINKS,    10,    50,  3000, ALL,      0,         0,        act_black_hole, act_let_flow, NULL, FAULT_PLAIN},
    {"link cut one way",                   FAULT_OF_LINKS,    10,    50,  3000, ALL,      0,         0,        act_cut_one_way, act_let_flow, NULL, FAULT_PLAIN},
    {"link reset",                         FAULT_OF_LINKS,    10,     0,     0, ALL,      0,         0,        act_reset_links, NULL, NULL, FAULT_PLAIN},
    {"link refused",                       FAULT_OF_LINKS,     5,    50,  1500, ALL,      0,         0,        act_refuse, act_accept_again, NULL, FAULT_PLAIN},
    {"two masters out of a pawld's reach", FAULT_OF_LINKS,    12,   200,  2500, ALL,      0,         0,        act_cut_two, act_accept_again, NULL, FAULT_PLAIN},
    {"link delayed",                       FAULT_OF_LINKS,    10,   100,  3000, ALL,      0,         0,        act_delay, act_delay_no_more, NULL, FAULT_PLAIN},
    {"master slow for all",                FAULT_OF_LINKS,     8,  1500,  4000, ALL,      0,         0,        act_slow, act_delay_no_more, NULL, FAULT_PLAIN},
    {"clock jumped",                       FAULT_OF_CLOCK,    10,    50,  2000, ALL,      0,         0,        act_jump, act_set_right, NULL, FAULT_PLAIN},
    {"clock ran at a wrong rate",          FAULT_OF_CLOCK,    10,   200,  3000, ALL,      0,         0,        act_skew, act_set_right, NULL, FAULT_PLAIN},
    {"pawld killed",                       FAULT_OF_PAWLD,     4,    20,  1000, ALL,      0,         0,        act_kill_pawld, act_start_pawld, NULL, FAULT_PLAIN},
    {"pawld stopped",                      FAULT_OF_PAWLD,     6,    20,  2500, ALL,      0,         0,        act_stop_pawld, act_continue_pawld, NULL, FAULT_PLAIN},
    {"client's link cut",                  FAULT_OF_DOOR,      6,    50,  2000, ALL,      0,         0,        act_close_door, act_open_door, NULL, FAULT_PLAIN},
    {"client's link reset",                FAULT_OF_DOOR,      6,     0,     0, ALL,      0,         0,        act_slam_door, NULL, NULL, FAULT_PLAIN},
    {"client stopped",                     FAULT_OF_CLIENT,   12,   100,  2500, ALL,      0,         0,        act_stop_client, act_continue_client, NULL, FAULT_PLAIN},
    {"client killed",                      FAULT_OF_CLIENT,    6,    50,   500, ALL,      0,         0,        act_kill_client, act_start_client, NULL, FAULT_PLAIN},
};
/* clang-format on */
