#include "tests/sim/actions/line.h"
#include "tests/sim/actions/machines.h"
#include "tests/sim/world/world.h"

#include <string.h>

static void write_leader(struct sim_world *world, const struct fence_view *view, unsigned target)
{
    sim_line_view(world->actions, view, world->plan.masters);
    sim_line_number(world->actions, target);
}

/* The page that was read: one counter, or, where there is no named counter, that all are 0. */
static void write_page(struct sim_actions *actions, const struct sim_shown_read *read)
{
    const unsigned one = read->has_page ? 1 : 0;
    const unsigned zeroes = read->zeroes ? actions->names : 0;
    sim_line_number(actions, one + zeroes);
    if (one) {
        sim_line_number(actions, read->page.slot);
        sim_line_number(actions,
                        (uint64_t)(read->page.counter > read->page.floor ? read->page.counter
                                                                         : read->page.floor));
    }
    for (unsigned k = 0; k < zeroes; k++) {
        sim_line_number(actions, actions->slots + k);
        sim_line_number(actions, 0);
    }
}

static bool has_recorded(const struct sim_shown_record *record, unsigned source,
                         const struct sim_request *request)
{
    const unsigned target = request->rejoin.target;
    return record->source == source && record->target == target &&
           record->view.incarnation[target] == request->view.incarnation[target] &&
           record->view.incarnation[source] == request->view.incarnation[source];
}

/* The view under which the source of a page has recorded the rejoin: the leader's; or one that this
 * source alone was named. */
static struct fence_view view_of_record(const struct sim_actions *actions, unsigned source,
                                        const struct sim_request *request)
{
    const struct sim_shown_record *found = NULL;
    for (unsigned k = 0; k < actions->records_count; k++) {
        const struct sim_shown_record *record = &actions->records[k];
        if (!has_recorded(record, source, request))
            continue;
        if (memcmp(&record->view, &request->view, sizeof(record->view)) == 0)
            return request->view;
        found = record;
    }
    return found ? found->view : request->view;
}

static void note_read(struct sim_world *world, const struct sim_shown *shown,
                      const struct sim_request *request, const struct sim_reply *reply)
{
    struct sim_actions *actions = world->actions;
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    if (rejoin->part != FENCE_REJOIN_COUNTERS)
        return;
    if (actions->reads_count == SIM_ACTIONS_READS_MAX) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_full);
        return;
    }
    struct sim_shown_read *read = &actions->reads[actions->reads_count++];
    *read = (struct sim_shown_read){
        .source = shown->member,
        .target = rejoin->target,
        .view = view_of_record(actions, shown->member, request),
        .page = reply->page,
        .has_page = reply->has_page,
        .zeroes = actions->names > 0 && reply->cursor == 0 && rejoin->cursor + 1 == actions->slots,
    };
    if (!reply->has_page) /* of one named counter */
        read->page = (struct sim_page){.slot = (uint32_t)rejoin->cursor}, read->has_page = true;
    sim_line_begin(actions, "read");
    sim_line_machine(actions, shown);
    write_leader(world, &read->view, read->target);
    write_page(actions, read);
    sim_line_end(actions);
}

static bool is_same_page(const struct sim_page *a, const struct sim_page *b)
{
    return a->slot == b->slot && a->counter == b->counter && a->floor == b->floor;
}

/* The page as it was read, for the rejoin under @incarnation; the latest of these. */
static const struct sim_shown_read *read_of(const struct sim_actions *actions,
                                            const struct sim_shown *shown, unsigned source,
                                            int64_t incarnation, const struct sim_page *page)
{
    for (unsigned k = actions->reads_count; k > 0; k--) {
        const struct sim_shown_read *read = &actions->reads[k - 1];
        if (read->target == shown->member && read->source == source &&
            read->view.incarnation[shown->member] == incarnation && is_same_page(&read->page, page))
            return read;
    }
    return NULL;
}

static struct sim_shown_install *install_of(struct sim_actions *actions, unsigned machine,
                                            unsigned source, const struct fence_view *view)
{
    for (unsigned k = actions->installs_count; k > 0; k--) {
        struct sim_shown_install *install = &actions->installs[k - 1];
        if (install->machine == machine && install->source == source &&
            memcmp(&install->view, view, sizeof(*view)) == 0)
            return install;
    }
    if (actions->installs_count == SIM_ACTIONS_READS_MAX)
        return NULL;
    struct sim_shown_install *made = &actions->installs[actions->installs_count++];
    *made = (struct sim_shown_install){.machine = machine, .source = source, .view = *view};
    return made;
}

static void write_install(struct sim_world *world, unsigned machine, struct sim_shown *shown,
                          const struct sim_shown_read *read)
{
    struct sim_actions *actions = world->actions;
    struct sim_shown_install *install = install_of(actions, machine, read->source, &read->view);
    if (!install) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_full);
        return;
    }
    install->slots |= UINT32_C(1) << read->page.slot;
    for (unsigned k = 0; k < actions->names && read->zeroes; k++)
        install->slots |= UINT32_C(1) << (actions->slots + k);
    const unsigned slot = read->page.slot;
    if (shown->counter[slot] < read->page.counter)
        shown->counter[slot] = read->page.counter;
    sim_line_begin(actions, "install");
    sim_line_machine(actions, shown);
    sim_line_number(actions, read->source);
    write_leader(world, &read->view, read->target);
    write_page(actions, read);
    sim_line_end(actions);
}

