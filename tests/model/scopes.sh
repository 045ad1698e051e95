# The scopes that `run` searches: a model, and what there is in it. What a scope leaves out is as
# small as scope.pml and call.pml have it. A search may name other numbers.
# shellcheck shell=bash disable=SC2034 # read by `run`
declare -A scopes=(
    # ---- acquire and confirm ---------------------------------------------------------------------

    # A message arrives twice.
    [confirm]='pawl DUPLICATES=1 GAP=2'
    # A client that tries again with its own lock id, and another client.
    [same_id]='pawl ATTEMPTS=3 SAME_LOCK_ID GAP=0'
    # The same two clients where locks do not expire: attempts fail and are undone, and two clients
    # never hold the lock at once.
    [exclusion]='pawl ATTEMPTS=3 SAME_LOCK_ID EXPIRIES=0 CLEANUPS=1 GAP=0'
    # An attempt asks a majority first and hedges to the others when it likes. Step 1 names any
    # number as a hint, up to 2. A master forgets and is taken back.
    [hint]='pawl HEDGES=1 SURPLUS=1 HINTS=2 FORGETTINGS=1 LEADERS=1 GAP=0'

    # ---- masters that forget, restart or are replaced --------------------------------------------

    # Masters forget twice, the same one or two, and are taken back.
    [forget]='pawl FORGETTINGS=2 LEADERS=2 GAP=0'
    # The same, and a second leader may overtake the first at any moment.
    [leaders]='pawl FORGETTINGS=2 LEADERS=2 LEADERS_AT_ONCE=2 GAP=0'
    # No lock expires. Masters forget twice and import the locks of the others, so two clients never
    # hold the lock at once.
    [import]='pawl FORGETTINGS=2 LEADERS=2 EXPIRIES=0 CLEANUPS=1 GAP=0'
    # A master goes back to an older state of its own, and two leaders take it back.
    [rollback]='pawl ROLLBACKS=1 LEADERS=2 LEADERS_AT_ONCE=2 GAP=0'
    # A durable master restarts with its data. Two leaders take it back by import, or its disk is
    # trusted.
    [restart]='pawl RESTARTS=1 LEADERS=2 LEADERS_AT_ONCE=2 GAP=0'
    # A durable master restarts, and its import breaks off: half-way through it, its disk is
    # trusted. An empty machine may take its name meanwhile, and the old one be reachable again.
    [half_way]='pawl HALF_WAY=1 RESTARTS=1 REPLACEMENTS=1 LEADERS=2 LEADERS_AT_ONCE=2 GAP=0'
    # An empty machine takes a member's name while the old one is still reachable.
    [replaced]='pawl REPLACEMENTS=1 LEADERS=2 GAP=0'

    # ---- a durable master that restarts from an older file ---------------------------------------

    # Two leaders take it back, or its disk is believed.
    [older_file]='pawl OLDER_FILES=1 LEADERS=2 LEADERS_AT_ONCE=2 GAP=0'
    # It restarts, and its import breaks off: half-way through it, its disk is believed. Before or
    # after that, it restarts from an older file.
    [older_half_way]='pawl OLDER_FILES=1 HALF_WAY=1 LEADERS=2 LEADERS_AT_ONCE=2 GAP=0'
    # Locks expire with leases. A holder extends and joins masters that do not have the lock.
    [older_join]='pawl OLDER_FILES=1 LEASES=1 ROUNDS=1 SURPLUS=1 GAP=0'
    # Named counters: calls that count and read.
    [older_counter]='call OLDER_FILES=1 LEADERS=1 AGAIN=0 EXPIRIES=0'

    # ---- holders that extend ---------------------------------------------------------------------

    # Clocks are trusted. A holder extends its lease, while masters forget twice and are taken back.
    [extend]='pawl LEASES=1 EXTENSIONS=1 FORGETTINGS=2 LEADERS=2 GAP=0'
    # Locks expire with leases. A holder extends twice, over two servers, and joins masters that do
    # not have the lock.
    [join]='pawl LEASES=1 ROUNDS=2 SURPLUS=1 GAP=0'
    # A holder extends and joins masters, while a master forgets and imports the locks of others.
    [join_import]='pawl LEASES=1 ROUNDS=1 SURPLUS=1 FORGETTINGS=1 LEADERS=1 GAP=0'
    # A client extends and joins masters, and tries again with its own lock id meanwhile. Another
    # client wants the lock. LEASES=0: locks expire at any moment.
    [join_retry]='pawl ATTEMPTS=3 SAME_LOCK_ID LEASES=1 ROUNDS=1 ONE_ASKS_FEW=1 GAP=0'

    # ---- named counters --------------------------------------------------------------------------

    # Calls that count and read, of which one may try again. A master forgets and is taken back.
    [counter]='call FORGETTINGS=1 LEADERS=1 EXPIRIES=0'

    # ---- five members ----------------------------------------------------------------------------

    # Acquire and confirm.
    [five]='pawl N=5'
    # One forgets and rejoins; one lock expires.
    [five_forget]='pawl N=5 FORGETTINGS=1 LEADERS=1 EXPIRIES=1 GAP=0'
    # A durable master restarts. Two leaders take it back, or its disk is trusted. No lock expires.
    [five_restart]='pawl N=5 RESTARTS=1 LEADERS=2 LEADERS_AT_ONCE=2 EXPIRIES=0 GAP=0'
    # One is durable and restarts from an older file. Its disk is believed.
    [five_older_file]='pawl N=5 OLDER_FILES=1 LEADERS_AT_ONCE=2 GAP=0'
    # A majority has the lock of attempt 0. Its holder extends, and joins the others. Locks expire
    # with leases.
    [five_join]='pawl N=5 LEASES=1 ROUNDS=1 ONE_ASKS_FEW=1 GAP=0'
    # Named counters, without failures.
    [five_counter]='call N=5 EXPIRIES=0 AGAIN=0'
)
