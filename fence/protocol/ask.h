/* The masters that a call asks first. The call asks other masters if the first ones do not settle
 * the result. All settings are equally safe. */
#ifndef FENCE_PROTOCOL_ASK_H
#define FENCE_PROTOCOL_ASK_H

enum fence_ask {
    FENCE_ASK_MAJORITY, /* the same majority for all names: one script call carries the most
                         * requests */
    FENCE_ASK_SPREAD,   /* a majority by the slot of the name: the masters share the work */
    FENCE_ASK_ALL,
};

#endif
