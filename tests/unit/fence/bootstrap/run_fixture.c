#include "tests/unit/fence/bootstrap/run_fixture.h"

#include "tests/lib/case.h"

#include <string.h>

enum {
    STEPS_MAX = 10000,
};

struct run run;

void run_begin_with(struct fence_bootstrap_params params)
{
    const struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_BEGIN};
    params.n = MASTERS;
    memcpy(params.fleet_id, OTHER, sizeof(OTHER));
    memset(run.asked, 0, sizeof(run.asked));
    fence_bootstrap_init(&run.bootstrap, &params);
    fence_bootstrap_step(&run.bootstrap, &event, &run.effect);
}

void run_begin(bool goes_on, int64_t seen)
{
    run_begin_with((struct fence_bootstrap_params){.goes_on = goes_on, .seen = seen});
}

int run_blank_masters(void **state)
{
    run = (struct run){.now_us = 1000};
    for (unsigned i = 0; i < MASTERS; i++) {
        memcpy(run.facts[i].server_id, SERVER, sizeof(SERVER));
        run.facts[i].server_id[0] = (char)('a' + i);
        memcpy(run.facts[i].lineage, run.facts[i].server_id, sizeof(run.facts[i].server_id));
    }
    return 0;
}

void run_survive(unsigned i)
{
    struct fence_facts *facts = &run.facts[i];
    facts->marked = facts->marked_active = true;
    facts->member = i + 1;
    facts->ttl_max_ms = TTL_MAX_MS;
    memcpy(facts->fleet_id, FLEET, sizeof(FLEET));
    memcpy(facts->marked_server_id, facts->server_id, sizeof(facts->server_id));
    memcpy(facts->marked_lineage, facts->lineage, sizeof(facts->lineage));
    for (unsigned j = 0; j < MASTERS; j++)
        facts->view.incarnation[j] = INT64_C(7) << FENCE_INCARNATION_MEMORY_SHIFT;
}

void run_go_back(unsigned i, unsigned by)
{
    struct fence_facts *facts = &run.facts[i];
    facts->lineage[0] = 'r'; /* it restarted */
    facts->durable = facts->marked_durable = facts->intact = true;
    facts->writes = 40;
    run.facts[by].heard.of[i] =
        (struct fence_position){.incarnation = facts->view.incarnation[i], .writes = 41};
}

void run_tell(struct fence_bootstrap_event event)
{
    event.now_us = run.now_us;
    event.master = run.effect.master;
    fence_bootstrap_step(&run.bootstrap, &event, &run.effect);
}

void run_tell_outcome(enum fence_rejoin_outcome outcome)
{
    const struct fence_rejoin_reply reply = {.outcome = outcome,
                                             .highest = run.highest[run.effect.master],
                                             .left_ms = run.left_ms[run.effect.master]};
    run_tell((struct fence_bootstrap_event){.kind = FENCE_BOOTSTRAP_REPLY, .reply = &reply});
}

void run_one(void)
{
    const struct fence_bootstrap_effect *effect = &run.effect;
    struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_TIME};
    switch (effect->act) {
    case FENCE_BOOTSTRAP_LOOK:
        event.kind = FENCE_BOOTSTRAP_FACTS;
        event.facts = &run.facts[effect->master];
        run_tell(event);
        break;
    case FENCE_BOOTSTRAP_SEND:
        run.asked[effect->request.step]++;
        run_tell_outcome(FENCE_REJOIN_DONE);
        break;
    default:
        run.now_us = effect->until_us;
        run_tell(event);
        break;
    }
}

bool run_asks(enum fence_rejoin_step step, unsigned i)
{
    return run.effect.act == FENCE_BOOTSTRAP_SEND && run.effect.request.step == step &&
           run.effect.master == i;
}

bool run_to(enum fence_rejoin_step step, unsigned i)
{
    for (unsigned k = 0; k < STEPS_MAX && run.effect.act != FENCE_BOOTSTRAP_END; k++) {
        if (run_asks(step, i))
            return true;
        run_one();
    }
    return false;
}

static void run_to_end(void)
{
    assert_false(run_to(FENCE_REJOIN_MARK, MASTERS));
    assert_int_equal(run.effect.act, FENCE_BOOTSTRAP_END);
}

void run_expect_end(enum fence_bootstrap_failure failure, unsigned master)
{
    run_to_end();
    assert_int_equal(run.bootstrap.outcome.failure, failure);
    assert_int_equal(run.bootstrap.outcome.master, master);
}
