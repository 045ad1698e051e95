/* The invariants of a listing, between two steps. */
#include "fence/listing/page.h"

#include <assert.h>

void fence_listing_check(const struct fence_listing *listing)
{
    const struct fence_listing_cursor *at = &listing->at;
    bool timed = listing->deadline_us != FENCE_NEVER;
    switch (listing->phase) {
    case FENCE_LISTING_IDLE:
        assert(listing->owed == 0 && !timed && "an idle listing waits for nothing");
        return;
    case FENCE_LISTING_SCANNING:
    case FENCE_LISTING_SIFTING:
        assert(timed && "masters are waited for only so long");
        break;
    case FENCE_LISTING_INSPECTING:
        assert((listing->owed > 0) != timed && "the core answers, or the listing goes on");
        break;
    case FENCE_LISTING_ANSWERED:
        assert(listing->owed > 0 && !timed && "what is owed keeps the place");
        return;
    }
    assert(listing->count <= listing->limit && "a page has a limit");
    assert(listing->steps <= FENCE_LISTING_STEPS && "a page ends after so many steps");
    assert(listing->inspected <= listing->names.count && "only what was found is inspected");
    assert(!(at->walked >> at->walking & 1) && "no master is walked twice");
}
