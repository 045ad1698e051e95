#include "fence/protocol/seat.h"

#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <string.h>

/* Follows the mark in the name of a gate, in place of an index. */
#define GATE 'w'

bool fence_seats_name_valid(const char *name, size_t len)
{
    return len <= FENCE_SEATS_NAME_MAX && fence_resource_valid(name, len);
}

size_t fence_seat_name_len(const char *lock, size_t len)
{
    const char *mark = memchr(lock, FENCE_SEAT_MARK, len);
    return mark ? (size_t)(mark - lock) : len;
}

/* Each seat has exactly one spelling: no sign, no leading zero. */
static bool read_index(const char *digits, size_t len, unsigned *ret_seat)
{
    unsigned seat = 0;
    if (len == 0 || len > FENCE_SEAT_DIGITS || (len > 1 && digits[0] == '0'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        seat = seat * 10 + (unsigned)(digits[i] - '0');
    }
    if (seat >= FENCE_SEATS_MAX)
        return false;
    *ret_seat = seat;
    return true;
}

bool fence_seat_read(const char *lock, size_t len, unsigned *ret_seat)
{
    const size_t name_len = fence_seat_name_len(lock, len);
    unsigned seat = 0;
    if (name_len == len || !fence_seats_name_valid(lock, name_len) ||
        !read_index(lock + name_len + 1, len - name_len - 1, &seat))
        return false;
    if (ret_seat)
        *ret_seat = seat;
    return true;
}

bool fence_lock_name_valid(const char *lock, size_t len)
{
    return fence_resource_valid(lock, len) || fence_seat_read(lock, len, NULL) ||
           fence_gate_is(lock, len);
}

bool fence_gate_is(const char *lock, size_t len)
{
    const size_t name_len = fence_seat_name_len(lock, len);
    return len == name_len + 2 && lock[name_len + 1] == GATE &&
           fence_seats_name_valid(lock, name_len);
}

void fence_gate_write(char lock[static FENCE_RESOURCE_MAX + 1])
{
    const size_t name_len = fence_seat_name_len(lock, strlen(lock));
    assert(name_len <= FENCE_SEATS_NAME_MAX);
    lock[name_len] = FENCE_SEAT_MARK;
    lock[name_len + 1] = GATE;
    lock[name_len + 2] = '\0';
}

void fence_seat_write(char lock[static FENCE_RESOURCE_MAX + 1], unsigned seat)
{
    const size_t name_len = fence_seat_name_len(lock, strlen(lock));
    char digits[FENCE_DECIMAL_MAX + 1];
    const size_t len = fence_decimal(seat, digits);
    assert(name_len <= FENCE_SEATS_NAME_MAX && len <= FENCE_SEAT_DIGITS);
    lock[name_len] = FENCE_SEAT_MARK;
    memcpy(lock + name_len + 1, digits, len);
    lock[name_len + 1 + len] = '\0';
}