/* Reports whether a machine of the member was given pages under @incarnation. */
static bool has_pages(const struct sim_actions *actions, const struct sim_shown *shown,
                      int64_t incarnation)
{
    for (unsigned k = 0; k < actions->installs_count; k++) {
        const struct sim_shown_install *install = &actions->installs[k];
        if (actions->machines[install->machine].member == shown->member &&
            install->view.incarnation[shown->member] == incarnation)
            return true;
    }
    return false;
}

static void note_installed(struct sim_world *world, unsigned machine, struct sim_shown *shown,
                           const struct sim_request *request)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    if (!rejoin->has_page || rejoin->page.part != FENCE_REJOIN_COUNTERS)
        return;
    if (shown->again != 0 && !has_pages(world->actions, shown, rejoin->incarnation)) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_marked_twice);
        return;
    }
    const struct sim_shown_read *read =
        read_of(world->actions, shown, rejoin->source, rejoin->incarnation, &rejoin->page);
    const struct sim_shown_read unread = {
        .source = rejoin->source,
        .target = shown->member,
        .view = request->view,
        .page = rejoin->page,
        .has_page = true,
    };
    write_install(world, machine, shown, read ? read : &unread);
}

/* An empty page of a named counter is not sent to the member. It says that the counter is 0. */
static void install_zeroes(struct sim_world *world, unsigned machine, struct sim_shown *shown)
{
    struct sim_actions *actions = world->actions;
    for (unsigned k = 0; k < actions->reads_count; k++) {
        const struct sim_shown_read *read = &actions->reads[k];
        if (read->target == shown->member && read->page.counter == 0 &&
            read->page.slot >= actions->slots &&
            read->view.incarnation[shown->member] == shown->next)
            write_install(world, machine, shown, read);
    }
}

static void install_locks(struct sim_world *world, const struct sim_master *master,
                          struct sim_shown *shown)
{
    struct sim_actions *actions = world->actions;
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        const struct sim_lock *lock = &master->memory.locks[r];
        if (!sim_actions_is_shown(lock))
            continue;
        shown->locks[r] = (struct sim_shown_lock){true, lock->lock, lock->number};
        sim_line_begin(actions, "lock");
        sim_line_machine(actions, shown);
        sim_line_number(actions, r);
        sim_line_number(actions, lock->lock);
        sim_line_number(actions, (uint64_t)lock->number);
        sim_line_number(actions, lock->imported);
        sim_line_end(actions);
    }
}

/* The members whose pages were all installed, as they were read under @view. */
static uint32_t sources_under(struct sim_world *world, unsigned machine,
                              const struct fence_view *view)
{
    struct sim_actions *actions = world->actions;
    const uint32_t all = (UINT32_C(1) << (actions->slots + actions->names)) - 1;
    uint32_t members = 0;
    for (unsigned k = 0; k < actions->installs_count; k++) {
        const struct sim_shown_install *install = &actions->installs[k];
        if (install->machine == machine && install->slots == all &&
            memcmp(&install->view, view, sizeof(*view)) == 0)
            members |= UINT32_C(1) << install->source;
    }
    return members;
}

/* The view of the leader: most sources were read under it. *@ret_all: the sources under all views
 * of this rejoin. */
static struct fence_view leaders_view(struct sim_world *world, unsigned machine,
                                      const struct sim_request *request, uint32_t *ret_all)
{
    const struct sim_actions *actions = world->actions;
    const unsigned member = actions->machines[machine].member;
    struct fence_view best = request->view;
    int most = 0;
    *ret_all = 0;
    for (unsigned k = 0; k < actions->installs_count; k++) {
        const struct fence_view *view = &actions->installs[k].view;
        if (actions->installs[k].machine != machine ||
            view->incarnation[member] != request->rejoin.incarnation)
            continue;
        const uint32_t members = sources_under(world, machine, view);
        *ret_all |= members;
        if (__builtin_popcount(members) <= most)
            continue;
        most = __builtin_popcount(members);
        best = *view;
    }
    return best;
}

/* The view under which all pages of @source were read last; some view, where they were not. */
static const struct fence_view *view_of_source(struct sim_world *world, unsigned machine,
                                               unsigned source, const struct sim_request *request)
{
    const struct sim_actions *actions = world->actions;
    const unsigned member = actions->machines[machine].member;
    for (unsigned k = actions->installs_count; k > 0; k--) {
        const struct sim_shown_install *install = &actions->installs[k - 1];
        if (install->machine == machine && install->source == source &&
            install->view.incarnation[member] == request->rejoin.incarnation &&
            sources_under(world, machine, &install->view) >> source & 1)
            return &install->view;
    }
    return &request->view;
}

