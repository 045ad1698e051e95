"""Works on an order while it holds the order's lock. Servers: PAWL_SERVER, or the pawld of this machine."""

import pawl

client = pawl.Client()
try:
    with client.lock("orders/42", ttl=30, wait=10) as lock:
        print("token", lock.token)  # send the token along with each write
        lock.check()  # before each step: raises LockLost if the lock is no longer held
except pawl.Held as held:
    print("held by", held.owner)
