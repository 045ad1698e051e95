"""Turns the traces of a run of tests/chaos into the actions of the model, one a line (Checker.v).

usage: chaos_actions.py FOLDER

FOLDER is what `chaos_run --traced FOLDER` leaves: what each master did ("masters", written by
tests/chaos/observer.c), the logs of both pawld, and what clients were told ("history").

A machine is one server, by its port. What it did is written from its replies, and from its state
before and after each call. That a server froze the numbers of an attempt stands in its log. The
line goes behind the last of these numbers: the server cannot have frozen them earlier, and no
action that needs it comes earlier. What clients were told comes last.

Some of what happens has no word in the model. Then a history ends, and another one begins where all
members are active and know the same. It knows nothing of the locks and attempts of before, and they
are not judged.
"""
import collections
import json
import re
import sys

MEMBERS = 5
MAJORITY = MEMBERS // 2 + 1
SLOTS = 16384
SOON_MS = 100  # a lock with so little left may expire between the look and the call

# The last line of each script that does a step of a rejoin tells which one it is.
ENDS = (('mark', b"redis.call('HDEL', fleet, 'closed')"), ('record', b'return count_write()'),
        ('read', b'return read_locks(ARGV[7], ARGV[8])'), ('install', b'merge_locks(page)'),
        ('admit', b"'next', 'progress', 'init', 'intact', 'doubt', 'closed')"),
        ('restamp', b"HSET', fleet, 'unswept', '0') -- the cursor"))


class Left(Exception):
    """What has no word in the model: the rest is not judged."""


# ---- what was written -----------------------------------------------------------------------------

class Error(bytes):
    """An error of Redis."""


def value_at(data, at):
    """A value of Redis' protocol, and where it ends."""
    end = data.index(b'\r\n', at)
    kind, text, at = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b':':
        return int(text), at
    if kind == b'+':
        return text, at
    if kind == b'-':
        return Error(text), at
    count = int(text)
    if count < 0:
        return None, at
    if kind == b'$':
        return data[at:at + count], at + count + 2
    items = []
    for _ in range(count):
        item, at = value_at(data, at)
        items.append(item)
    return items, at


Record = collections.namedtuple('Record', 'member port call before reply after')


def records_of(path, looks):
    """The records of a file, with the looks or without them."""
    with open(path, 'rb') as file:
        while head := file.readline():
            member, port, *lens = map(int, head.split())
            call, before, reply, after = map(file.read, lens)
            yield Record(member, port, value_at(call, 0)[0], look_in(before) if looks else None,
                         value_at(reply, 0)[0] if reply else None, look_in(after) if looks else None)


def look_in(text):
    """None: the server has gone, or it answered nothing sensible."""
    return Look(json.loads(text[text.index(b'\r\n'):])) if text[:1] == b'$' else None


def unpack(data, at=0):
    """An array of MessagePack, of texts and small numbers (storage/redis/lua/read.lua)."""
    kind, at = data[at], at + 1
    if kind >> 4 == 9 or kind in (0xdc, 0xdd):
        size = {0xdc: 2, 0xdd: 4}.get(kind, 0)
        count = int.from_bytes(data[at:at + size], 'big') if size else kind & 15
        items, at = [], at + size
        for _ in range(count):
            item, at = unpack(data, at)
            items.append(item)
        return items, at
    if kind >> 5 == 5 or kind in (0xd9, 0xda, 0xdb):
        size = {0xd9: 1, 0xda: 2, 0xdb: 4}.get(kind, 0)
        count = int.from_bytes(data[at:at + size], 'big') if size else kind & 31
        return data[at + size:at + size + count], at + size + count
    if kind < 0x80:
        return kind, at
    size = {0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8}[kind]
    return int.from_bytes(data[at:at + size], 'big'), at + size


FROZEN = re.compile(r': ([\d ]+) are frozen, token \d+, attempt (\d+)$')


def frozen_sets(folder):
    """The masters of each attempt that was frozen."""
    sets = {}
    for i in (1, 2):
        with open(f'{folder}/pawld-{i}.log', encoding='utf-8', errors='replace') as log:
            for line in log:
                if found := FROZEN.search(line):
                    sets[int(found[2])] = [int(m) - 1 for m in found[1].split()]
    return sets


