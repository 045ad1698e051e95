/* The acts of the faults: the functions that the table in fault_kinds.c names. Each @begin has its
 * @end beside it there. */
#ifndef TESTS_CHAOS_FAULT_ACTS_H
#define TESTS_CHAOS_FAULT_ACTS_H

#include "tests/chaos/fault_kinds.h"

/* For the acts of a master: only now the fault harms it. Until here it was as before. */
void fault_harms(const struct stage *stage, struct fault *fault);

#define ACT(name)    void name(struct stage *stage, struct sim_rng *rng, struct fault *fault)
#define ACT_ON(name) uint32_t name(struct stage *stage, struct sim_rng *rng, struct fault *fault)

/* acts_masters.c: processes */
ACT(act_kill_master);
ACT(act_start_master);
ACT(act_start_empty);
ACT(act_start_cut);
ACT(act_flush_master);
ACT(act_stop_master);
ACT(act_continue_master);
ACT(act_replace_master);
ACT(act_retire_master);

/* acts_files.c: the files of a master */
ACT(act_copy_files);
ACT(act_snapshot);
ACT(act_put_back);
ACT(act_start_mended);

/* acts_settings.c: its settings and its memory */
ACT(act_append_off);
ACT(act_append_on);
ACT(act_restart);
ACT(act_append_on_killed);
ACT(act_weaken_fsync);
ACT(act_strengthen_fsync);
ACT(act_lose_power);
ACT(act_rewrite_without_fsync);
ACT(act_lose_power_in_rewrite);
ACT(act_crowd);
ACT(act_uncrowd);
ACT(act_evict_and_hide);
ACT(act_allow_eviction);

/* acts_replicas.c: copies and replicas */
ACT(act_copy_begin);
ACT_ON(act_copy_go_on);
ACT(act_copy_end);
ACT(act_replica_begin);
ACT(act_replica_end);

/* acts_sentinel.c: fail-over and fail-back */
ACT(act_sentinel_begin);
ACT(act_sentinel_restart_begin);
ACT_ON(act_sentinel_go_on);
ACT(act_sentinel_end);

/* acts_links.c: links of masters */
ACT(act_reset_links);
ACT(act_black_hole);
ACT(act_cut_one_way);
ACT(act_cut_two);
ACT(act_let_flow);
ACT(act_refuse);
ACT(act_accept_again);
ACT(act_delay);
ACT(act_slow);
ACT(act_delay_no_more);

/* acts_others.c: clocks, pawld, its door, clients */
ACT(act_jump);
ACT(act_skew);
ACT(act_set_right);
ACT(act_kill_pawld);
ACT(act_start_pawld);
ACT(act_stop_pawld);
ACT(act_continue_pawld);
ACT(act_close_door);
ACT(act_open_door);
ACT(act_slam_door);
ACT(act_stop_client);
ACT(act_continue_client);
ACT(act_kill_client);
ACT(act_start_client);

#undef ACT
#undef ACT_ON

#endif
