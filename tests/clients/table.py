"""THE table of what a client must do. README.md says what a row has."""

import signal
import threading
import time
import urllib.parse

from server import (TOKEN, VALIDITY_MS, Answer, chunked, cut, grant, http_1_0, interim, lost, page, problem, state,
                    twice)
from suite import NAME, PATIENCE, Act, Row, Step, Wrong

LONG = 5000  # a lease that outlives its row, in milliseconds
SLACK_MS = 600  # of a busy machine
WAITED = 0.7  # seconds after which a gateway cuts: longer than a request that did not wait


def acquire(wait=0, ttl=LONG, names=(NAME,), **seen):
    return Step("acquire", wait, ttl, "-", *names, **seen)


def extend(ttl="-", **seen):
    return Step("extend", ttl, **seen)


def release(value="true", **seen):
    return Step("release", value=None if "kind" in seen else value, **seen)


def left(least, most, **seen):
    return Step("left", least=least, most=most, **seen)


def rwlock(mode, **seen):
    return Step("rwlock", 0, LONG, mode, "atlas", **seen)


def pause(seconds):
    return Act(lambda driver, servers: time.sleep(seconds))


def sleep(seconds):
    return Act(lambda driver, servers: driver.sleep(seconds))


def sleep_soon(after, seconds):
    """Stops the process while the next command is under way."""
    def begin(driver, _servers):
        threading.Timer(after, driver.sleep, (seconds,)).start()
    return Act(begin)


def stop(seconds):
    def restart(_driver, servers):
        servers[0].stop()
        time.sleep(seconds)
        servers[0].start()
    return Act(restart)


def wait_until_left(_driver, servers):
    """Until the client has closed its connections."""
    until = time.monotonic() + PATIENCE
    while not servers[0].is_left():
        if time.monotonic() > until:
            raise Wrong("a connection of the client is open")
        time.sleep(0.01)


def one_lock_id(server):
    """All requests that acquire have one lock id."""
    return len({request.body["lock_id"] for request in server.of("POST")}) == 1


def released_names(server):
    """The names of all requests that release, in one request or one by one."""
    one_by_one = {urllib.parse.unquote(request.path.removeprefix("/v1/locks/")) for request in server.of("DELETE")
                  if not request.body}
    return one_by_one.union(*[request.body.get("resources", []) for request in server.of("DELETE")])


def is_about_writer(request):
    """The request names the read-write lock, or all that a writer has of it."""
    return request.path.partition("?")[0] == "/v1/rwlocks/atlas" or "atlas#w" in request.body["resources"]


def signals(seconds):
    """Sends a signal each 10 ms for so long, while the next commands are under way."""
    def send(driver, _servers):
        until = time.monotonic() + seconds
        def one():
            driver.signal(signal.SIGUSR1)
            if time.monotonic() < until:
                threading.Timer(0.01, one).start()
        one()
    return Act(send)


def count_threads(driver, _servers):
    driver.threads = int(driver.ask("threads")[1] or 0)


def wait_for_threads(driver, _servers):
    """Until no more threads (goroutines, timers) run than before."""
    until = time.monotonic() + PATIENCE
    while (now := int(driver.ask("threads")[1] or 0)) > driver.threads:
        if time.monotonic() > until:
            raise Wrong(f"{now} threads run, and {driver.threads} before")
        time.sleep(0.1)


def stop_first(_driver, servers):
    """The server that answered until now is dead from now on."""
    servers[0].stop()


def stays_silent(seconds):
    """No request comes for so long."""
    def watch(_driver, servers):
        before = len(servers[0].requests)
        time.sleep(seconds)
        if len(servers[0].requests) != before:
            raise Wrong(f"a request came that nobody needs: {servers[0].requests[before:]}")
    return Act(watch)


def redirect(status):
    head = f"HTTP/1.1 {status} Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
    return Answer(form=lambda data: head.encode())


def asked(server, *methods):
    return [request.method for request in server.requests] == list(methods)


HELD = problem(409, "held", resource=NAME, owner="worker-7", retry_after_ms=2500)
LOST = problem(409, "lock-lost", resource=NAME)
BROKEN = problem(409, "lock-broken", resource=NAME, by=None)
NO_QUORUM = problem(503, "no-quorum")
NO_METHOD = problem(405, "method-not-allowed")
SLOW_EXTENSION = grant(status=200, after=0.6, validity_ms=4900)
SHORT = {"ttl_ms": 600, "validity_ms": 550}
THREE = ("a", "b", "c")

