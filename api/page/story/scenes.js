/* The words of the scenes. A line appears when its event has happened. */
const A = 0;
const B = 1;
const is = (kind, more = {}) => (event) => event.kind === kind && Object.entries(more).every(([name, value]) => event[name] === value);

export const SCENES = {
    'gc-pause': {
        title: 'A pause',
        lead: 'Client A holds the lock and looks at its clock. Then its garbage collector stops it, for longer than the lock is valid. No client can notice its own pause.',
        lines: [
            [is('granted', { whom: A }), 'A majority of masters has stored A’s lock. The token 1 comes from their counters.'],
            [is('paused', { who: A }), 'A had looked: its validity was good. The pause comes after the look, so no look could help.'],
            [is('granted', { whom: B }), 'A’s lease ran out on the masters. B gets the lock, and a higher token: 2.'],
            [is('resumed', { who: A }), 'A wakes. It still believes that it has the lock, and writes.'],
            [is('stale'), 'The guard has seen 2. It refuses 1. B’s update stays.'],
            [is('lost-update'), 'Without the guard A’s old balance replaces what B wrote. B’s update is gone.'],
        ],
    },
    'delayed-packet': {
        title: 'A delayed packet',
        lead: 'Client A does everything right and in time. Its write is held up in the network, and arrives after the lock has a new holder.',
        lines: [
            [is('looked', { who: A }), 'A looks at its clock and sends its write, well within its validity.'],
            [is('granted', { whom: B }), 'The write is still on its way when the lease ends. B gets token 2.'],
            [is('accepted', { whom: B, what: 4 }), 'B writes, and the database remembers 2.'],
            [is('stale'), 'A’s write arrives at last. Its token tells how old it is.'],
            [is('lost-update'), 'The old write arrives at last, and nothing stops it.'],
        ],
    },
    'clock-jump': {
        title: 'A clock that jumps',
        lead: 'Redis ends leases by its wall clock. Somebody sets the clocks of two masters forward. Exclusion is lost; the order of tokens is not, as it depends on no clock.',
        lines: [
            [is('granted', { whom: A }), 'A gets token 1 and works for some seconds.'],
            [is('clock'), 'The clock of a master jumps by a minute: A’s lock ends there at once.'],
            [is('granted', { whom: B }), 'Two of three masters have no lock any more. B gets it, under token 2: the counters did not go back.'],
            [is('overlap', { value: 1 }), 'Now two clients hold a lock that is valid by their clocks. No client does anything wrong.'],
            [is('stale'), 'A writes within its validity, and is refused all the same. Only the order of the tokens could tell.'],
            [is('lost-update'), 'Both validities were good, and B’s update is lost.'],
        ],
    },
    failover: {
        title: 'A failover that forgets',
        lead: 'Master 1 gives A its lock and fails. Its replica takes over, and has never heard of that lock. A counter on one Redis would now give number 1 to a second client.',
        lines: [
            [is('granted', { whom: A }), 'Three masters have stored A’s lock and number 1.'],
            [is('failed-over'), 'The replica of master 1 takes its place. It lacks A’s lock, and its counter is back at 0.'],
            [is('state', { what: 3 }), 'pawld notices: the data descend from another process. Master 1 has no vote.'],
            [is('state', { what: 5, who: 16, value: 0 }), 'The other masters told it the counter and A’s lock before it votes again.', 2200],
            [is('killed'), 'Master 2 fails, too. Masters 1 and 3 are a majority, and both know A’s lock.'],
            [is('granted', { whom: B }), 'B waits until A has released the lock, and gets token 2. No token is given twice.'],
            [is('started'), 'Master 2 starts again with what its disk kept. It, too, rejoins before it votes.'],
        ],
    },
    'reader-writer': {
        title: 'Readers and a writer',
        lead: 'Readers share the lock, and a writer excludes all of them. The guard keeps two numbers: the highest writer’s and the highest reader’s.',
        lines: [
            [is('granted', { whom: A, what: 1 }), 'A and C read together: each has a seat, and a token of its own.'],
            [is('granted', { whom: B }), 'B gets all seats as they are free. Its token is the greatest of their numbers.'],
            [is('paused', { who: B }), 'B is paused right before its write.'],
            [(event) => event.kind === 'accepted' && event.whom !== B && event.at > 9e6, 'B’s lease ended. A and C read again, and the guard remembers their tokens.'],
            [is('stale'), 'B wakes and writes. A newer reader was admitted: it would have seen half of the write. B is refused.'],
            [is('accepted', { whom: B, what: 4 }), 'Without the guard B writes behind the backs of readers that were told the old balance.', 15000],
        ],
    },
};

/** The lines of a scene that were reached by these events. */
export function reached(scene, told) {
    return scene.lines
        .map(([test, text, after = 0]) => ({ text, at: told.find(({ event }) => event.at >= after * 1000 && test(event))?.event.at }))
        .filter(({ at }) => at !== undefined)
        .sort((a, b) => a.at - b.at);
}