# ---- a call of the requests script ----------------------------------------------------------------

Request = collections.namedtuple('Request', 'letter keys args reply')
ARGUMENTS = {'T': 4, 'N': 5, 'F': 6, 'W': 7, 'C': 4, 'E': 5, 'A': 2, 'J': 7, 'R': 1, 'S': 1, 'L': 3, 'M': 3, 'U': 1,
             'I': 0, 'K': 3, 'B': 5}
GROUPS = {'G': (5, 2), 'H': (3, 2), 'V': (2, 0)}  # arguments, and for each lock


def requests_of(keys, args, replies):
    """The requests that a call carries (storage/redis/lua/requests.lua)."""
    at, key, shared = 0, 0, []
    for reply in replies[:-1]:
        letter = args[at].decode()
        locks = 1
        if letter in ARGUMENTS:
            count = ARGUMENTS[letter]
        else:
            locks = int(args[at + 1])
            count = GROUPS[letter][0] + GROUPS[letter][1] * locks
        mine = args[at + 1:at + 1 + count]
        if letter == 'E':
            shared = mine[:-2]
        elif letter == 'A':  # an extension with the same lock id, lease and cap as the one before it
            letter, mine = 'E', shared + mine
        yield Request(letter, keys[key:key + locks], mine, reply)
        at += 1 + count
        key += locks


# ---- a machine as it is, and as the model was told -------------------------------------------------

Lock = collections.namedtuple('Lock', 'id number imported left tag')
LOCK = re.compile(r'(?s)(?:@\d+@\d+@)?([^.:]+)\.?([^:]*):(\d+):\d+:(\d*):')


def lock_of(value, left):
    """None: nobody's, or not written by Pawl."""
    found = LOCK.match(value)
    if not found or found[1] == '~':
        return None
    return Lock(found[1].encode(), int(found[3]), value[:1] == '@' or found[4] != '', left, found[2].encode())


class Look:
    """The state of a server."""

    def __init__(self, look):
        marker, role, lineage, durable, locks = look
        self.fleet = marker if isinstance(marker, dict) else {}
        self.state = self.fleet.get('state')
        if self.state not in ('active', 'joining'):
            self.state = 'out'
        self.next = int(self.fleet.get('next', 0)) if self.state == 'joining' else 0
        self.view = [int(i) for i in self.fleet.get('view', '').split(',') if i]
        self.strayed = self.state != 'out' and (
            role != 'master' or lineage != self.fleet.get('lineage') or
            (self.fleet.get('durable') == 'yes' and durable != '1'))
        self.locks = {key.encode(): lock_of(value, left) for key, value, left in locks}

    def counter(self, field):
        return max(int(self.fleet.get(field, 0)), int(self.fleet.get('floor', 0)))


class Machine:
    """What the model was told of it."""

    def __init__(self, member, index):
        self.member, self.index = member, index
        self.state = 'active' if index == 0 else 'out'
        self.next, self.lineage = 0, 'kept'
        self.view, self.counters, self.locks = None, {}, {}
        self.hidden = set()  # resources whose lock the model was not told of
        self.installed = collections.defaultdict(set)  # slots, by source and leader


class Try:
    """An attempt."""

    def __init__(self, name, lock_id, what):
        self.name, self.lock_id, self.what = name, lock_id, what
        self.answers, self.frozen, self.confirmed, self.granted = {}, None, set(), False


Read = collections.namedtuple('Read', 'source target view page blob')


# ---- the run --------------------------------------------------------------------------------------

class History:
    """What the checker was told in one history."""

    def __init__(self, first):
        self.first = first  # the view that it begins with
        self.machines = {}
        self.tries = {}
        self.rounds, self.reads = {}, []
        self.agreed, self.values = {}, collections.defaultdict(list)
        self.lines = []


