#include "tests/contract/play.h"

#include "fence/protocol/owner.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGES_MAX = 64,  /* for one source */
    CALLS_MAX = 64,  /* for CLEAR, or of READ, until it is done */
    SLACK_MS = 3000, /* that may go by between two steps */
    TEXT_MAX = FENCE_OWNER_MAX + 1,
    TAG_UNIT = 1 << 16,
};

struct play {
    const struct contract_ops *ops;
    struct contract_master *master;
    struct fence_view view;    /* that the master is named */
    struct fence_facts facts;  /* the last, */
    struct fence_facts before; /* and those before */
    int64_t incarnation;       /* that the last MARK named */
    uint32_t steps;            /* steps of CLEAR and INSTALL done since */
    int64_t writes;            /* the position after the last request */
    uint64_t tag;
    struct {
        unsigned count;
        struct fence_page page[PAGES_MAX];
    } read[CONTRACT_MASTERS]; /* pages of each source, owned */
};

/* ---- names ----------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint16_t slot;
} resources[CONTRACT_RESOURCES] = {{"contract/a", 7}, {"contract/b", 16383}, {"contract/c", 7}};

static unsigned resource_of(char letter)
{
    assert_in_range(letter, 'a', 'a' + CONTRACT_RESOURCES - 1);
    return (unsigned)(letter - 'a');
}

/* Each holder has its own label, and the id of a key behind it (fence/protocol/owner.h). */
static void label_of(const char *lock_id, uint32_t delay_ms, char ret_label[static TEXT_MAX])
{
    char label[TEXT_MAX];
    ret_label[0] = '\0';
    if (lock_id[0] == '\0' || strcmp(lock_id, FENCE_TOMBSTONE) == 0)
        return;
    snprintf(label, sizeof(label), "%.1s's: \xc3\xa9:%zu", lock_id, strlen(lock_id));
    fence_owner_join(label, delay_ms, "key-7", ret_label);
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct fence_view view_of(const struct play *play, const struct contract_step *step)
{
    struct fence_view view = play->view;
    for (unsigned i = 0; i < CONTRACT_MASTERS; i++)
        view.incarnation[i] += step->off[i];
    return view;
}

static void fill_group(const struct contract_step *step, struct fence_group *ret_group)
{
    ret_group->count = 0;
    for (const char *letter = step->on ? step->on : "a"; *letter; letter++) {
        unsigned r = resource_of(*letter);
        struct fence_group_lock *lock = &ret_group->locks[ret_group->count];
        lock->slot = resources[r].slot;
        lock->hint = step->hints[ret_group->count];
        lock->token = step->tokens[ret_group->count++];
        snprintf(lock->resource, sizeof(lock->resource), "%s", resources[r].text);
    }
}

static void check_left(uint64_t left_ms, unsigned most_ms)
{
    if (most_ms == 0)
        assert_int_equal(left_ms, 0);
    else
        assert_in_range(left_ms, most_ms > SLACK_MS ? most_ms - SLACK_MS : 1, most_ms);
}

static void check_numbers(const struct contract_step *step, const struct fence_reply *reply,
                          unsigned count)
{
    bool several = count > 1 || step->group;
    for (unsigned k = 0; several && k < count; k++)
        assert_int_equal(reply->numbers[k], step->numbers[k]);
    assert_int_equal(reply->number, step->numbers[0]);
    assert_int_equal(reply->found, step->found);
    check_left(reply->remaining_ms, step->left_ms);
}

static void check_held(const struct contract_step *step, const struct fence_reply *reply)
{
    char label[TEXT_MAX];
    label_of(step->kept_by ? step->kept_by : step->holder, step->delay_ms, label);
    assert_string_equal(reply->holder, step->holder);
    assert_string_equal(reply->owner, label);
    check_left(reply->remaining_ms, step->left_ms ? step->left_ms : CONTRACT_TTL_MS);
    if (step->kind == FENCE_REQUEST_INSPECT || step->kind == FENCE_REQUEST_BREAK)
        assert_int_equal(reply->number, step->numbers[0]);
}

/* The label that the lock of this id has. */
static void check_label(const struct contract_step *step, const struct fence_reply *reply)
{
    char label[TEXT_MAX] = "";
    if (!step->unlabelled)
        label_of(step->lock_id, step->delay_ms, label);
    assert_string_equal(reply->owner, label);
}

/* Only a lock whose number is the token tells its extensions. */
static void check_yes(const struct contract_step *step, const struct fence_reply *reply)
{
    assert_int_equal(reply->adopted, step->adopted);
    if (step->kind != FENCE_REQUEST_EXTEND && step->kind != FENCE_REQUEST_JOIN)
        return;
    assert_int_equal(reply->number, step->numbers[0]);
    check_label(step, reply);
}

static void check_view(const struct play *play, const struct fence_view *known)
{
    assert_non_null(known);
    for (unsigned i = 0; i < CONTRACT_MASTERS; i++)
        assert_int_equal(known->incarnation[i], play->view.incarnation[i]);
}

static void check_reply(const struct play *play, const struct contract_step *step,
                        const struct fence_reply *reply, unsigned count)
{
    assert_int_equal(reply->kind, step->reply);
    assert_int_equal(reply->tag, play->tag);
    switch (reply->kind) {
    case FENCE_REPLY_NUMBER:
        check_numbers(step, reply, count);
        break;
    case FENCE_REPLY_HELD:
        check_held(step, reply);
        assert_int_equal(reply->blocked, step->member);
        break;
    case FENCE_REPLY_YES:
        check_yes(step, reply);
        break;
    case FENCE_REPLY_SUPERSEDED:
        check_label(step, reply);
        break;
    case FENCE_REPLY_BROKEN:
        assert_string_equal(reply->owner, CONTRACT_BREAKER);
        break;
    case FENCE_REPLY_FOREIGN:
    case FENCE_REPLY_ENDLESS:
    case FENCE_REPLY_SPENT:
    case FENCE_REPLY_MISCOUNTED:
        assert_int_equal(reply->blocked, step->member);
        break;
    case FENCE_REPLY_STALE:
        check_view(play, reply->view);
        break;
    default:
        break;
    }
}

/* A master that answered for it has learnt what the view knew better of others. */
static void learn(struct play *play, const struct fence_view *named,
                  const struct fence_reply *reply)
{
    if (reply->kind < FENCE_REPLY_STALE)
        (void)fence_view_merge(&play->view, named, CONTRACT_MASTERS);
}

static void ask_by_kind(const struct contract_step *step, int64_t hint,
                        struct fence_request *request)
{
    if (step->kind == FENCE_REQUEST_TAKE) {
        request->take.hint = hint;
        request->take.waits = step->waits;
        request->take.ticket = step->ticket;
        request->take.gated = step->gated;
    } else if (step->kind == FENCE_REQUEST_EXTEND || step->kind == FENCE_REQUEST_JOIN) {
        request->extend.extensions_max = CONTRACT_EXTENSIONS;
        request->extend.extended = step->extended;
    } else if (step->kind == FENCE_REQUEST_RELEASE) {
        request->release.keep_ms = step->keep_ms;
        request->release.covers = step->covers;
    } else if (step->kind == FENCE_REQUEST_COUNT) {
        request->counter.hint = hint;
        request->counter.values = step->count;
        request->counter.names_max = step->names_max ? step->names_max : CONTRACT_NAMES;
    }
}

static void ask(struct play *play, const struct contract_step *step)
{
    struct fence_group group;
    char label[TEXT_MAX] = "";
    bool labels = step->kind == FENCE_REQUEST_TAKE || step->kind == FENCE_REQUEST_JOIN;
    struct fence_view view = view_of(play, step);
    fill_group(step, &group);
    if (labels && !step->unlabelled)
        label_of(step->lock_id, step->delay_ms, label);
    if (step->writes)
        fence_owner_mark_writer(label);
    struct fence_request request = {
        .kind = step->kind,
        .tag = play->tag += TAG_UNIT,
        .resource = group.locks[0].resource,
        .slot = group.locks[0].slot,
        .token = group.locks[0].token,
        .lock_id = step->lock_id,
        .owner = step->kind == FENCE_REQUEST_BREAK ? CONTRACT_BREAKER : label,
        .attempt = step->attempt,
        .ttl_ms = step->ttl_ms ? step->ttl_ms : CONTRACT_TTL_MS,
        .idempotent = step->again,
        .group = group.count > 1 || step->group ? &group : NULL,
    };
    ask_by_kind(step, group.locks[0].hint, &request);
    struct fence_reply reply = play->ops->ask(play->master, &request, &view);
    check_reply(play, step, &reply, group.count);
    if (step->moves != 0)
        assert_int_equal(reply.writes,
                         play->writes + (step->moves == CONTRACT_STAYING ? 0 : step->moves));
    play->writes = reply.writes;
    learn(play, &view, &reply);
}

/* ---- the steps of a rejoin ------------------------------------------------------------------- */

static struct fence_rejoin_reply send(struct play *play, struct fence_rejoin_request *request)
{
    request->tag = play->tag += TAG_UNIT;
    request->fleet_id = CONTRACT_FLEET;
    request->ttl_max_ms = CONTRACT_TTL_MAX_MS;
    request->extensions_max = CONTRACT_EXTENSIONS_MAX;
    struct fence_rejoin_reply reply = play->ops->rejoin(play->master, request);
    assert_int_equal(reply.tag, request->tag);
    return reply;
}

static void shake(struct play *play)
{
    play->before = play->facts;
    play->facts = play->ops->facts(play->master);
}

static enum fence_rejoin_outcome mark(struct play *play, const struct contract_step *step)
{
    shake(play);
    struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_MARK,
        .member = CONTRACT_ME,
        .incarnation = step->incarnation,
        .seen = step->unseen ? &play->before : &play->facts,
        .keeps = step->keeps,
        .view = &play->view,
    };
    struct fence_rejoin_reply reply = send(play, &request);
    if (reply.outcome == FENCE_REJOIN_DONE) {
        play->incarnation = step->incarnation;
        play->steps = 0;
    }
    return reply.outcome;
}

