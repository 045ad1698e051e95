/* The pages of an import. Each is of one master: one has its counter, one has its lock. A page may
 * be on its way for any time between read and install. The member merges pages in any order. */

#define NO_PAGE 0
#define page_of(m, kind) (1 + 2 * member(m) + (kind))
#define COUNTER_PAGE 0
#define LOCK_PAGE 1
#define kind_of(page) (((page) - 1) & 1)
#define source_of(page) (((page) - 1) >> 1)
#define page_bit(m, kind) bit(2 * member(m) + (kind))

byte page[LEADERS]; /* that it read last, if it is not installed yet */
byte page_counter[LEADERS];
byte page_lock[LEADERS];
byte page_number[LEADERS];
bool page_counts[LEADERS]; /* whether that lock counted for its holder there */
#if LEASES
byte page_lease[LEADERS];
#endif

inline read_counter(r, m)
{
    page[r] = page_of(m, COUNTER_PAGE);
    page_counter[r] = counter[m];
    printf("leader %d: reads counter %d of master %d\n", r, counter[m], m)
}

inline read_lock(r, m)
{
#if !PAGES_APART
    read_counter(r, m);
#endif
    page[r] = page_of(m, LOCK_PAGE);
#if defined(MUTANT_LOCKS_NOT_IMPORTED)
    skip
#elif defined(MUTANT_TOMBSTONE_NOT_COPIED)
    if
    :: lock[m] != TOMBSTONE -> read_what_is_locked(r, m)
    :: else
    fi
#else
    read_what_is_locked(r, m)
#endif
}

/* Rule: a copy of a copy counts only if that one did. */
#ifdef MUTANT_COPIES_COUNT
#define counts_as_source(m) true
#else
#define counts_as_source(m) counts(m)
#endif

inline read_what_is_locked(r, m)
{
    page_lock[r] = lock[m];
    page_number[r] = number[m];
#if EXTENSIONS || ROUNDS
    page_counts[r] = (lock[m] != FREE && counts_as_source(m));
#endif
#if LEASES
    page_lease[r] = lease[m];
#endif
    printf("leader %d: reads lock %d, number %d of master %d\n", r, lock[m], number[m], m)
}

inline drop_page(r)
{
    page[r] = NO_PAGE;
    page_counter[r] = 0;
    page_lock[r] = FREE;
    page_number[r] = 0;
#if LEASES
    page_lease[r] = 0;
#endif
    page_counts[r] = false
}

/* Merging. Rule: where two lock ids meet, the lock is nobody's. */
#define have_one_id(l, k) ((l) == (k) || (is_by_first_client(l) && is_by_first_client(k)))

#if EXTENSIONS || ROUNDS
#define bit_of_source(r) (page_counts[r] -> bit(source_of(page[r])) : 0)
#else
#define bit_of_source(r) 0
#endif

inline install_new(r, m)
{
    lock[m] = page_lock[r];
    number[m] = page_number[r];
    origin[m] = IMPORTED | bit_of_source(r)
}

/* Rule: of one lock id the higher number stays, and attempts that differ are both. */
inline install_same(r, m)
{
#ifndef MUTANT_ONE_ATTEMPT_KEPT
    lock[m] = (lock[m] == page_lock[r] -> lock[m] : STAR);
#endif
#ifdef MUTANT_LOWER_NUMBER_KEPT
    number[m] = (number[m] < page_number[r] -> number[m] : page_number[r]);
#else
    number[m] = (number[m] > page_number[r] -> number[m] : page_number[r]);
#endif
    origin[m] = origin[m] | (origin[m] == 0 -> 0 : bit_of_source(r))
}

inline install_other(r, m)
{
#if defined(MUTANT_FIRST_ID_KEPT)
    skip
#elif defined(MUTANT_HIGHEST_NUMBER_KEPT)
    if
    :: page_number[r] > number[m] -> install_new(r, m)
    :: else
    fi
#elif defined(MUTANT_LOWEST_NUMBER_KEPT)
    if
    :: page_number[r] < number[m] -> install_new(r, m)
    :: else
    fi
#else
    lock[m] = TOMBSTONE;
    number[m] = 0;
    origin[m] = IMPORTED
#endif
}

/* Rule: the longest of the leases that met counts. */
#if LEASES
#ifdef MUTANT_FIRST_LEASE_KEPT
#define merged_lease(r, m) (lease[m] == 0 -> page_lease[r] : lease[m])
#else
#define merged_lease(r, m) (lease[m] | page_lease[r])
#endif
#endif

inline install_lock(r, m)
{
#if LEASES
    lease[m] = merged_lease(r, m);
#endif
    if
    :: lock[m] == FREE -> install_new(r, m)
    :: lock[m] != FREE && have_one_id(lock[m], page_lock[r]) -> install_same(r, m)
    :: else -> install_other(r, m)
    fi;
    printf("leader %d: lock %d, number %d at master %d\n", r, lock[m], number[m], m)
}

inline install(r, m)
{
    printf("leader %d: installs counter %d, ", r, page_counter[r]);
    printf("lock %d at master %d\n", page_lock[r], m);
#ifndef MUTANT_COUNTERS_NOT_IMPORTED
    counter[m] = (page_counter[r] > counter[m] -> page_counter[r] : counter[m]);
#endif
    if
    :: page_lock[r] != FREE -> install_lock(r, m)
    :: else
    fi;
    installed[r] = installed[r] | bit(page[r] - 1);
    drop_page(r)
}