class Run:
    """All of a run, history by history."""

    def __init__(self, folder):
        self.folder = folder
        self.frozen_sets = frozen_sets(folder)
        self.names, self.slots, self.slot_of = {}, {}, []  # resources by key, slots by field
        self.ids, self.owners = {}, collections.defaultdict(set)
        self.targets = collections.defaultdict(set)  # of rejoins, by source and view
        self.histories, self.now = [], None
        self.latest = {}  # the last look at each server
        self.seen_attempts, self.seen_ids = set(), set()
        self.old_attempts, self.old_ids = set(), set()  # begun before this history, or not judged
        self.released = set()
        self.judged, self.records, self.grants = 0, 0, 0
        self.gaps = False  # requests that are not judged
        # The masters that counted so many values up to a number, by what they were named.
        self.counters_of = collections.defaultdict(lambda: collections.defaultdict(set))

    def __getattr__(self, name):
        return getattr(self.__dict__['now'], name)

    # -- lines --

    def line(self, *parts):
        self.now.lines.append(' '.join(map(str, parts)))

    @staticmethod
    def listed(numbers):
        """A list of numbers, without the zeros at its end."""
        numbers = list(numbers)
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return ' '.join(map(str, [len(numbers), *numbers]))

    def by_resource(self, numbers):
        size = max(numbers, default=-1) + 1
        return self.listed(numbers.get(r, 0) for r in range(size))

    def counters(self, machine):
        return self.listed(machine.counters.get(s, 0) for s in range(len(self.slots)))

    def view(self, view):
        named = [max(i - first, 0) for i, first in zip(view, self.first)]
        return ' '.join(map(str, [len(named), *named]))

    @staticmethod
    def place(machine):
        return f'{machine.member} {machine.index}'

    # -- names --

    def slot(self, field):
        return self.slots.setdefault(field.decode(), len(self.slots))

    def resource(self, key, field):
        if key not in self.names:
            self.names[key] = len(self.names)
            self.slot_of.append(self.slot(field))
        return self.names[key]

    def id(self, lock_id):
        return self.ids.setdefault(lock_id, len(self.ids))

    def learn(self, record):
        """The names, the counters and the owners of a call."""
        call = record.call
        if call[0].upper() == b'EVAL':
            if step_of(call) == 'read':
                view, _, _, target = call[4:8]
                self.targets[record.port, view].add(int(target) - 1)
        elif isinstance(record.reply, list):
            keys, args = parts_of(call)
            view = tuple(numbers_of(call[3 + 1 + len(keys)])) if keys else ()
            for request in requests_of(keys, args, record.reply):
                self.learn_request(request)
                if request.letter == 'K' and isinstance(request.reply, int):
                    self.counters_of[request.keys[0], int(request.args[0]), request.reply][view].add(record.member)

    def learn_request(self, request):
        letter, args = request.letter, request.args
        if letter in 'TNFWC':
            self.resource(request.keys[0], args[1])
        elif letter in 'JE':
            self.resource(request.keys[0], args[4])
        elif letter == 'K':
            self.resource(b'n:' + request.keys[0], counter_of(request.keys[0]))
        elif letter in 'GH':
            each = args[5 if letter == 'G' else 3:]
            for k, key in enumerate(request.keys):
                self.resource(key, each[2 * k])
        if letter in 'TNFW':
            self.owners[args[3]].add(args[0].split(b'.')[0])
        elif letter == 'G':
            self.owners[args[4]].add(args[2].split(b'.')[0])

    # -- machines --

    def machine(self, record):
        if record.port not in self.machines:
            index = sum(m.member == record.member for m in self.machines.values())
            made = Machine(record.member, index)
            made.view = list(self.first)
            self.machines[record.port] = made
        return self.machines[record.port]

    def lost_nothing(self, machine, look):
        if (machine.state, machine.next) != (look.state, look.next):
            return False
        if any(machine.counters.get(s, 0) != look.counter(field) for field, s in self.slots.items()):
            return False
        if look.state != 'active':
            return True
        return machine.view == look.view and all(
            not lock or key not in self.names or self.names[key] in machine.hidden or
            same(machine.locks.get(self.names[key]), lock)
            for key, lock in look.locks.items())

    def fall(self, machine, look):
        machine.state, machine.next, machine.view = look.state, look.next, look.view
        machine.lineage = 'changed' if look.strayed else 'kept'
        machine.counters = {s: look.counter(field) for field, s in self.slots.items()}
        machine.locks = {}
        machine.hidden = set()
        if look.state == 'active':
            machine.locks = {self.names[key]: lock for key, lock in look.locks.items()
                             if lock and key in self.names}
        size = max(machine.locks, default=-1) + 1
        locks = [machine.locks.get(r) for r in range(size)]
        self.line('fall', self.place(machine), ('out', 'joining', 'active').index(machine.state),
                  max(machine.next - self.first[machine.member], 0),
                  ('kept', 'restarted', 'changed').index(machine.lineage),
                  self.view(machine.view or [0] * MEMBERS), self.counters(machine), size,
                  *(f'{self.id(lock.id) + 1} {lock.number}' if lock else '0 0' for lock in locks))

    def vanish(self, machine, r):
        self.line('vanish', self.place(machine), r)
        machine.locks[r] = None

    def before(self, machine, look, looked):
        """What happened to the machine since it was looked at last."""
        if not self.lost_nothing(machine, look):
            self.fall(machine, look)
            return
        for key in looked:
            r = self.names.get(key)
            if look.locks.get(key):
                continue
            machine.hidden.discard(r)
            if machine.locks.get(r):
                self.vanish(machine, r)
        if look.strayed and machine.lineage == 'kept':
            machine.lineage = 'restarted'
            self.line('restart', self.place(machine))

    def rest(self, machine, look, looked):
        """Changes that are not explained yet. The checker refuses what no rule explains."""
        for key in looked:
            r, lock = self.names.get(key), look.locks.get(key)
            if not lock:
                machine.hidden.discard(r)
            if r is None or r in machine.hidden:
                continue
            if machine.locks.get(r) and not lock:
                self.vanish(machine, r)
            elif lock and not same(machine.locks.get(r), lock):
                self.line('has', self.place(machine), r, self.id(lock.id), lock.number)
        counters = {s: look.counter(field) for field, s in self.slots.items()}
        if any(machine.counters.get(s, 0) != n for s, n in counters.items()):
            machine.counters = counters
            self.line('rise', self.place(machine), self.counters(machine))

    def trust(self, machine):
        self.line('trust', self.place(machine))
        machine.lineage = 'kept'

    def hear(self, machine, view):
        """A script under @view was accepted."""
        if machine.lineage == 'restarted':  # it lost nothing, and the code saw that
            self.trust(machine)
        if machine.view != view:
            self.line('hear', self.place(machine), self.view(view))
            machine.view = view

    # -- attempts --

    def attempt(self, tag, what):
        lock_id, attempt = tag.split(b'.')
        key = int(attempt, 16)
        if key not in self.tries:
            made = self.tries[key] = Try(len(self.tries), lock_id, what)
            self.line('start', made.name, self.id(lock_id), len(what), *what)
        return self.tries[key]

    def take(self, machine, look, tag, what, keys, numbers, view):
        lock_id, number = tag.split(b'.')[0], int(tag.split(b'.')[1], 16)
        machine.hidden -= {r for r, key in zip(what, keys) if key in self.released or not look.locks.get(key)}
        if number in self.old_attempts or machine.hidden.intersection(what):
            self.leave_out(number, lock_id)
            self.hide(machine, what)
            return
        attempt = self.attempt(tag, what)
        for r, key, number in zip(what, keys, numbers):
            had, was = machine.locks.get(r), look.locks.get(key)
            ended = key in self.released or (was and was.left <= SOON_MS)
            if had and (had.id, had.number) != (attempt.lock_id, number) and ended:
                self.vanish(machine, r)
            machine.locks[r] = Lock(attempt.lock_id, number, False, 0, b'')
            slot = self.slot_of[r]
            machine.counters[slot] = max(machine.counters.get(slot, 0), number)
        answer = dict(zip(what, numbers))
        self.line('take', attempt.name, self.place(machine), self.view(view), self.by_resource(answer),
                  self.counters(machine))
        attempt.answers.setdefault(machine.member, answer)
        self.freeze(int(tag.split(b'.')[1], 16), attempt)

    def freeze(self, number, attempt):
        masters = self.frozen_sets.get(number)
        if attempt.frozen or not masters or number in self.old_attempts:
            return
        if any(m not in attempt.answers for m in masters):
            return
        attempt.frozen = masters
        answers = [attempt.answers[m] for m in masters]
        self.line('freeze', attempt.name, len(masters),
                  *(f'{m} {self.by_resource(a)}' for m, a in zip(masters, answers)))
        if all(a == answers[0] for a in answers):
            self.grant(attempt)

    def tokens(self, attempt):
        return {r: max(attempt.answers[m][r] for m in attempt.frozen) for r in attempt.what}

    def grant(self, attempt):
        attempt.granted = True
        tokens = self.tokens(attempt)
        self.line('grant', attempt.name, self.by_resource(tokens))
        for r, token in tokens.items():
            self.agreed.setdefault((r, token), set()).add(attempt.lock_id)

    def leave_out(self, number, lock_id):
        self.old_attempts.add(number)
        self.old_ids.add(lock_id)

    def hide(self, machine, what):
        """From now on the model has not the locks that an attempt left which is not judged."""
        for r in what:
            if machine.locks.get(r):
                self.vanish(machine, r)
            machine.hidden.add(r)

    def confirm(self, machine, tag, what, tokens, view):
        if int(tag.split(b'.')[1], 16) in self.old_attempts:
            self.hide(machine, what)
            return
        attempt = self.attempt(tag, what)
        for r, token in zip(what, tokens):
            lock = machine.locks.get(r)
            if lock:
                machine.locks[r] = lock._replace(number=token)
            slot = self.slot_of[r]
            machine.counters[slot] = max(machine.counters.get(slot, 0), token)
        self.line('confirm', attempt.name, self.place(machine), self.view(view),
                  self.by_resource(dict(zip(what, tokens))), self.counters(machine))
        attempt.confirmed.add(machine.member)
        if attempt.frozen and not attempt.granted and len(attempt.confirmed) >= MAJORITY:
            self.grant(attempt)

    # -- requests --

    def request(self, machine, before, after, request, view):
        letter, args, reply, keys = request.letter, request.args, request.reply, request.keys
        if letter in 'TNFW':
            number = reply if isinstance(reply, int) else numbers_in(reply)
            if number:
                numbers = [number] if isinstance(number, int) else number
                self.take(machine, before, args[0], [self.names[keys[0]]], keys, numbers, view)
        elif letter == 'G' and numbers_in(reply):
            count = len(keys) - (b'g' in args[1])
            what = [self.names[key] for key in keys[:count]]
            self.take(machine, before, args[2], what, keys, numbers_in(reply)[:count], view)
        elif letter == 'C' and reply == 1:
            self.confirm(machine, args[0], [self.names[keys[0]]], [int(args[2])], view)
        elif letter == 'H' and reply == 1:
            self.confirm(machine, args[2], [self.names[key] for key in keys],
                         [int(token) for token in args[4::2]], view)
        elif letter in 'RSLMUV' and reply:
            self.released.update(keys)
        elif letter == 'J':
            self.joined(machine, after, keys[0], args)
        elif letter == 'K' and isinstance(reply, int):
            self.count(machine, keys[0], int(args[0]), reply, view)

    def joined(self, machine, after, key, args):
        """An extension that found no lock has left its own under the tag of its round."""
        lock, r = after.locks.get(key), self.names[key]
        lock_id, tag = args[0].split(b'.')
        if not lock or (lock.id, lock.tag) != (lock_id, tag):
            return
        if lock_id not in self.agreed.get((r, int(args[3])), ()):
            if lock_id in self.old_ids:  # under a grant that is not judged
                self.hide(machine, [r])
                return
        had = machine.locks.get(r)
        if had and had.id == lock_id:
            self.vanish(machine, r)
        token = int(args[3])
        self.line('join', self.id(lock_id), r, token, self.place(machine), self.view(machine.view))
        machine.locks[r] = lock
        machine.counters[self.slot_of[r]] = token

    def count(self, machine, key, values, number, view):
        r = self.names[b'n:' + key]
        name = key, values, number
        if not is_one_round(self.counters_of[name]):
            name += (tuple(view),)
        if name not in self.rounds:
            self.rounds[name] = (len(self.rounds), set())
            self.line('begin-count', self.rounds[name][0], r, values)
        index, members = self.rounds[name]
        machine.counters[self.slot_of[r]] = number
        self.line('count', index, self.place(machine), self.view(view), number)
        had = len(members)
        members.add(machine.member)
        if had < MAJORITY == len(members):
            self.line('agree', index, number)
            self.values[r].append((number, values))

    # -- rejoins --

    def leader(self, view, target):
        return f'{self.view(view)} {target}'

    def record(self, machine, port, args):
        view = numbers_of(args[0])
        targets = self.targets.get((port, args[0]), ())
        for target in targets:
            self.line('record', self.place(machine), self.leader(view, target))
            machine.view = view

    def read(self, machine, look, args, reply):
        """A page of counters. Where the scan of named counters begins, those that are absent are 0."""
        if args[5] != b'counters' or not isinstance(reply, list):
            return
        first, count, blob = int(args[6]), int(args[7]), reply[1]
        page = {}
        if first < SLOTS:
            page = {s: 0 for field, s in self.slots.items()
                    if not field.startswith('n:') and first <= int(field) < min(first + count, SLOTS)}
        elif first == SLOTS:
            page = {s: 0 for field, s in self.slots.items()
                    if field.startswith('n:') and field not in look.fleet}
        if blob:
            fields = unpack(blob)[0][2:]
            for field, number in zip(fields[::2], fields[1::2]):
                if field.decode() in self.slots:
                    page[self.slots[field.decode()]] = int(number)
        target = int(args[3]) - 1
        read = Read(machine.member, target, tuple(numbers_of(args[0])), tuple(page.items()), blob)
        self.reads.append(read)
        self.line('read', self.place(machine), self.leader(read.view, target), self.pairs(read.page))

    @staticmethod
    def pairs(page):
        return ' '.join(map(str, [len(page), *(n for pair in page for n in pair)]))

    def install_page(self, machine, read):
        machine.installed[read.source, read.view].update(s for s, _ in read.page)
        for s, n in read.page:
            machine.counters[s] = max(machine.counters.get(s, 0), n)
        self.line('install', self.place(machine), read.source, self.leader(read.view, read.target),
                  self.pairs(read.page))

    def reads_for(self, machine):
        return [read for read in reversed(self.reads)
                if read.target == machine.member and read.view[machine.member] == machine.next]

    def install(self, machine, look, args, reply):
        if reply != 1 or not args[3] or look.fleet.get('progress', '0').encode() != args[4]:
            return  # a page of locks shows when the machine is admitted; a copy does nothing
        source = int(args[1]).bit_length() - 1
        if unpack(args[3])[0][0] != b'counters':
            return
        for read in self.reads_for(machine):
            if read.source == source and read.blob == args[3]:
                self.install_page(machine, read)
                return
        self.line('install', self.place(machine), source, self.leader([0] * MEMBERS, machine.member), 0)

    def admit(self, machine, look, reply):
        if reply != 1:
            return
        for read in self.reads_for(machine):  # a page of zeros is not sent
            if all(n == 0 for _, n in read.page) and \
                    not machine.installed[read.source, read.view].issuperset(s for s, _ in read.page):
                self.install_page(machine, read)
        sources = collections.defaultdict(list)
        for (source, view), slots in machine.installed.items():
            if len(slots) == len(self.slots) and view[machine.member] == machine.next:
                sources[view].append(source)
        best = max(sources, key=lambda v: len(sources[v]), default=None)
        read = {source: best for source in sources[best]} if best else {}
        if len(read) < MAJORITY:  # one master alone may have been named more
            read = {source: view for view, members in sources.items() for source in members} | read
        machine.locks = {}
        for key, lock in look.locks.items():
            if lock and key in self.names:
                r = self.names[key]
                machine.locks[r] = lock
                self.line('lock', self.place(machine), r, self.id(lock.id), lock.number, int(lock.imported))
        self.line('admit', self.place(machine), len(read),
                  *(f'{source} {self.leader(view, machine.member)}' for source, view in read.items()),
                  self.view(look.view))
        machine.state, machine.next, machine.view = 'active', 0, look.view
        machine.installed.clear()

    def restamp(self, machine, reply):
        if reply != 1:
            return
        if machine.state == 'joining':
            raise Left('a master is trusted half-way through an import')
        if machine.lineage != 'kept':
            self.trust(machine)

    def mark(self, machine, args, reply):
        if reply != 1:
            return
        machine.state, machine.next, machine.lineage = 'joining', int(args[13]), 'kept'
        machine.locks, machine.hidden = {}, set()
        machine.installed.clear()
        self.line('mark', self.place(machine), machine.next - self.first[machine.member])

    def step(self, machine, record, before, after):
        step, args, reply = step_of(record.call), record.call[4:], record.reply
        accepted = isinstance(reply, list) if step == 'read' else reply in (1,) or step == 'record'
        if machine.lineage == 'restarted' and step in ('record', 'read', 'install', 'admit') and accepted and \
                not isinstance(reply, Error):
            self.trust(machine)
        if step == 'mark':
            self.mark(machine, args, reply)
        elif step == 'record' and isinstance(reply, int):
            self.record(machine, record.port, args)
        elif step == 'read':
            self.read(machine, before, args, reply)
        elif step == 'install':
            self.install(machine, before, args, reply)
        elif step == 'admit':
            self.admit(machine, after, reply)
        elif step == 'restamp':
            self.restamp(machine, reply)

    # -- all --

    def is_hidden(self, machine, record):
        """A machine of before this history: no attempt of it can count. A mark makes it another one."""
        look = record.before
        if machine.state != 'out' or look.state == 'out' or step_of(record.call) == 'mark':
            return False
        return (look.view + [0] * MEMBERS)[machine.member] < self.first[machine.member]

    def play(self, record):
        before, after = record.before, record.after
        machine = self.machine(record)
        if self.is_hidden(machine, record):
            return
        script = record.call[0].upper() == b'EVAL'
        keys, args = parts_of(record.call) if not script else ((), ())
        looked = set(before.locks) | set(keys)
        if machine.state != 'out' or step_of(record.call) != 'mark':
            self.before(machine, before, looked)
        if script:
            self.step(machine, record, before, after)
        elif isinstance(record.reply, list) and keys:
            view = numbers_of(record.call[3 + 1 + len(keys)])
            self.hear(machine, view)
            self.released = set()
            for request in requests_of(keys, args, record.reply):
                self.request(machine, before, after, request, view)
        if after.state == 'active' and machine.state == 'active' and machine.view != after.view:
            self.hear(machine, after.view)
        # A lock that the call does not name is not missed. A clock that is set back may bring it back to life.
        self.rest(machine, after, set(after.locks) | set(keys) if machine.state == 'active' else ())

    def see(self, record):
        """Attempts and lock ids of a call, whether it is judged or not."""
        if record.call[0].upper() == b'EVAL' or not isinstance(record.reply, list):
            return
        for request in requests_of(*parts_of(record.call), record.reply):
            tag = request.args[2] if request.letter in 'GH' else request.args[0] if request.letter in 'TNFWCJE' else b''
            self.seen_ids.add(tag.split(b'.')[0])
            if b'.' in tag:
                self.seen_attempts.add(int(tag.split(b'.')[1], 16))

    def begin(self):
        """Begins a history, if all members are active and know the same."""
        newest = {}
        for port, (member, look) in self.latest.items():
            if look.state == 'joining':
                return
            if look.state == 'active' and not look.strayed and \
                    (member not in newest or look.view[member] > newest[member][1].view[member]):
                newest[member] = port, look
        views = {tuple(look.view) for _, look in newest.values()}
        if len(newest) < MEMBERS or len(views) != 1:
            return
        self.old_attempts |= self.seen_attempts
        self.old_ids |= self.seen_ids
        self.now = History(list(views.pop()))
        self.histories.append(self.now)
        self.line('history', len(self.histories) - 1, MEMBERS, len(self.slot_of), *self.slot_of)
        for member, (port, look) in newest.items():
            machine = self.machines[port] = Machine(member, 0)
            machine.view = look.view
            machine.counters = {s: look.counter(field) for field, s in self.slots.items()}
            machine.hidden = set(self.names.values())
            self.line('rise', self.place(machine), self.counters(machine))

    def tell_grant(self, r, token, ids):
        """A client was told a token. None of its lock ids was granted that: the checker refuses it."""
        for self.now in self.histories:
            granted = ids & self.agreed.get((r, token), set())
            if granted or (self.now is self.histories[-1] and not self.gaps and not ids & self.old_ids):
                self.line('told', self.id(min(granted or ids or {b''})), r, token)
                return

    def tell_values(self, r, last, values):
        for self.now in self.histories:
            agreed = any(last <= n and n + values <= last + counted and (values > 0 or counted == 0)
                         for n, counted in self.values[r])
            if agreed or (self.now is self.histories[-1] and not self.gaps):
                self.line('told-values', r, last, values)
                return

    def told(self):
        """What clients were told (tests/chaos/history.h)."""
        with open(f'{self.folder}/history', encoding='utf-8') as file:
            for line in file:
                part = line.split()
                if len(part) != 12 or part[9] not in ('200', '201') or part[0] not in TELLS:
                    continue
                kind, name, client, turn, names, token = (part[k] for k in (0, 1, 2, 3, 5, 10))
                if kind == 'count':
                    self.tell_values(self.names[b'n:pawl:lock:chaos/' + name.encode()], int(token), int(names))
                else:
                    self.tell_grant(self.names[b'pawl:lock:accounts/' + name.encode()], int(token),
                                    self.owners[f'{client}.{turn}'.encode()])

    def write(self):
        masters = f'{self.folder}/masters'
        for record in records_of(masters, looks=False):
            self.learn(record)
        for record in records_of(masters, looks=True):
            if record.before is None or record.after is None:
                continue
            self.records += 1
            if self.now:
                try:
                    self.play(record)
                    self.judged += 1
                except Left as left:
                    print(f'record {self.records}: {left}', file=sys.stderr)
                    self.now = None
            if not self.now and record.call[0].upper() == b'EVALSHA' and record.call[2] != b'1':
                self.gaps = True
            self.see(record)
            self.latest[record.port] = record.member, record.after
            if not self.now:
                self.begin()
        self.told()
        for history in self.histories:
            print('\n'.join(history.lines))
            self.grants += sum(attempt.granted for attempt in history.tries.values())
        print(f'{len(self.histories)} histories, {self.judged} of {self.records} calls, {self.grants} grants',
              file=sys.stderr)
        if 2 * self.judged < self.records:
            sys.exit('shown nothing: most calls are not judged')


