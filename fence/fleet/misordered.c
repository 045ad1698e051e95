#include "fence/fleet/misordered.h"

#include <string.h>

/* The place that its marker names, from 0; @fleet->n: it names none. */
static unsigned claimed_place(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_master *master = &fleet->master[i];
    const struct fence_facts *facts = &master->facts;
    bool ours = fleet->fleet_id[0] == '\0' || strcmp(facts->fleet_id, fleet->fleet_id) == 0;
    bool speaks =
        (master->connected || master->known) && facts->marked && ours && facts->other_members == 0;
    return speaks && facts->member >= 1 && facts->member <= fleet->n ? facts->member - 1 : fleet->n;
}

bool fence_fleet_is_placed(const struct fence_fleet *fleet, unsigned i)
{
    return claimed_place(fleet, i) == i;
}

bool fence_fleet_misordered(const struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++) {
        unsigned place = claimed_place(fleet, i);
        if (place != fleet->n && place != i && !fence_fleet_is_placed(fleet, place))
            return true;
    }
    return false;
}

static unsigned next_without_place(const struct fence_fleet *fleet, unsigned i)
{
    while (i < fleet->n && claimed_place(fleet, i) != fleet->n)
        i++;
    return i;
}

static unsigned who_claims(const struct fence_fleet *fleet, unsigned place)
{
    unsigned i = 0;
    while (i < fleet->n && claimed_place(fleet, i) != place)
        i++;
    return i;
}

static size_t append(char *to, size_t at, const char *text)
{
    size_t len = strlen(text);
    if (at + len >= FENCE_ORDER_TEXT_MAX)
        return at;
    memcpy(to + at, text, len + 1);
    return at + len;
}

void fence_fleet_order_text(const struct fence_fleet *fleet, const char *const addresses[],
                            char ret_text[static FENCE_ORDER_TEXT_MAX])
{
    unsigned unplaced = next_without_place(fleet, 0);
    size_t at = append(ret_text, 0, "");
    for (unsigned place = 0; place < fleet->n; place++) {
        unsigned i = who_claims(fleet, place);
        if (i == fleet->n) {
            i = unplaced;
            unplaced = next_without_place(fleet, unplaced + 1);
        }
        at = append(ret_text, at, place > 0 ? ", " : "");
        at = append(ret_text, at, i < fleet->n ? addresses[i] : "another");
    }
}
