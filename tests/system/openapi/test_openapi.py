"""What a real pawld answers is what its OpenAPI document says, and what the document forbids is
refused. The document is held against the code's tables in tests/unit/api/v1/test_openapi.c."""

import binascii
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

import jsonschema

from contract import Contract, ask, follow
from samples import BODIES, VALUES

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "tests/system/client"))
from python_service import PATIENCE, Fleet, Process, free_port, until  # noqa: E402

BIN = os.path.join(os.environ.get("PAWL_BUILD", os.path.join(ROOT, "build")), "bin")
SLOTS = 16384  # as fence/protocol/limits.h has it
LOCK_ID = "AAAAAAAAAAAAAAAAAAAAAAAAAAA"
OTHER_ID = "BBBBBBBBBBBBBBBBBBBBBBBBBBB"


def objects(value):
    """Each object of a document."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            yield from objects(each)


def write(fleet, command):
    """Has each master do this, as somebody might by hand."""
    for port in fleet.ports:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            connection.sendall(f"{command}\r\n".encode())
            reply = connection.recv(100)
            assert reply[:1] in b"+:", reply


def answers(port):
    try:
        return ask(port, "GET", "/livez").status == 200
    except OSError:
        return False


class Pawld:
    """A pawld with these options. ready: it is waited for until it can grant."""

    def __init__(self, case, *options, ready=True):
        self.port = free_port()
        folder = tempfile.TemporaryDirectory(prefix="pawl-test-")
        case.addCleanup(folder.cleanup)
        self.process = Process([os.path.join(BIN, "pawld"), "--listen", f"127.0.0.1:{self.port}",
                                "--workers", "1", *options], os.path.join(folder.name, "log"))
        case.addCleanup(self.process.kill)
        until(lambda: answers(self.port), "pawld")
        if ready:
            until(lambda: ask(self.port, "GET", "/readyz").status == 200, "a ready pawld")
        self.contract = Contract(ask(self.port, "GET", "/openapi.json").body)

    def call(self, status, method, path, body=None, **fields):
        """Asks, and looks at the answer. status: a number, or the name of a problem."""
        answer = ask(self.port, method, path, body, **fields)
        self.contract.look(method, path, answer)
        came = answer.status if isinstance(status, int) else answer.body["type"].split(":")[-1]
        assert came == status, f"{method} {path}: {answer.status} {answer.text}"
        return answer


class Case(unittest.TestCase):
    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="pawl-test-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def pawld(self, *options, **how):
        """One that is a file."""
        return Pawld(self, "--data", os.path.join(self.folder(), "data"), *options, **how)

    def keyed(self, **roles):
        """One with keys, and these: a name=options of `pawl key new` each."""
        file = os.path.join(self.folder(), "keys")
        keys = {}
        for name, options in roles.items():
            made = subprocess.run([os.path.join(BIN, "pawl"), "key", "new", "--id", name, "--file",
                                   file, *options.split()], check=True, timeout=PATIENCE,
                                  stdout=subprocess.PIPE, text=True)
            keys[name] = f"Bearer {made.stdout.strip()}"
        return self.pawld("--keys", file), keys


class TheDocument(Case):
    def test_is_served_to_everybody(self):
        service, _ = self.keyed(admin="--role admin --prefix *")
        answer = service.call(200, "GET", "/openapi.json")
        self.assertEqual(answer.fields["content-type"], "application/json")
        head = ask(service.port, "HEAD", "/openapi.json")
        self.assertEqual((head.status, head.text), (200, ""))
        self.assertEqual(head.fields["content-length"], str(len(answer.text)))
        service.call("invalid", "GET", "/openapi.json?a=1")
        service.call("cross-site", "GET", "/openapi.json", Host="pawl.example.com")

    def test_has_the_version_of_the_program(self):
        version = subprocess.run([os.path.join(BIN, "pawld"), "--version"], check=True,
                                 timeout=PATIENCE, stdout=subprocess.PIPE, text=True).stdout
        document = self.pawld().contract.document
        self.assertEqual(f"pawld {document['info']['version']}\n", version)

    def test_has_schemas_that_are_schemas(self):
        document = self.pawld().contract.document
        schemas = [each["schema"] for each in objects(document) if "schema" in each]
        schemas += document["components"]["schemas"].values()
        self.assertGreater(len(schemas), 100)
        for schema in schemas:
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_has_examples_that_its_schemas_allow(self):
        contract = self.pawld().contract
        pairs = []
        for each in objects(contract.document):
            if "schema" in each and "example" in each:
                pairs.append((each["schema"], each["example"]))
            if isinstance(each.get("examples"), list):
                pairs += [(each, example) for example in each["examples"]]
        self.assertGreater(len(pairs), 8)
        for schema, example in pairs:
            self.assertEqual(contract.errors(schema, example, closed=True), [])


class Answers(Case):
    def take_locks(self, service):
        call = service.call
        call(201, "POST", "/v1/locks/orders/1", {"owner": "worker-7"}, X_Request_Id="a b")
        call(201, "POST", "/v1/locks/orders%2F2", {"lock_id": LOCK_ID})
        call(200, "POST", "/v1/locks/orders/2", {"lock_id": LOCK_ID})
        call("held", "POST", "/v1/locks/orders/1")
        call("wait-timeout", "POST", "/v1/locks/orders/1", {"wait_ms": 1})
        several = {"resources": ["jobs/1", "jobs/2"], "lock_id": OTHER_ID}
        call(201, "POST", "/v1/locks", several)
        call(200, "POST", "/v1/locks", several)
        call("held", "POST", "/v1/locks", {"resources": ["jobs/2", "jobs/3"]})
        call(200, "GET", "/v1/locks/orders/1")
        call(200, "GET", "/v1/locks/nobody")
        page = call(200, "GET", "/v1/locks?limit=1").body
        call(200, "GET", f"/v1/locks?limit=1000&cursor={page['next_cursor']}")
        call("invalid", "GET", "/v1/locks?cursor=x")

    def extend_and_end_locks(self, service):
        call = service.call
        mine = {"Lock_Id": LOCK_ID, "Fencing_Token": call(200, "GET", "/v1/locks/orders/2")
                .body["token"]}
        call(200, "PATCH", "/v1/locks/orders/2", {"ttl_ms": 60000}, **mine)
        call("invalid", "PATCH", "/v1/locks/orders/2", {"ttl_ms": 86400000}, **mine)
        call("extensions-exhausted", "PATCH", "/v1/locks/orders/2", **mine)
        call(200, "DELETE", "/v1/locks/orders/2", Lock_Id=LOCK_ID)
        call(200, "DELETE", "/v1/locks/orders/2", Lock_Id=LOCK_ID)
        token = call(201, "POST", "/v1/locks/orders/2", {"lock_id": LOCK_ID}).body["token"]
        self.assertGreater(token, 1)
        call("lock-lost", "PATCH", "/v1/locks/nobody", Lock_Id=LOCK_ID, Fencing_Token=token)
        call(201, "PATCH", "/v1/locks/orders/2", Lock_Id=LOCK_ID, Fencing_Token=1)
        writer = call(201, "POST", "/v1/rwlocks/half", {"mode": "write"}).body["lock_id"]
        call("writers-seat", "DELETE", "/v1/locks/half%233", Lock_Id=writer)
        call("writers-seat", "DELETE", "/v1/rwlocks/half?seat=3", Lock_Id=writer)
        call(200, "DELETE", "/v1/rwlocks/half", Lock_Id=writer)
        call("token-required", "DELETE", "/v1/locks/orders/2?force=true")
        call("token-mismatch", "DELETE", "/v1/locks/orders/2?force=true", If_Match=f'"{token + 1}"')
        call(200, "DELETE", "/v1/locks/orders/2?force=true", If_Match=f'"{token}"')
        call(200, "DELETE", "/v1/locks/orders/2?force=true", If_Match=f'"{token}"')
        call("lock-broken", "PATCH", "/v1/locks/orders/2", Lock_Id=LOCK_ID, Fencing_Token=token)
        call("invalid", "PATCH", "/v1/locks/orders/2", Fencing_Token=1)
        call("invalid", "PATCH", "/v1/locks/orders/2", Lock_Id=LOCK_ID, Fencing_Token="01")
        call("invalid", "DELETE", "/v1/locks/orders/2")

    def take_seats(self, service):
        call = service.call
        mine = {"permits": 2, "lock_id": LOCK_ID, "owner": "me"}
        grant = call(201, "POST", "/v1/semaphores/seats/all", mine).body
        again = call(200, "POST", "/v1/semaphores/seats/all", mine).body
        self.assertEqual((again["resource"], again["token"]), (grant["resource"], grant["token"]))
        other = call(201, "POST", "/v1/semaphores/seats/all", {"permits": 2}).body
        self.assertEqual({grant["seat"], other["seat"]}, {0, 1})
        self.assertGreater(other["token"], grant["token"])
        call("held", "POST", "/v1/semaphores/seats/all", {"permits": 2})
        call("wait-timeout", "POST", "/v1/semaphores/seats/all", {"permits": 2, "wait_ms": 100})
        call(201, "POST", "/v1/semaphores/seats/all", {"permits": 3})
        seats = call(200, "GET", "/v1/semaphores/seats/all").body
        self.assertEqual([each["seat"] for each in seats["held"]], [0, 1, 2])
        self.assertEqual(seats["held"][grant["seat"]]["token"], grant["token"])
        seat = "/v1/locks/" + urllib.parse.quote(grant["resource"])
        self.assertTrue(call(200, "GET", seat).body["held"])
        call("invalid", "POST", seat)
        held = call(200, "GET", "/v1/locks?prefix=seats/").body["locks"]
        self.assertIn(grant["resource"], [each["resource"] for each in held])
        call(200, "PATCH", seat, Lock_Id=LOCK_ID, Fencing_Token=grant["token"])
        call(200, "DELETE", seat, Lock_Id=LOCK_ID)
        call(201, "POST", "/v1/semaphores/seats/all", {"permits": 2})

    def read_and_write(self, service):
        call, path = service.call, "/v1/rwlocks/shared/all"
        mine = {"mode": "read", "lock_id": LOCK_ID, "owner": "me"}
        reader = call(201, "POST", path, mine).body
        self.assertEqual(call(200, "POST", path, mine).body["token"], reader["token"])
        other = call(201, "POST", path, {"mode": "read"}).body
        self.assertNotEqual(reader["seat"], other["seat"])
        call("held", "POST", path, {"mode": "write"})
        call("wait-timeout", "POST", path, {"mode": "write", "wait_ms": 100})
        shown = call(200, "GET", path).body
        self.assertEqual((shown["mode"], len(shown["readers"])), ("read", 2))
        call(200, "PATCH", path, {"seat": reader["seat"]}, Lock_Id=LOCK_ID,
             Fencing_Token=reader["token"])
        call(200, "DELETE", f"{path}?seat={reader['seat']}", Lock_Id=LOCK_ID)
        call(200, "DELETE", path, Lock_Id=other["lock_id"])
        writer = call(201, "POST", path, {"mode": "write", "lock_id": LOCK_ID}).body
        self.assertGreater(writer["token"], other["token"])
        self.assertEqual(call(200, "GET", path).body["writer"]["token"], writer["token"])
        call("held", "POST", path, {"mode": "read"})
        call(200, "PATCH", path, Lock_Id=LOCK_ID, Fencing_Token=writer["token"])
        call(200, "DELETE", path, Lock_Id=LOCK_ID)
        call("lock-lost", "PATCH", path, Lock_Id=LOCK_ID, Fencing_Token=writer["token"])
        later = call(201, "POST", path, {"mode": "read"}).body
        self.assertGreater(later["token"], writer["token"])
        call(200, "DELETE", path, Lock_Id=later["lock_id"])
        call(201, "POST", path, {"mode": "write", "lock_id": LOCK_ID})
        again = call(201, "PATCH", path, Lock_Id=LOCK_ID, Fencing_Token=1).body
        self.assertGreater(again["token"], later["token"])

    def count(self, service):
        call = service.call
        call(200, "POST", "/v1/counters/orders/2026")
        call(200, "POST", "/v1/counters/invoices", {"count": 100})
        call("too-many-counters", "POST", "/v1/counters/one/more")
        call(200, "GET", "/v1/counters/orders/2026")
        call("no-such-counter", "GET", "/v1/counters/none")
        call(200, "GET", "/v1/counters?limit=1")
        call(200, "GET", "/v1/counters?prefix=orders/")

    def send_a_batch(self, service):
        calls = [{"method": "POST", "path": "/v1/locks/batched", "body": {"ttl_ms": 5000}},
                 {"method": "DELETE", "path": "/v1/locks/batched", "lock_id": LOCK_ID},
                 {"method": "POST", "path": "/v1/locks/batched"}]
        answers = service.call(200, "POST", "/v1/batch", {"requests": calls}).body["responses"]
        self.assertEqual([each["status"] for each in answers], [201, 200, 409])
        service.call("invalid", "POST", "/v1/batch", {"requests": []})

    def keep_several(self, service):
        names = ["kept/1", "kept/2"]
        grants = service.call(201, "POST", "/v1/locks", {"resources": names, "lock_id": LOCK_ID}).body["grants"]
        tokens = [each["token"] for each in grants]
        for method, body in ("PATCH", {"resources": names, "tokens": tokens}), ("DELETE", {"resources": names}):
            answers = service.call(200, method, "/v1/locks", body, Lock_Id=LOCK_ID).body["responses"]
            self.assertEqual([each["status"] for each in answers], [200, 200])
        service.call("invalid", "PATCH", "/v1/locks", {"resources": names, "tokens": tokens})

    def look_at_the_service(self, service):
        for path in "/v1/fleet", "/livez", "/readyz", "/metrics", "/openapi.json", "/", "/story", "/page/shared/dom.js":
            service.call(200, "GET", path, X_Request_Id="id")
            head = ask(service.port, "HEAD", path)
            self.assertEqual((head.status, head.text), (200, ""))

    def follow_events(self, service):
        stream, answer = follow(service.port, "/v1/events?prefix=orders/")
        service.contract.look("GET", "/v1/events", answer)
        service.call(201, "POST", "/v1/locks/orders/9", {"owner": "me"})
        for name in "fleet", "granted":
            lines = [stream.readline().decode().strip() for _ in range(4)]
            self.assertEqual(lines[0], f"event: {name}")
            data = json.loads(lines[1].removeprefix("data: "))
            errors = service.contract.errors({"$ref": "#/components/schemas/Event"}, data, closed=True)
            self.assertEqual(errors, [])
        stream.close()

    def be_refused(self, service):
        call = service.call
        call("cross-site", "POST", "/v1/locks/a", Origin="https://example.com")
        call("too-large", "POST", "/v1/locks/a", " " * 65537)
        call("unsupported-media-type", "POST", "/v1/locks/a", "{}", Content_Type="text/plain")
        call("headers-too-large", "POST", "/v1/locks/a", X="x" * 7000)
        call("invalid", "POST", "/v1/locks/a", "{")
        call("invalid", "GET", "/v1/locks/a?b=c")
        other = ask(service.port, "PUT", "/v1/locks/a", "{}")
        service.contract.look("GET", "/v1/locks/a", other)
        self.assertEqual(set(other.fields["allow"].split(", ")),
                         {each.upper() for path, each, _ in service.contract.operations()
                          if path == "/v1/locks/{resource}"} | {"HEAD"})
        service.contract.look("GET", "/livez", ask(service.port, "GET", "/nowhere"))

    def test_of_every_operation_are_as_documented(self):
        service = self.pawld("--max-extensions", "1", "--max-counters", "2")
        self.take_locks(service)
        self.extend_and_end_locks(service)
        self.take_seats(service)
        self.read_and_write(service)
        self.count(service)
        self.send_a_batch(service)
        self.keep_several(service)
        self.look_at_the_service(service)
        self.follow_events(service)
        self.be_refused(service)
        good = {(operation["operationId"], int(status))
                for _, _, operation in service.contract.operations()
                for status in operation["responses"] if status.startswith("2")}
        self.assertEqual(good - service.contract.seen, set())

    def test_of_a_service_with_keys_are_as_documented(self):
        service, keys = self.keyed(admin="--role admin --prefix *",
                                   locker="--role lock --prefix orders/ --held 1",
                                   reader="--role read --prefix orders/",
                                   slow="--role read --prefix * --rate 1")
        call, as_ = service.call, lambda name: {"Authorization": keys[name]}
        for path, method, operation in service.contract.operations():
            path = path.replace("{resource}", "a").replace("{name}", "a").replace("{file}", "shared/dom.js")
            answer = ask(service.port, method.upper(), path)
            service.contract.look(method, path, answer)
            self.assertEqual(answer.status, 401 if operation["security"] else 200)
        call(201, "POST", "/v1/locks/orders/1", **as_("locker"))
        call("too-many-held", "POST", "/v1/locks/orders/2", **as_("locker"))
        call("not-allowed", "POST", "/v1/locks/jobs/1", **as_("locker"))
        call("not-allowed", "POST", "/v1/locks/orders/1", **as_("reader"))
        call("not-allowed", "GET", "/v1/locks", **as_("reader"))
        for name in "reader", "admin":
            call(200, "GET", "/v1/locks/orders/1", **as_(name))
            call(200, "GET", "/v1/locks?prefix=orders/", **as_(name))
        held = call("held", "POST", "/v1/locks/orders/1", **as_("admin")).body
        self.assertEqual(held["key"], "locker")

        def is_slowed():
            answer = ask(service.port, "GET", "/v1/locks", **as_("slow"))
            return service.contract.look("GET", "/v1/locks", answer).status == 429
        until(is_slowed, "the end of a rate")

    def test_of_a_service_without_room_are_as_documented(self):
        service = self.pawld("--max-waiters", "1")
        service.call(201, "POST", "/v1/locks/a")
        waiter = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        self.addCleanup(waiter.close)
        waiter.request("POST", "/v1/locks/a", '{"wait_ms": 300000}')
        until(lambda: ask(service.port, "GET", "/v1/fleet").body["waiting"] == 1, "a waiter")
        service.call("too-many-waiters", "POST", "/v1/locks/b", {"wait_ms": 1})

    def test_of_keys_that_were_written_by_hand_are_as_documented(self):
        fleet = Fleet()
        self.addCleanup(fleet.end)
        service = Pawld(self, "--probe-ms", "50", *fleet.options())
        call = service.call
        mine = {"lock_id": LOCK_ID}

        def break_lock(problem, name, token):
            call(problem, "DELETE", f"/v1/locks/{name}?force=true", If_Match=f'"{token}"')
        write(fleet, "SET pawl:lock:foreign written PX 60000")
        for method in "POST", "GET", "PATCH", "DELETE":
            call("foreign-lock", method, "/v1/locks/foreign", Lock_Id=LOCK_ID, Fencing_Token=1)
        break_lock("foreign-lock", "foreign", 1)
        call("foreign-lock", "POST", "/v1/locks", {"resources": ["foreign", "a"]})
        token = call(201, "POST", "/v1/locks/endless", mine).body["token"]
        write(fleet, "PERSIST pawl:lock:endless")
        call("no-expiry", "GET", "/v1/locks/endless")
        break_lock("no-expiry", "endless", token)
        token = call(201, "POST", "/v1/locks/counted", mine).body["token"]
        slot = f"pawl:fleet {binascii.crc_hqx(b'counted', 0) % SLOTS}"
        write(fleet, f"HSET {slot} word")
        break_lock("foreign-counter", "counted", token)
        call(200, "DELETE", "/v1/locks/counted", Lock_Id=LOCK_ID)
        call("foreign-counter", "POST", "/v1/locks/counted")
        write(fleet, f"HSET {slot} {2 ** 53 - 1}")
        call("counter-used-up", "POST", "/v1/locks/counted")
        write(fleet, "HSET pawl:fleet n:a word")
        for method in "POST", "GET":
            call("foreign-counter", method, "/v1/counters/a")
        write(fleet, f"HSET pawl:fleet n:a {2 ** 53 - 1}")
        call("counter-used-up", "POST", "/v1/counters/a")

    def test_of_masters_that_went_are_as_documented(self):
        fleet = Fleet()
        self.addCleanup(fleet.end)
        service = Pawld(self, "--probe-ms", "50", *fleet.options())
        call = service.call
        token = call(201, "POST", "/v1/locks/a", {"lock_id": LOCK_ID}).body["token"]
        for process in fleet.processes[1:]:
            process.kill()
        until(lambda: ask(service.port, "GET", "/readyz").status == 503, "an outage")
        for method in "POST", "GET", "PATCH", "DELETE":
            call("no-quorum", method, "/v1/locks/a", Lock_Id=LOCK_ID, Fencing_Token=token)
        call("no-quorum", "DELETE", "/v1/locks/a?force=true", If_Match=f'"{token}"')
        call("no-quorum", "POST", "/v1/locks", {"resources": ["b", "c"]})
        for method, path in (("GET", "/v1/locks"), ("GET", "/v1/counters"),
                             ("GET", "/v1/counters/a"), ("POST", "/v1/counters/a")):
            call("no-quorum", method, path)
        call("not-ready", "GET", "/readyz")
        call(200, "GET", "/v1/fleet")
        call(200, "GET", "/metrics")

    def test_of_masters_that_never_came_are_as_documented(self):
        masters = [word for _ in range(3)
                   for word in ("--master", f"redis://127.0.0.1:{free_port()}")]
        service = Pawld(self, *masters, ready=False)
        call = service.call
        for path, method, operation in service.contract.operations():
            if "503" in operation["responses"] and operation["operationId"] != "events":
                path = path.replace("{resource}", "a").replace("{name}", "a")
                bodies = {"acquire_several": {"resources": ["a", "b"]},
                          "acquire_seat": {"permits": 1}, "acquire_shared": {"mode": "read"}}
                call("not-ready", method.upper(), path, bodies.get(operation["operationId"]),
                     Lock_Id=LOCK_ID, Fencing_Token=1)
        self.assertIsNone(call(200, "GET", "/v1/fleet").body["fleet_id"])


class Requests(Case):
    """What the document allows is not answered 400, and what it forbids is."""

    def setUp(self):
        self.service = self.pawld()
        self.counts = [0, 0]

    def expect(self, method, path, body, fields, errors):
        answer = ask(self.service.port, method, path, body, **fields)
        self.service.contract.look(method, path, answer)
        refused = answer.status == 400
        self.counts[refused] += 1
        with self.subTest(method=method, path=path, body=body, fields=fields, errors=errors):
            self.assertEqual(refused, bool(errors), answer.text)

    def test_have_the_bodies_of_the_document(self):
        mine = {"Lock_Id": LOCK_ID, "Fencing_Token": 1}
        for method, path, bodies in BODIES:
            for i, body in enumerate(bodies):
                named = path.format(f"body/{i}")
                errors = self.service.contract.body_errors(method, named, body)
                self.expect(method, named, json.dumps(body), mine, errors)
        self.assertGreater(min(self.counts), 15)

    def test_have_the_values_of_the_document(self):
        parameters = self.service.contract.document["components"]["parameters"]
        for name, method, path, field, values in VALUES:
            for value in values:
                fields = {"Lock-Id": LOCK_ID, "Fencing-Token": 1, "If-Match": '"1"'}
                if "keep_ms" in path:
                    del fields["If-Match"]  # a release has no condition
                if field:
                    fields[field] = value
                is_encoded = isinstance(value, str) and not field
                plain = urllib.parse.unquote(value) if is_encoded else value
                errors = self.service.contract.errors(parameters[name]["schema"], plain)
                self.expect(method, path.format(value), None, fields, errors)
        self.assertGreater(min(self.counts), 25)


if __name__ == "__main__":
    unittest.main(verbosity=2)
