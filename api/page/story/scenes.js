/* The words of the scenes. A line appears when its event has happened. */
const A = 0;
const B = 1;
const is = (kind, more = {}) => (event) => event.kind === kind && Object.entries(more).every(([name, value]) => event[name] === value);

export const SCENES = {
    'gc-pause': {
        title: 'A pause',
        lead: 'Client A holds the lock and checks its clock. Then the garbage collector pauses client A for longer than the lock is valid. A client cannot notice its own pause.',
        lines: [
            [is('granted', { whom: A }), 'A majority of the masters has stored A’s lock. Token 1 comes from the counters of these masters.'],
            [is('paused', { who: A }), 'A checked its clock, and the lock was valid. The pause comes after this check, so the check does not help.'],
            [is('granted', { whom: B }), 'A’s lease has ended on the masters. B gets the lock with a higher token: 2.'],
            [is('resumed', { who: A }), 'A wakes up, still believes that it holds the lock, and writes.'],
            [is('stale'), 'The guard has seen token 2, and rejects token 1. B’s update is kept.'],
            [is('lost-update'), 'Without the guard, A’s write replaces B’s write. B’s update is lost.'],
        ],
    },
    'delayed-packet': {
        title: 'A delayed packet',
        lead: 'Client A makes no mistake and is in time. But the network delays A’s write, which arrives when the lock already has a new holder.',
        lines: [
            [is('looked', { who: A }), 'A checks its clock, and sends its write while the lock is valid.'],
            [is('granted', { whom: B }), 'A’s lease ends while A’s write is still in the network. B gets token 2.'],
            [is('accepted', { whom: B, what: 4 }), 'B writes, and the guard of the database stores token 2.'],
            [is('stale'), 'A’s write arrives late. The guard rejects the write, because its token is lower than 2.'],
            [is('lost-update'), 'A’s write arrives late, and without the guard the database accepts it.'],
        ],
    },
    'clock-jump': {
        title: 'A clock that jumps',
        lead: 'Redis ends leases by its wall clock. In this scene the clocks of two masters are set forward. Two clients then hold the lock. But the tokens stay in order, because their order does not depend on clocks.',
        lines: [
            [is('granted', { whom: A }), 'A gets token 1 and works for some seconds.'],
            [is('clock'), 'The clock of a master jumps by a minute. On this master A’s lock ends at once.'],
            [is('granted', { whom: B }), 'On two of three masters the lock is free. B gets the lock with token 2, because the counters were not set back.'],
            [is('overlap', { value: 1 }), 'Now two clients hold the lock, and both locks are valid by the clocks of the clients. Neither client made a mistake.'],
            [is('stale'), 'A writes while its lock is valid by its own clock. The guard still rejects the write, because B has a higher token.'],
            [is('lost-update'), 'Both locks were valid, and B’s update is lost.'],
        ],
    },
    failover: {
        title: 'A failover that loses data',
        lead: 'Master 1 stores A’s lock and fails. Its replica takes over without A’s lock. With a counter on a single Redis, a second client would now also get number 1.',
        lines: [
            [is('granted', { whom: A }), 'Three masters have stored A’s lock and number 1.'],
            [is('failed-over'), 'The replica of master 1 takes over. The replica lacks A’s lock, and its counter is 0.'],
            [is('state', { what: 3 }), 'pawld notices that master 1 is another process with other data. Master 1 has no vote.'],
            [is('state', { what: 5, who: 16, value: 0 }), 'Master 1 imports the counter and A’s lock from the other masters. Then it votes again.', 2200],
            [is('killed'), 'Master 2 fails, too. Masters 1 and 3 are a majority, and both have A’s lock.'],
            [is('granted', { whom: B }), 'B waits until A has released the lock, and gets token 2. No token is issued twice.'],
            [is('started'), 'Master 2 restarts with the data of its disk. Master 2 also rejoins before it votes.'],
        ],
    },
    'reader-writer': {
        title: 'Readers and a writer',
        lead: 'Readers share the lock, and a writer excludes all readers. The guard stores two numbers: the highest token of a writer, and the highest token of a reader.',
        lines: [
            [is('granted', { whom: A, what: 1 }), 'A and C read at the same time. Each reader has a seat of the lock, and a token.'],
            [is('granted', { whom: B }), 'B wants to write, and gets all seats when they are free. B’s token is the greatest token of these seats.'],
            [is('paused', { who: B }), 'B is paused right before its write.'],
            [(event) => event.kind === 'accepted' && event.whom !== B && event.at > 9e6, 'B’s lease has ended. A and C read again, and the guard stores their tokens.'],
            [is('stale'), 'B wakes up and writes. The guard rejects B, because a reader with a higher token has already read the data.'],
            [is('accepted', { whom: B, what: 4 }), 'Without the guard, B changes the balance while readers still use the old balance.', 15000],
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