ACQUIRING = [
    Row("grant_has_a_token_and_a_validity", {}, [
        acquire(value=str(TOKEN)), left(VALIDITY_MS - SLACK_MS, VALIDITY_MS), release()],
        lambda s: s.of("POST")[0].path == f"/v1/locks/{NAME}" and s.of("POST")[0].body["ttl_ms"] == LONG
        and s.of("DELETE")[0].headers["lock-id"] == s.of("POST")[0].body["lock_id"]),
    Row("lock_ids_are_of_one_acquisition", {}, [acquire(), release(), acquire(), release()],
        lambda s: len({request.body["lock_id"] for request in s.of("POST")}) == 2),
    Row("lost_answer_is_asked_for_again_under_one_lock_id", {"POST": [lost()]}, [acquire(), release()],
        lambda s: len(s.of("POST")) == 2 and one_lock_id(s)),
    Row("answer_cut_in_its_head_grants_nothing", {"POST": [cut(b"HTTP/1.1 201 Cre")]}, [
        acquire(kind="ok or protocol")], one_lock_id),  # libraries of HTTP differ
    Row("answer_cut_in_its_body_is_asked_for_again",
        {"POST": [cut(b'HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"token": 9')]},
        [acquire(value=str(TOKEN))], lambda s: len(s.of("POST")) == 2 and one_lock_id(s)),
    Row("server_without_majority_is_asked_again", {"POST": [NO_QUORUM, NO_QUORUM]}, [acquire()],
        lambda s: len(s.of("POST")) == 3 and one_lock_id(s)),
    Row("acquisition_in_doubt_leaves_no_lock", {"POST": [lost()] * 99}, [
        acquire(kind="unavailable", said=(NAME, "does not answer"), within=3)],
        lambda s: one_lock_id(s) and s.of("DELETE")[0].headers["lock-id"] == s.of("POST")[0].body["lock_id"]),
    Row("group_in_doubt_leaves_no_lock", {"POST": [lost()] * 99}, [
        acquire(names=THREE, kind="unavailable")],
        lambda s: released_names(s) == set(THREE)),
    Row("seat_in_doubt_leaves_none", {"POST": [lost()] * 99}, [
        Step("seat", 0, LONG, 2, "imports", kind="unavailable")],
        lambda s: released_names(s) == {"imports#0", "imports#1"}),
    Row("answer_after_its_validity_grants_nothing",
        {"POST": [grant(0.7, ttl_ms=500, validity_ms=400)]},
        [acquire(ttl=500, kind="unavailable")], lambda s: asked(s, "POST", "DELETE"), 3000),
    Row("hung_server_is_given_up", "hangs", [acquire(kind="unavailable", within=4)]),
    Row("dead_server_is_named", "dead", [
        acquire(kind="unavailable", said=(f"cannot acquire {NAME}", "http://127.0.0.1:"), within=3)]),
    Row("restarted_server_is_waited_for", {}, [acquire(), stop(0.5), extend(), release()], call_ms=3000),
]

CLOCK = [
    Row("time_of_the_answer_counts_for_nothing", {"POST": [grant(0.8)]}, [
        acquire(), left(VALIDITY_MS - 800 - SLACK_MS, VALIDITY_MS - 800)], call_ms=3000),
    Row("time_that_the_server_took_does_not_shorten_it", {"POST": [grant(0.8, served_ms=800)]}, [
        acquire(), left(VALIDITY_MS - SLACK_MS, VALIDITY_MS)], call_ms=3000),
    Row("served_time_beyond_the_request_adds_nothing", {"POST": [grant(served_ms=900)]}, [
        acquire(), left(VALIDITY_MS - SLACK_MS, VALIDITY_MS)]),
    Row("extension_counts_from_its_request", {"PATCH": [SLOW_EXTENSION]}, [
        acquire(), extend(LONG), left(VALIDITY_MS - 600 - SLACK_MS, VALIDITY_MS - 600)], call_ms=3000),
    Row("lock_ends_by_the_clock", {"POST": [grant(**SHORT)]}, [acquire(ttl=600), pause(0.6), left(0, 0)]),
    Row("stopped_holder_that_extends_by_itself_knows_when_it_wakes", {"POST": [grant(**SHORT)]}, [
        acquire(ttl=600), sleep(0.8), left(0, 0), extend(kind="lost")]),
    Row("stopped_holder_knows_when_it_wakes", {"POST": [grant(**SHORT)]}, [
        acquire(ttl=600), Step("renew"), sleep(0.8), left(0, 0)]),
]

