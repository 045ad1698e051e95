#include "tests/unit/fence/round/quorum_fixture.h"

struct fence_reply quorum_reply_of(char letter)
{
    switch (letter) {
    case 'y':
        return (struct fence_reply){
            .kind = FENCE_REPLY_YES, .number = QUORUM_EXTENSIONS, .owner = "y"};
    case 'o':
        return (struct fence_reply){.kind = FENCE_REPLY_YES, .owner = "o"};
    case 'n':
        return (struct fence_reply){.kind = FENCE_REPLY_NO};
    case 'p':
        return (struct fence_reply){.kind = FENCE_REPLY_PAST};
    case 't':
        return (struct fence_reply){.kind = FENCE_REPLY_TAKEN};
    case 'x':
        return (struct fence_reply){.kind = FENCE_REPLY_EXHAUSTED};
    case 's':
        return (struct fence_reply){.kind = FENCE_REPLY_SUPERSEDED};
    case 'k':
        return (struct fence_reply){.kind = FENCE_REPLY_BROKEN, .owner = "operator"};
    case 'u':
        return (struct fence_reply){.kind = FENCE_REPLY_UNCOUNTED};
    case 'r':
        return (struct fence_reply){.kind = FENCE_REPLY_REFUSED};
    case 'l':
        return (struct fence_reply){.kind = FENCE_REPLY_LOST};
    case 'a':
        return (struct fence_reply){
            .kind = FENCE_REPLY_HELD, .holder = "a", .number = 7, .owner = ""};
    default:
        return (struct fence_reply){
            .kind = FENCE_REPLY_HELD, .holder = "b", .number = 8, .owner = ""};
    }
}

struct fence_quorum_call quorum_vote_of(enum fence_call_kind kind, const char *letters)
{
    unsigned n = 0;
    uint32_t active = 0;
    for (; letters[n] != '\0'; n++)
        if (letters[n] != '-')
            active |= UINT32_C(1) << n;
    struct fence_quorum_call vote;
    fence_quorum_call_begin(&vote, kind, n, active, 0);
    for (unsigned i = 0; i < n; i++) {
        if (letters[i] == '-' || letters[i] == '.')
            continue;
        struct fence_reply reply = quorum_reply_of(letters[i]);
        fence_quorum_call_reply(&vote, i, &reply);
    }
    return vote;
}