/* A step of the member's, and how many were done before it. */
static struct fence_rejoin_request counted(const struct play *play,
                                           const struct contract_step *step)
{
    return (struct fence_rejoin_request){
        .step = step->step,
        .member = CONTRACT_ME,
        .incarnation = play->incarnation + step->incarnation,
        .steps = (uint32_t)((int)play->steps + step->miscount),
        .floor = step->floor,
        .view = &play->view,
    };
}

/* Until all are done. */
static enum fence_rejoin_outcome clear(struct play *play, const struct contract_step *step)
{
    struct fence_rejoin_request request = counted(play, step);
    for (unsigned calls = 0; calls < CALLS_MAX; calls++) {
        struct fence_rejoin_reply reply = send(play, &request);
        if (reply.outcome != FENCE_REJOIN_DONE)
            return reply.outcome;
        request.steps++;
        play->steps++;
        request.cursor = reply.cursor;
        if (reply.cursor == 0)
            return FENCE_REJOIN_DONE;
    }
    fail_msg("CLEAR does not come to its end");
    return FENCE_REJOIN_DONE;
}

/* A view that is refused comes with what is known. */
static enum fence_rejoin_outcome record(struct play *play, const struct contract_step *step)
{
    struct fence_view view = view_of(play, step);
    view.incarnation[0] = step->incarnation;
    struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_RECORD, .member = 0, .incarnation = step->incarnation, .view = &view};
    struct fence_rejoin_reply reply = send(play, &request);
    if (reply.outcome == FENCE_REJOIN_DONE)
        play->view = view;
    else if (reply.outcome == FENCE_REJOIN_CHANGED)
        check_view(play, reply.view);
    return reply.outcome;
}

