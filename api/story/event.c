#include "api/story/event.h"

#include <stddef.h>

const char *story_event_name(int32_t kind)
{
    static const char *const names[] = {
#define STORY_EVENT_TEXT(name, text) [STORY_##name] = (text),
        STORY_EVENTS(STORY_EVENT_TEXT)
#undef STORY_EVENT_TEXT
    };
    return kind >= 0 && (unsigned)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}
