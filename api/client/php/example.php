<?php

// Works on an order while it holds the order's lock. Servers: PAWL_SERVER, or the pawld of this machine.
require 'Pawl.php';

try {
    (new Pawl\Client())->lock('orders/42', function (Pawl\Lock $lock) {
        echo 'token ', $lock->token(), "\n"; // send the token along with each write
        $lock->extend(); // between two steps: nothing extends the lock in the background
    }, ttl: 30, wait: 10);
} catch (Pawl\Held $held) {
    echo "held by $held->owner\n";
}