WAITING = [
    Row("held_lock_is_told_with_its_holder", {"POST": [HELD]}, [
        acquire(kind="held", said=(f"{NAME} is held by worker-7", "2.5 s"), within=1)],
        lambda s: asked(s, "POST") and s.requests[0].body["wait_ms"] == 0),
    Row("wait_ends_with_held", {"POST": [problem(409, "wait-timeout", 0.5, resource=NAME, owner="b")] * 9}, [
        acquire(500, kind="held", said=("held by b",), after=0.45, within=2)],
        lambda s: 0 < s.requests[0].body["wait_ms"] <= 500 and one_lock_id(s)),
    Row("wait_is_without_end_by_default",
        {"POST": [problem(409, "wait-timeout", WAITED, resource=NAME)] * 2}, [acquire("-")],
        lambda s: len(s.of("POST")) == 3 and one_lock_id(s), 500),
    Row("new_pawld_is_told_how_long_the_call_waited", {"POST": [problem(409, "wait-timeout", WAITED)] * 2},
        [acquire("-")], lambda s: [WAITED * at <= int(request.headers.get("waited-ms", 0)) / 1000 < WAITED * at + 1
                                   for at, request in enumerate(s.of("POST"))] == [True] * 3),
    Row("own_lock_is_not_waited_for", {}, [
        Step("nested", "-", NAME, kind="refused", said=("wait for itself",)),
        Step("nested", 3000, NAME, kind="refused", within=1)], lambda s: len(s.of("POST")) == 2),
    Row("cancelled_wait_leaves_no_lock", {"POST": [problem(409, "wait-timeout", 1.5)]}, [
        Step("cancel", 300, NAME, kind="cancelled", within=6)],
        lambda s: s.of("DELETE")[0].headers["lock-id"] == s.of("POST")[0].body["lock_id"], 3000),
    Row("place_of_a_waiter_costs_no_hot_loop", {"POST": [problem(409, "wait-timeout", resource=NAME)] * 999}, [
        acquire(1000, kind="held")], lambda s: len(s.of("POST")) < 25),
    *[Row(f"gateway_that_cuts_a_wait_does_not_end_it_{name}", {"POST": [answer]}, [acquire(4000), release()],
          lambda s: len(s.of("POST")) == 2 and one_lock_id(s)) for name, answer in (
              ("504_page", page(504, WAITED)), ("502", page(502, WAITED)), ("503_page", page(503, WAITED)),
              ("408", page(408, WAITED)), ("200_page", page(200, WAITED)), ("404_page", page(404, WAITED)),
              ("cut", lost(WAITED)), ("cut_in_head", cut(b"HTTP/1.1 200 OK\r\nContent-", WAITED)),
              ("cut_in_body", cut(b"HTTP/1.1 201 X\r\nContent-Length: 100\r\n\r\n{", WAITED)))],
    Row("page_that_comes_at_once_is_no_pawld", {"POST": [page(404)]}, [
        acquire("-", kind="protocol", said=("404",))]),
]

SERVERS = [
    Row("next_server_is_asked_where_one_is_dead", ["dead", {}], [acquire(within=2), release()],
        lambda a, b: asked(b, "POST", "DELETE")),
    Row("next_server_is_asked_where_one_hangs", ["hangs", {}], [acquire(within=3)], call_ms=1500),
    Row("next_server_is_asked_where_one_has_no_majority", [{"POST": [NO_QUORUM] * 99}, {}], [acquire()],
        lambda a, b: b.of("POST")[0].body["lock_id"] == a.of("POST")[0].body["lock_id"]),
    Row("server_that_answers_is_asked_again", [{}, {}], [acquire(), extend(), release()],
        lambda a, b: asked(a, "POST", "PATCH", "DELETE") and not b.requests),
    Row("key_goes_along_with_each_call", {}, [acquire(), extend(), release()],
        lambda s: {request.headers.get("authorization") for request in s.requests} == {"Bearer pawl_secret"},
        key="pawl_secret"),
    Row("refusal_is_not_repeated", {"POST": [problem(403, "not-allowed")]}, [
        acquire("-", kind="refused", said=("it is not-allowed",))], lambda s: asked(s, "POST")),
    Row("name_is_not_called_a_resource", {"POST": [problem(400, "invalid", detail="The resource must be short.")]}, [
        acquire(kind="invalid", said=("A name must be short.",))]),
    Row("wrong_argument_is_not_repeated", {"POST": [problem(400, "invalid")]}, [
        acquire("-", kind="invalid")], lambda s: asked(s, "POST")),
    Row("name_is_encoded", {}, [acquire(names=("a:b@c~d/e f",)), release()],
        lambda s: {request.path.replace("%3A", ":").replace("%40", "@") for request in s.requests}
        == {"/v1/locks/a:b@c~d/e%20f"}),
]

