#include "api/story/message.h"

#include <assert.h>
#include <string.h>

void story_text_copy(char *to, size_t size, const char *from)
{
    const size_t len = from ? strlen(from) : 0;
    assert(len < size);
    if (len > 0)
        memcpy(to, from, len);
    to[len] = '\0';
}

static void narrow_group(const struct fence_group *from, struct story_group *ret_group)
{
    assert(from->count <= STORY_LOCKS);
    ret_group->count = from->count;
    for (unsigned k = 0; k < from->count; k++) {
        ret_group->locks[k].token = from->locks[k].token;
        ret_group->locks[k].hint = from->locks[k].hint;
        ret_group->locks[k].slot = from->locks[k].slot;
        story_text_copy(ret_group->locks[k].resource, sizeof(ret_group->locks[k].resource),
                        from->locks[k].resource);
    }
}

void story_group_widen(const struct story_group *from, struct fence_group *ret_group)
{
    ret_group->count = from->count;
    for (unsigned k = 0; k < from->count; k++) {
        struct fence_group_lock *lock = &ret_group->locks[k];
        lock->token = from->locks[k].token;
        lock->hint = from->locks[k].hint;
        lock->slot = from->locks[k].slot;
        story_text_copy(lock->resource, sizeof(lock->resource), from->locks[k].resource);
    }
}

void story_lock_request_copy(struct story_lock_request *to, const struct fence_request *from)
{
    to->request = *from;
    story_text_copy(to->resource, sizeof(to->resource), from->resource);
    story_text_copy(to->lock_id, sizeof(to->lock_id), from->lock_id);
    story_text_copy(to->owner, sizeof(to->owner), from->owner);
    to->request.resource = to->resource;
    to->request.lock_id = to->lock_id;
    to->request.owner = to->owner;
    to->request.group = NULL; /* story_group_widen() makes one of @group */
    to->group.count = 0;
    if (from->group)
        narrow_group(from->group, &to->group);
}

static void copy_page(struct story_rejoin_request *to, const struct fence_page *from)
{
    to->page = (struct fence_page){.bytes = (const char *)&to->bytes, .len = from->len};
    assert(from->len == 0 || from->len == sizeof(to->bytes));
    if (from->len > 0)
        memcpy(&to->bytes, from->bytes, from->len);
    to->request.page = &to->page;
}

void story_rejoin_request_copy(struct story_rejoin_request *to,
                               const struct fence_rejoin_request *from)
{
    to->request = *from;
    story_text_copy(to->fleet_id, sizeof(to->fleet_id), from->fleet_id);
    to->request.fleet_id = to->fleet_id;
    if (from->seen) {
        to->seen = *from->seen;
        to->request.seen = &to->seen;
    }
    if (from->view) {
        to->view = *from->view;
        to->request.view = &to->view;
    }
    if (from->page)
        copy_page(to, from->page);
}