static void forget_pages(struct play *play, unsigned source)
{
    for (unsigned p = 0; p < play->read[source].count; p++)
        free((char *)play->read[source].page[p].bytes);
    play->read[source].count = 0;
}

static void keep_page(struct play *play, unsigned source, const struct fence_page *page)
{
    if (page->len == 0)
        return;
    assert_in_range(play->read[source].count, 0, PAGES_MAX - 1);
    char *bytes = malloc(page->len);
    assert_non_null(bytes);
    memcpy(bytes, page->bytes, page->len);
    play->read[source].page[play->read[source].count++] =
        (struct fence_page){.bytes = bytes, .len = page->len};
}

/* All pages of one part. */
static enum fence_rejoin_outcome read_part(struct play *play, const struct contract_step *step,
                                           enum fence_rejoin_part part)
{
    struct fence_view view = view_of(play, step);
    struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_READ,
        .member = 0,
        .incarnation = play->view.incarnation[0] + step->incarnation,
        .part = part,
        .view = &view,
    };
    for (unsigned calls = 0; calls < CALLS_MAX; calls++) {
        struct fence_rejoin_reply reply = send(play, &request);
        if (reply.outcome != FENCE_REJOIN_DONE)
            return reply.outcome;
        keep_page(play, step->source, &reply.page);
        request.cursor = reply.cursor;
        if (reply.cursor == 0)
            return FENCE_REJOIN_DONE;
    }
    fail_msg("READ does not come to its end");
    return FENCE_REJOIN_DONE;
}