EXTENDING = [
    Row("extension_moves_the_deadline", {"POST": [grant(ttl_ms=4000, validity_ms=1000)]}, [
        acquire(), extend(LONG, value=str(TOKEN)), left(VALIDITY_MS - SLACK_MS, VALIDITY_MS)],
        lambda s: s.of("PATCH")[0].headers["fencing-token"] == str(TOKEN)
        and s.of("PATCH")[0].headers["lock-id"] == s.of("POST")[0].body["lock_id"]),
    Row("lost_extension_is_asked_for_again", {"PATCH": [lost()]}, [acquire(), extend()],
        lambda s: len(s.of("PATCH")) == 2),
    Row("lost_lock_is_lost_at_once", {"PATCH": [LOST]}, [
        acquire(), extend(kind="lost", said=(NAME, "no longer held")), left(0, 0)]),
    Row("broken_lock_is_lost_and_says_so", {"PATCH": [BROKEN]}, [
        acquire(), extend(kind="lost", said=(f"{NAME} was broken by an operator",)), left(0, 0)]),
    Row("deadline_stands_where_no_majority_answers", {"PATCH": [NO_QUORUM] * 99}, [
        acquire(), extend(kind="unavailable", said=(NAME,), within=3), left(1, VALIDITY_MS)]),
    Row("deadline_stands_where_extensions_are_used_up", {"PATCH": [problem(409, "extensions-exhausted")]}, [
        acquire(), extend(kind="exhausted"), left(VALIDITY_MS - 600, VALIDITY_MS)],
        lambda s: len(s.of("PATCH")) == 1),
    Row("deadline_stands_where_an_extension_is_refused", {"PATCH": [problem(403, "not-allowed")]}, [
        acquire(), extend(kind="refused"), left(VALIDITY_MS - 600, VALIDITY_MS)]),
    Row("new_grant_is_told", {"PATCH": [grant(token=9)]}, [acquire(), extend(kind="new-grant")]),
    Row("extension_that_comes_too_late_mends_nothing",
        {"POST": [grant(**SHORT)], "PATCH": [grant(status=200, after=0.8, ttl_ms=600, validity_ms=580)]},
        [acquire(ttl=600), extend(kind="lost"), left(0, 0)], call_ms=3000),
    Row("extension_that_was_answered_in_the_holder_s_sleep_mends_nothing",
        {"POST": [grant(**SHORT)], "PATCH": [grant(status=200, after=0.25, validity_ms=4900)]},
        [acquire(ttl=600), sleep_soon(0.1, 0.9), extend(LONG, kind="lost or unavailable"), left(0, 0)], call_ms=3000),
    Row("extension_takes_no_longer_than_the_deadline", {"POST": [grant(**SHORT)], "PATCH": [lost()] * 999},
        [acquire(ttl=600), extend(kind="lost or unavailable", within=2), left(0, 0)], call_ms=5000),
    Row("all_names_of_a_group_are_extended_and_released", {}, [
        acquire(names=THREE, value=f"{TOKEN} {TOKEN + 1} {TOKEN + 2}"), extend(LONG),
        left(VALIDITY_MS - SLACK_MS, VALIDITY_MS), release(), left(0, 0)],
        lambda s: s.of("POST")[0].body["resources"] == list(THREE)),
    Row("group_is_extended_by_an_older_pawld",
        {"PATCH": [NO_METHOD]}, [acquire(names=THREE), Step("group"), extend(), release()],
        lambda s: {request.path for request in s.of("PATCH")} >= {f"/v1/locks/{name}" for name in THREE}),
    Row("group_outlives_a_gateway_s_404", {"PATCH": [page(404)]}, [
        acquire(names=THREE), Step("group"), extend(), extend(), release()],
        lambda s: [request.path for request in s.of("PATCH")].count("/v1/locks") == 2),
    Row("group_with_one_lost_name_is_lost", {"PATCH": [
        problem(409, "lock-lost", resource="b")] + [LOST] * 9}, [
            acquire(names=THREE), extend(kind="lost"), left(0, 0)]),
    Row("grant_without_each_token_is_released", {"POST": [grant(grants=[{"resource": "a", "token": 1}])]}, [
        acquire(names=THREE, kind="protocol")], lambda s: len(s.of("DELETE")) >= 1),
]

RELEASING = [
    Row("lock_is_not_held_after_its_release", {}, [acquire(), release(), left(0, 0)]),
    Row("release_behind_a_gateway_is_asked_for_again", {"DELETE": [page(503)]}, [acquire(), release()]),
    Row("release_tells_that_it_was_not_held",
        {"DELETE": [problem(503, "no-quorum"), grant(status=200, released=False)]}, [
            acquire(), release("false"), left(0, 0)]),
    Row("lost_release_is_asked_for_again", {"DELETE": [lost()]}, [acquire(), release()],
        lambda s: len(s.of("DELETE")) == 2),
    Row("release_that_is_unknown_may_be_repeated", {"DELETE": [NO_QUORUM] * 3}, [
        acquire(), release(kind="ok or unavailable"), release(kind="ok", within=3)], call_ms=3000),
    Row("release_after_the_end_takes_half_a_second", {"POST": [grant(**SHORT)], "DELETE": [lost()] * 999}, [
        acquire(ttl=600), pause(0.6), release(kind="unavailable", within=1.6)], call_ms=5000),
]