TELLS = ('acquire', 'extend', 'count')


def same(a, b):
    return bool(a) and bool(b) and (a.id, a.number) == (b.id, b.number)


def is_one_round(counted):
    """Reports whether those that counted alike, by what they were named, may be of one round: no
    view has a majority of its own, and one master alone was named more (Views.v, fair)."""
    if any(len(masters) >= MAJORITY for masters in counted.values()):
        return False
    named = {master: view for view, masters in counted.items() for master in masters}
    least = [min(incarnations) for incarnations in zip(*named.values())]
    return all(sum(view[m] != least[m] for view in named.values()) <= (0 if m in named else 1)
               for m in range(MEMBERS))


def numbers_of(view):
    return [int(i) for i in view.split(b',')]


def numbers_in(reply):
    """The numbers of a take that found its lock, or of a group; None where another holds it."""
    if isinstance(reply, list) and len(reply) > 2 and isinstance(reply[1], int):
        return reply[2:]
    return None


def counter_of(key):
    return b'n:' + key[len(b'pawl:lock:'):]


def parts_of(call):
    """The keys of the locks, and the arguments of the requests."""
    count = int(call[2])
    return call[4:3 + count], call[3 + count + 3:]


def step_of(call):
    return next((name for name, end in ENDS if end in call[1]), None)


if __name__ == '__main__':
    Run(sys.argv[1]).write()