static enum fence_rejoin_outcome read_all(struct play *play, const struct contract_step *step)
{
    forget_pages(play, step->source);
    enum fence_rejoin_outcome outcome = read_part(play, step, FENCE_REJOIN_COUNTERS);
    return outcome == FENCE_REJOIN_DONE ? read_part(play, step, FENCE_REJOIN_LOCKS) : outcome;
}

static enum fence_rejoin_outcome install_page(struct play *play, const struct contract_step *step,
                                              const struct fence_page *page)
{
    struct fence_rejoin_request request = counted(play, step);
    request.source = step->source;
    request.page = page;
    struct fence_rejoin_reply reply = send(play, &request);
    play->steps += reply.outcome == FENCE_REJOIN_DONE && step->miscount == 0;
    return reply.outcome;
}

static enum fence_rejoin_outcome install(struct play *play, const struct contract_step *step)
{
    static const struct fence_page nothing = {.bytes = "", .len = 0};
    enum fence_rejoin_outcome outcome = FENCE_REJOIN_DONE;
    if (step->empty)
        return install_page(play, step, &nothing);
    assert_true(play->read[step->source].count > 0);
    for (unsigned p = 0; p < play->read[step->source].count && outcome == FENCE_REJOIN_DONE; p++)
        outcome = install_page(play, step, &play->read[step->source].page[p]);
    return outcome;
}

/* Its members are told so: a new handshake follows, as in the core. */
static enum fence_rejoin_outcome admit(struct play *play, const struct contract_step *step)
{
    struct fence_rejoin_request request = counted(play, step);
    struct fence_rejoin_reply reply = send(play, &request);
    if (reply.outcome == FENCE_REJOIN_DONE) {
        play->view.incarnation[CONTRACT_ME] = play->incarnation;
        shake(play);
    }
    return reply.outcome;
}

static enum fence_rejoin_outcome survey(struct play *play, const struct contract_step *step)
{
    struct fence_rejoin_request request = counted(play, step);
    struct fence_rejoin_reply reply = send(play, &request);
    if (reply.outcome == FENCE_REJOIN_DONE)
        assert_int_equal(reply.highest, step->highest);
    return reply.outcome;
}