RENEWING = [
    Row("renewer_keeps_the_lock", {}, [
        acquire(ttl=900), Step("renew"), pause(1.5), left(100, 900), release()],
        lambda s: 3 <= len(s.of("PATCH")) <= 8),
    Row("release_ends_the_renewal", {}, [acquire(ttl=600), Step("renew"), pause(0.5), release(), pause(0.5)],
        lambda s: s.requests[-1].method == "DELETE" and len(s.of("PATCH")) >= 1),
    Row("holder_is_told_of_a_lost_lock", {"PATCH": [LOST]}, [
        acquire(ttl=3000), Step("renew"), Step("stopped", least=0, most=0, within=2.5), left(0, 0)]),
    Row("holder_is_told_that_no_server_answers", {"PATCH": [lost()] * 999}, [
        acquire(ttl=1200), Step("renew"), Step("stopped", least=0, most=1000, within=1.8)]),
    Row("holder_is_told_in_time_where_servers_hang", {"PATCH": [grant(60)] * 9}, [
        acquire(ttl=1200), Step("renew"), Step("stopped", least=0, most=1000, within=1.8)], call_ms=30000),
    Row("holder_is_told_where_extensions_are_used_up", {"PATCH": [problem(409, "extensions-exhausted")]}, [
        acquire(ttl=1500), Step("renew"), Step("stopped", least=1, most=1500, within=1.5)]),
    Row("renewer_outlives_failures", {"PATCH": [lost(), NO_QUORUM, page(502)]}, [
        acquire(ttl=1500), Step("renew"), pause(1.6), left(100, 1500), release()]),
]

SEATS = [
    Row("seat_has_an_index_and_a_token", {}, [
        Step("seat", 0, LONG, 3, "imports", value=f"1 {TOKEN}"), extend(), release()],
        lambda s: s.requests[0].path == "/v1/semaphores/imports" and s.requests[0].body["permits"] == 3
        and {request.path for request in s.requests[1:]} == {"/v1/locks/imports%231"}),
    Row("seat_that_makes_no_sense_is_refused", {"POST": [grant(resource="imports#3")]}, [
        Step("seat", 0, LONG, 3, "imports", kind="protocol")]),
    Row("seat_of_another_semaphore_is_refused", {"POST": [grant(resource="exports#1")]}, [
        Step("seat", 0, LONG, 3, "imports", kind="protocol")]),
]

WATCHING = [
    Row("watch_tells_each_change", {"GET": [state(7), state(None), state(9, "b")]}, [
        Step("watch", "-", 3, NAME, value="held 7 worker-7, free, held 9 b")],
        lambda s: [request.path.partition("unless=")[2].partition("&")[0] for request in s.requests]
        == ["", "7", "free"]),
    Row("watch_ends_after_its_time", {"GET": [state(7)] + [state(7, after=0.2)] * 9}, [
        Step("watch", 500, 9, NAME, value="held 7 worker-7", within=2)], lambda s: len(s.requests) < 25),
    Row("watch_makes_no_hot_loop", {"GET": [state(7)] * 999}, [
        Step("watch", 1000, 9, NAME, value="held 7 worker-7", within=2)], lambda s: len(s.requests) < 25),
    Row("watch_passes_over_a_grant_on_its_way", {"GET": [state(None), grant(status=200, held=True, token=None),
                                                         state(8)]}, [
        Step("watch", "-", 2, NAME, value="free, held 8 worker-7")]),
    Row("watch_that_was_answered_outlives_failures",
        {"GET": [state(7), NO_QUORUM, page(504, WAITED), lost(), NO_QUORUM, state(None)]}, [
            Step("watch", "-", 2, NAME, value="held 7 worker-7, free")], call_ms=300),
    Row("watch_refuses_a_state_of_another_lock", {"GET": [state(7, resource=NAME), state(None, resource="orders/43")]}, [
        Step("watch", "-", 2, NAME, kind="protocol")]),
    Row("watch_of_a_dead_server_ends", "dead", [
        Step("watch", "-", 1, NAME, kind="unavailable", said=(f"cannot watch {NAME}",), within=3)]),
    Row("watch_that_is_refused_ends", {"GET": [problem(403, "not-allowed")]}, [
        Step("watch", "-", 1, NAME, kind="refused")]),
]

