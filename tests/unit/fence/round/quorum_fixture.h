/* Rounds of extend, release and inspect, written as letters. */
#ifndef TESTS_UNIT_FENCE_ROUND_QUORUM_FIXTURE_H
#define TESTS_UNIT_FENCE_ROUND_QUORUM_FIXTURE_H

#include "fence/round/quorum_call.h"

enum {
    QUORUM_EXTENSIONS = 3, /* that a lock has had where it is extended under its token */
};

/* Replies as letters, one for each master in order. Letters of a vote: y yes, n no, x exhausted, u
 * uncounted. Of an extension: o yes, to a number below the token; p past, t taken, s superseded, k
 * broken. Of an inspection: a and b, held by that holder. Of all: r refused, l lost, '-' not asked,
 * '.' no answer yet. */
struct fence_reply quorum_reply_of(char letter);

/* A round of as many masters as there are @letters, after these replies. */
struct fence_quorum_call quorum_vote_of(enum fence_call_kind kind, const char *letters);

#endif