static void rejoin(struct play *play, const struct contract_step *step)
{
    static enum fence_rejoin_outcome (*const steps[])(struct play *,
                                                      const struct contract_step *) = {
        [FENCE_REJOIN_MARK] = mark,       [FENCE_REJOIN_CLEAR] = clear,
        [FENCE_REJOIN_RECORD] = record,   [FENCE_REJOIN_READ] = read_all,
        [FENCE_REJOIN_INSTALL] = install, [FENCE_REJOIN_ADMIT] = admit,
        [FENCE_REJOIN_SURVEY] = survey,
    };
    assert_int_equal(steps[step->step](play, step), step->outcome);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void check_facts(const struct play *play, const struct contract_step *step)
{
    const struct fence_facts *facts = &play->facts;
    assert_int_equal(facts->marked, step->marked != CONTRACT_BLANK);
    if (step->marked == CONTRACT_BLANK)
        return;
    assert_int_equal(facts->marked_active, step->marked == CONTRACT_ACTIVE);
    assert_int_equal(facts->member, CONTRACT_ME + 1);
    assert_int_equal(facts->next, step->next);
    assert_string_equal(facts->fleet_id, CONTRACT_FLEET);
    assert_int_equal(facts->ttl_max_ms, CONTRACT_TTL_MAX_MS);
    assert_int_equal(facts->extensions_max, CONTRACT_EXTENSIONS_MAX);
    check_view(play, &facts->view);
}

static void hear(const struct play *play, const struct contract_step *step)
{
    struct contract_notice notice;
    if (step->heard) {
        assert_true(play->ops->heard(play->master, &notice));
        assert_string_equal(notice.lock_id, step->heard_id);
        assert_string_equal(notice.resource, resources[resource_of(step->heard[0])].text);
    } else {
        assert_false(play->ops->heard(play->master, &notice));
    }
}

static void harm(const struct play *play, const struct contract_step *step)
{
    unsigned r = resource_of(*(step->on ? step->on : "a"));
    struct contract_harming harming = {.harm = step->harm,
                                       .resource = resources[r].text,
                                       .slot = resources[r].slot,
                                       .number = step->number};
    play->ops->harm(play->master, &harming);
}

static void restamp(struct play *play)
{
    shake(play);
    play->facts = play->ops->restamp(play->master, &play->facts);
}

static void do_step(struct play *play, const struct contract_step *step)
{
    switch (step->doing) {
    case CONTRACT_END:
        break;
    case CONTRACT_ASK:
        ask(play, step);
        break;
    case CONTRACT_REJOIN:
        rejoin(play, step);
        break;
    case CONTRACT_FACTS:
        shake(play);
        check_facts(play, step);
        break;
    case CONTRACT_RESTAMP:
        restamp(play);
        break;
    case CONTRACT_HEARD:
        hear(play, step);
        break;
    case CONTRACT_PASS:
        play->ops->pass(play->master, step->ms);
        break;
    case CONTRACT_HARM:
        harm(play, step);
        break;
    }
}

static void do_steps(struct play *play, const struct contract_step *steps)
{
    for (unsigned i = 0; steps[i].doing != CONTRACT_END; i++) {
        print_message("step %u\n", i + 1); /* the last one is the one that failed */
        do_step(play, &steps[i]);
    }
}

void contract_play(const struct contract_ops *ops, const struct contract_row *row)
{
    static const struct contract_step admission[] = {
        {MARK(CONTRACT_ADMITTED), DONE}, {CLEAR, DONE}, {ADMIT, DONE}, {0}};
    struct play play = {
        .ops = ops,
        .master = ops->new (row->durable),
        .view = {.incarnation = {10, 20, 30}},
    };
    if (!row->blank)
        do_steps(&play, admission);
    do_steps(&play, row->steps);
    for (unsigned source = 0; source < CONTRACT_MASTERS; source++)
        forget_pages(&play, source);
    ops->free(play.master);
}