COUNTING = [
    Row("counter_gives_the_last_of_its_values", {}, [Step("counter", 5, "invoices", value="105")],
        lambda s: s.requests[0].path == "/v1/counters/invoices" and s.requests[0].body == {"count": 5}),
    Row("lost_values_are_nobody_s", {"POST": [lost()]}, [Step("counter", 1, "invoices", value="101")],
        lambda s: len(s.requests) == 2),
    Row("counter_that_makes_no_sense_is_refused", {"POST": [grant(status=200, value=3, count=5)]}, [
        Step("counter", 5, "invoices", kind="protocol")]),
    Row("counter_that_is_refused_is_not_repeated", {"POST": [problem(409, "too-many-counters")]}, [
        Step("counter", 1, "invoices", kind="refused")], lambda s: len(s.requests) == 1),
    Row("lock_is_inspected", {"GET": [state(7), state(None)]}, [
        Step("inspect", NAME, value="held 7 worker-7"), Step("inspect", NAME, value="free")]),
    Row("state_of_another_lock_is_refused", {"GET": [state(7, resource=NAME), state(None, resource="orders/43")]}, [
        Step("inspect", NAME, value="held 7 worker-7"), Step("inspect", NAME, kind="protocol")]),
    Row("value_of_another_counter_is_refused", {"POST": [Answer(200, {"name": "orders", "value": 7, "count": 1})]}, [
        Step("counter", 1, "invoices", kind="protocol")]),
]

READING = [
    Row("reader_has_a_seat_and_a_token", {}, [
        rwlock("read", value=f"2 {TOKEN}"), extend(), release()],
        lambda s: s.requests[0].path == "/v1/rwlocks/atlas" and s.requests[0].body["mode"] == "read"
        and {request.path for request in s.requests[1:]} == {"/v1/locks/atlas%232"}),
    Row("writer_is_extended_and_released_by_the_name", {}, [
        rwlock("write", value=str(TOKEN)), extend(), release(), left(0, 0)],
        lambda s: s.requests[0].body["mode"] == "write" and asked(s, "POST", "PATCH", "DELETE")
        and all(map(is_about_writer, s.requests))),
    Row("reader_in_doubt_leaves_no_lock", {"POST": [lost()] * 99}, [rwlock("read", kind="unavailable")],
        lambda s: s.of("DELETE")[0].path == "/v1/rwlocks/atlas"
        or set(s.of("DELETE")[0].body["resources"]) == {f"atlas#{seat}" for seat in range(63)}),
    Row("writer_in_doubt_leaves_no_lock", {"POST": [lost()] * 99}, [rwlock("write", kind="unavailable")],
        lambda s: is_about_writer(s.of("DELETE")[0])),
    *[Row(f"reader_s_seat_{name}_is_refused", {"POST": [grant(resource=resource)]}, [
        rwlock("read", kind="protocol")]) for name, resource in (
            ("63", "atlas#63"), ("of_another_name", "globe#1"), ("that_is_no_number", "atlas#x"), ("that_is_missing", "atlas"))],
    Row("new_grant_of_a_writer_is_told", {"PATCH": [grant(token=9)] * 2}, [  # of the group, and of a name
        rwlock("write"), extend(kind="new-grant")]),
    Row("read_write_lock_is_waited_for", {"POST": [problem(409, "held", resource="atlas", owner="b")]}, [
        Step("rwlock", 3000, LONG, "write", "atlas")],
        lambda s: len(s.of("POST")) == 2 and one_lock_id(s)),
]

CLOSING = [
    Row("delay_goes_along", {}, [Step("delayed", 2000, LONG, NAME), release()],
        lambda s: s.requests[0].body["delay_ms"] == 2000),
    Row("no_delay_is_not_sent", {}, [acquire(), release()], lambda s: "delay_ms" not in s.requests[0].body),
    Row("release_keeps_the_name_closed", {}, [acquire(), Step("keep", 3000, value="true"), left(0, 0)],
        lambda s: [request.path for request in s.of("DELETE")] == [f"/v1/locks/{NAME}?keep_ms=3000"]),
    Row("release_keeps_a_writer_s_name_closed", {}, [rwlock("write"), Step("keep", 3000)],
        lambda s: is_about_writer(s.of("DELETE")[0])
        and (s.of("DELETE")[0].body.get("keep_ms") == 3000 or s.of("DELETE")[0].path.endswith("?keep_ms=3000"))),
    Row("release_keeps_all_names_of_a_group_closed", {}, [acquire(names=THREE), Step("keep", 3000, value="true")],
        lambda s: s.of("DELETE") and all(request.body.get("keep_ms") == 3000 or request.path.endswith("?keep_ms=3000")
                                         for request in s.of("DELETE"))),
    Row("lost_release_keeps_the_name_closed", {"DELETE": [lost()]}, [acquire(), Step("keep", 3000)],
        lambda s: [request.path.partition("?")[2] for request in s.of("DELETE")] == ["keep_ms=3000"] * 2),
    Row("negative_keep_is_refused", {}, [acquire(), Step("keep", -1, kind="invalid"), left(1, LONG), release()],
        lambda s: len(s.of("DELETE")) == 1),
    Row("closed_client_leaves_no_connection", {}, [acquire(), release(), Step("close"), Act(wait_until_left)]),
]

