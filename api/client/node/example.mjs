// Works on an order while it holds the order's lock. Servers: PAWL_SERVER, or the pawld of this machine.
// In a project: npm install the package of the client, or link node_modules/pawl-client to its folder.
import { Client, Held } from 'pawl-client';

try {
    await new Client().withLock('orders/42', { ttlMs: 30000, waitMs: 10000 }, async (lock) => {
        console.log(`token ${lock.token}`); // send the token along with each write
        lock.check(); // before each step: throws LockLost if the lock is no longer held
    });
} catch (error) {
    if (!(error instanceof Held)) throw error;
    console.log(`held by ${error.owner}`);
}