static void note_admitted(struct sim_world *world, unsigned machine, struct sim_shown *shown,
                          const struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    const struct sim_master *master = &world->machines[machine];
    const int majority = (int)master->majority;
    uint32_t all = 0;
    install_zeroes(world, machine, shown);
    if (actions->over)
        return;
    const struct fence_view view = leaders_view(world, machine, request, &all);
    const uint32_t alike = sources_under(world, machine, &view);
    const uint32_t members = __builtin_popcount(alike) >= majority ? alike : all;
    install_locks(world, master, shown);
    sim_line_begin(actions, "admit");
    sim_line_machine(actions, shown);
    sim_line_number(actions, (unsigned)__builtin_popcount(members));
    for (unsigned j = 0; j < world->plan.masters; j++) {
        if ((members >> j & 1) == 0)
            continue;
        sim_line_number(actions, j);
        write_leader(world, alike >> j & 1 ? &view : view_of_source(world, machine, j, request),
                     shown->member);
    }
    sim_line_view(actions, &master->memory.marker.view, world->plan.masters);
    sim_line_end(actions);
    shown->state = SIM_SHOWN_ACTIVE;
}

/* A copy of a mark may be executed when the machine has lost what the first one made. If a page was
 * installed before, no page that was read for the first mark counts for the second: steps are
 * numbered. So the model is told of another incarnation. 0: it is the first mark, or a copy before
 * the first page. */
static int64_t marked_again(struct sim_world *world, const struct sim_shown *shown,
                            int64_t incarnation)
{
    struct sim_actions *actions = world->actions;
    for (unsigned k = 0; k < actions->marks_count; k++) {
        const struct sim_shown_mark *mark = &actions->marks[k];
        if (mark->member != shown->member || mark->incarnation != incarnation)
            continue;
        const bool copy = mark->index == shown->index && !has_pages(actions, shown, incarnation);
        return copy ? 0 : FENCE_TOKEN_MAX + 1 + (int64_t)actions->lines;
    }
    if (actions->marks_count == SIM_ACTIONS_READS_MAX)
        sim_actions_leave_out(world, SIM_LEFT_OUT_full);
    else
        actions->marks[actions->marks_count++] =
            (struct sim_shown_mark){shown->member, shown->index, incarnation};
    return 0;
}

static void note_marked(struct sim_world *world, struct sim_shown *shown,
                        const struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    const int64_t incarnation = request->rejoin.incarnation;
    shown->again = marked_again(world, shown, incarnation);
    if (actions->over)
        return;
    sim_line_begin(actions, "mark");
    sim_line_machine(actions, shown);
    sim_line_number(actions, sim_line_incarnation(shown->again != 0 ? shown->again : incarnation));
    sim_line_end(actions);
    shown->state = SIM_SHOWN_JOINING;
    shown->next = request->rejoin.incarnation;
    shown->lineage = SIM_SHOWN_KEPT;
    memset(shown->locks, 0, sizeof(shown->locks));
}

static void note_recorded(struct sim_world *world, const struct sim_shown *shown,
                          const struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    if (actions->records_count == SIM_ACTIONS_READS_MAX) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_full);
        return;
    }
    actions->records[actions->records_count++] = (struct sim_shown_record){
        .source = shown->member, .target = request->rejoin.target, .view = request->view};
    sim_line_begin(world->actions, "record");
    sim_line_machine(world->actions, shown);
    write_leader(world, &request->view, request->rejoin.target);
    sim_line_end(world->actions);
}

void sim_actions_stepped(struct sim_world *world, unsigned machine,
                         const struct sim_request *request, const struct sim_reply *reply)
{
    struct sim_shown *shown = &world->actions->machines[machine];
    switch (request->rejoin.step) {
    case FENCE_REJOIN_MARK:
        note_marked(world, shown, request);
        break;
    case FENCE_REJOIN_RECORD:
        note_recorded(world, shown, request);
        break;
    case FENCE_REJOIN_READ:
        note_read(world, shown, request, reply);
        break;
    case FENCE_REJOIN_INSTALL:
        note_installed(world, machine, shown, request);
        break;
    case FENCE_REJOIN_ADMIT:
        note_admitted(world, machine, shown, request);
        break;
    default:
        break; /* the locks of a machine that is joining show later */
    }
}

void sim_actions_restamped(struct sim_world *world, unsigned machine)
{
    struct sim_shown *shown = &world->actions->machines[machine];
    if (shown->state == SIM_SHOWN_JOINING) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_half_way);
        return;
    }
    /* There, and there alone, what was lost may be no loss: nobody had counted on it. */
    const bool uncounted =
        world->plan.kind == SIM_OLD_DISK || world->plan.permille[SIM_FAULT_UNDURABLE] > 0;
    if (shown->lineage == SIM_SHOWN_CHANGED && uncounted) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_disk);
        return;
    }
    if (shown->lineage != SIM_SHOWN_KEPT)
        sim_actions_write_plain(world->actions, "trust", shown);
    shown->lineage = SIM_SHOWN_KEPT;
}