FORKING = [
    Row("child_of_a_fork_holds_and_sends_nothing", {}, [
        acquire(), Step("fork", value="0 forked forked forked"), left(VALIDITY_MS - 3000, VALIDITY_MS), extend(), release()],
        lambda s: asked(s, "POST", "PATCH", "DELETE")),
    Row("child_that_leaves_a_block_releases_nothing", {}, [Step("fork_in_block", NAME, value="0 forked forked forked")],
        lambda s: asked(s, "POST", "DELETE")),
]

EMPTY = Answer(form=lambda data: b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
LIFE = [acquire(value=str(TOKEN)), pause(0.05), extend(), pause(0.05), release()]

PROXIES = [
    *[Row(f"answer_{name}_is_understood", {"form": form}, LIFE, lambda s: asked(s, "POST", "PATCH", "DELETE"))
      for name, form in (("behind_interim_answers", interim), ("of_http_1_0", http_1_0), ("in_chunks", chunked))],
    *[Row(f"connection_that_is_closed_{name}_serves_nothing_more", {"closes": name}, LIFE, one_lock_id)
      for name in ("all", "half")],
    Row("surplus_answer_is_not_the_next_one", {"POST": [Answer(201, grant(ttl_ms=4000, validity_ms=1000).body, form=twice)]}, [
        acquire(), pause(0.05), extend(LONG), left(VALIDITY_MS - SLACK_MS, VALIDITY_MS)],
        lambda s: asked(s, "POST", "PATCH")),
    *[Row(f"redirect_{status}_is_not_followed", {"POST": [redirect(status)]}, [acquire(kind="protocol")],
          lambda s: all(request.path.startswith("/v1/") for request in s.requests), key="pawl_secret")
      for status in (302, 307)],
    Row("answer_that_trickles_ends_in_time", {"POST": [cut([b"HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n", *[b" "] * 999])] * 9}, [
        acquire(kind="unavailable", within=3)], one_lock_id),
    Row("head_that_trickles_ends_in_time", {"POST": [cut([b"HTTP/1.1 201 Created\r\n", *[b"A: b\r\n"] * 999])] * 9}, [
        acquire(kind="unavailable", within=3)], one_lock_id),
    Row("interim_answers_without_end_end_in_time", {"POST": [cut([b"HTTP/1.1 100 Continue\r\n\r\n"])] * 9}, [
        acquire(kind="unavailable", within=3)], one_lock_id),
    Row("grant_whose_body_was_dropped_leaves_no_lock", {"POST": [EMPTY]}, [acquire(kind="protocol")],
        lambda s: s.of("DELETE")[0].headers["lock-id"] == s.of("POST")[0].body["lock_id"]),
    Row("extension_whose_body_was_dropped_moves_nothing", {"POST": [grant(ttl_ms=4000, validity_ms=2000)], "PATCH": [EMPTY]}, [
        acquire(), extend(LONG, kind="protocol"), left(1, 2000)]),
    Row("stop_in_a_wait_does_not_end_it", {"POST": [grant(0.9)]}, [sleep_soon(0.2, 0.3), acquire("-"), release()],
        lambda s: asked(s, "POST", "DELETE"), call_ms=3000),
]

LEAVING = [
    Row("signals_end_no_call", {"POST": [grant(0.8)], "PATCH": [grant(status=200, after=0.6, validity_ms=4000)]}, [
        Step("handle"), signals(1.6), acquire("-"), extend(LONG), release()],
        lambda s: asked(s, "POST", "PATCH", "DELETE"), call_ms=3000),
    Row("work_that_is_cancelled_releases", {}, [Step("leave", NAME, kind="cancelled", within=3)],
        lambda s: s.of("DELETE")[0].headers["lock-id"] == s.of("POST")[0].body["lock_id"]),
    Row("release_that_is_interrupted_is_sent_again", {"DELETE": [lost(1.5)]}, [
        Step("interrupt", NAME, kind="cancelled or ok", within=4)], lambda s: len(s.of("DELETE")) == 2, call_ms=3000),
    Row("program_that_ends_in_a_wait_leaves_no_lock", {"POST": [problem(409, "wait-timeout", 30)] * 9}, [
        Act(lambda driver, servers: driver.ask_and_end("end", NAME))],
        lambda s: s.of("DELETE")[0].headers["lock-id"] == s.of("POST")[0].body["lock_id"]),
    Row("nothing_runs_after_a_release", {"PATCH": [LOST]}, [
        Step("threads"), Act(count_threads), acquire(ttl=600), Step("renew"), Step("stopped"), acquire(ttl=600), Step("renew"),
        pause(0.3), release(), Step("leave", NAME, kind="cancelled or none"), Step("close", kind="ok or none"),
        Act(wait_for_threads)]),
]

ADDRESSES = [
    Row("unix_socket_is_asked", {"at": "unix"}, LIFE),
    Row("ipv6_address_is_asked", {"at": "::1"}, LIFE),
    Row("server_that_dies_is_left_for_the_next", [{}, {}], [acquire(), Act(stop_first), extend(), release()],
        lambda a, b: asked(b, "PATCH", "DELETE") and b.requests[0].headers["lock-id"] == a.requests[0].body["lock_id"]),
]

MORE_RENEWING = [
    Row("renewer_goes_on_for_many_leases", {}, [
        acquire(ttl=600), Step("renew"), pause(3.0), left(100, 600), release()],
        lambda s: len(s.of("PATCH")) >= 9 and {request.body["ttl_ms"] for request in s.of("PATCH")} == {600}),
    Row("renewer_counts_from_its_request", {"PATCH": [grant(status=200, after=0.9, ttl_ms=3000, validity_ms=2940)] * 2}, [
        acquire(ttl=3000), Step("renew"), pause(2.0), left(1, 2300), release()], call_ms=3000),
    Row("renewer_asks_the_next_server", [{}, {}], [
        acquire(ttl=1500), Step("renew"), Act(stop_first), pause(2.0), left(100, 1500), release()],
        lambda a, b: len(b.of("PATCH")) >= 2),
    *[Row(f"renewer_of_a_lock_{name}_asks_for_nothing_more", {"PATCH": [answer] * 9}, [
        acquire(ttl=900), Step("renew"), Step("stopped", least=0, most=900), stays_silent(0.8)])
      for name, answer in (("that_is_lost", LOST), ("with_no_extension_left", problem(409, "extensions-exhausted")),
                           ("that_a_key_may_not_extend", problem(403, "not-allowed")))],
    Row("renewer_extends_all_names_by_one_request", {}, [
        acquire(ttl=900, names=THREE), Step("renew"), pause(1.0), left(100, 900), release()],
        lambda s: len(s.of("PATCH")) >= 2 and s.count <= 8),
    Row("new_grant_with_a_lower_token_is_refused", {"PATCH": [grant(token=TOKEN - 1)]}, [
        acquire(), extend(kind="protocol"), left(1, VALIDITY_MS)]),
]

ROWS = [*PROXIES, *LEAVING, *ADDRESSES, *MORE_RENEWING, *ACQUIRING, *CLOCK, *WAITING, *SERVERS, *EXTENDING, *RELEASING, *RENEWING, *SEATS, *WATCHING, *COUNTING, *READING,
        *CLOSING, *FORKING]

WRONG_SERVERS = [  # the servers, and words of the sentence
    ("comma", "http://127.0.0.1:1,http://127.0.0.1:2", ("comma", "space")),
    ("port_99999", "http://127.0.0.1:99999", ("99999", "65535")),
    ("port_0", "http://127.0.0.1:0", ("65535",)),
    ("scheme", "ftp://127.0.0.1:7380", ("ftp://", "http://127.0.0.1:7380")),
    ("no_scheme", "127.0.0.1:7380", ("http://127.0.0.1:7380",)),
    ("no_host", "http://", ("http://127.0.0.1:7380",)),
    ("query", "http://127.0.0.1:7380?a", ("http://127.0.0.1:7380?a",)),
    ("fragment", "http://127.0.0.1:7380#a", ("http://127.0.0.1:7380#a",)),
    ("unix_relative", "unix:run/pawl.sock", ("absolute", "unix:/PATH")),
    ("unix_empty", "unix:", ("absolute", "unix:/PATH")),
    ("unix_root", "unix:/", ("absolute", "unix:/PATH")),
    ("unix_long", "unix:/" + "0123456789" * 13, ("107",)),
    ("second_is_wrong", "http://127.0.0.1:7380 unix:run", ("'unix:run'",)),
    *[(f"password_{at}", url, ()) for at, url in enumerate((
        "http://user:hunter2@127.0.0.1:1", "https://user:hunter2@[::1", "user:hunter2@host",
        "http://user:hun/ter2hunter2@host", "ftp://user:hunter2@host:x/", "http://127.0.0.1:hunter2@x:99999"))],
]
