#include "fence/state/admission.h"

#include "fence/protocol/limits.h"

#include <assert.h>
#include <stdlib.h>

int core_admission_init(struct core_admission *admission, uint32_t capacity, uint32_t owed)
{
    assert(capacity > 0 && owed > 0);
    admission->places = calloc(capacity, sizeof(*admission->places));
    if (!admission->places)
        return FENCE_ENOMEM;
    for (unsigned class = 0; class < CORE_CLASSES; class ++)
        admission->first[class] = admission->last[class] = FENCE_NOBODY;
    admission->limit[CORE_CLASS_HOLDER] = owed * FENCE_OWED_HOLDERS_TIMES;
    admission->limit[CORE_CLASS_SINGLE] = owed;
    admission->limit[CORE_CLASS_GROUP] = 1 + (owed - 1) / FENCE_OWED_GROUPS_PART;
    return 0;
}

void core_admission_fini(struct core_admission *admission)
{
    free(admission->places);
    *admission = (struct core_admission){0};
}

void core_admission_join(struct core_admission *admission, enum core_class class, uint32_t index)
{
    uint32_t last = admission->last[class];
    admission->places[index].before = last;
    admission->places[index].behind = FENCE_NOBODY;
    admission->last[class] = index;
    if (last == FENCE_NOBODY)
        admission->first[class] = index;
    else
        admission->places[last].behind = index;
}

void core_admission_leave(struct core_admission *admission, enum core_class class, uint32_t index)
{
    const struct core_admission_place *place = &admission->places[index];
    assert(admission->first[class] != FENCE_NOBODY);
    if (place->before == FENCE_NOBODY)
        admission->first[class] = place->behind;
    else
        admission->places[place->before].behind = place->behind;
    if (place->behind == FENCE_NOBODY)
        admission->last[class] = place->before;
    else
        admission->places[place->behind].before = place->before;
}

uint32_t core_admission_first(const struct core_admission *admission, enum core_class class)
{
    return admission->first[class];
}
