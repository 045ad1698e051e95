"""A holder of locks that forks, for test_forks.py. usage: holder.py threads|asyncio KIND DIRECT_URL

For each line "MOMENT NAME" on its input it gets to that moment, with a client of PAWL_SERVER. It
forks at the line "now", prints "child OUTCOME" once the child has ended, goes on at the line "end",
and prints "parent OUTCOME". An outcome is "ok", or what went wrong. In each second round the child
does nothing but end. Otherwise it makes each call, and uses a client of its own at DIRECT_URL."""

import asyncio
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["PAWL_CLIENTS"], "python"))
import pawl  # noqa: E402

TTL = 30.0
DUE = TTL * 2 / 3 - 0.5  # an extension is due with so little left
CHILD_SECONDS = float(os.environ["PAWL_FORKS_SECONDS"])
EXTENDED_SECONDS = 10.0
CALL_SECONDS = 20  # a child is waited for in the middle of one
LATE = "the child did not end in time"


def read_line() -> str:
    """Byte by byte: a child that reads on gets all that was not read."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            os._exit(0)
        line += byte
    return line.decode().strip()


def tell(who: str, failures):
    os.write(1, f"{who} {'; '.join(failures) or 'ok'}\n".encode())


def refusal_of(what: str, call):
    """What is wrong with how @call is refused; None: nothing."""
    try:
        call()
    except pawl.Error as error:
        if type(error).__name__ == "Forked" and "new client" in str(error):
            return None
        return f"{what} raised {type(error).__name__}"
    except Exception as error:
        return f"{what} raised {type(error).__name__}"
    return f"{what} went through"


def try_new_client(url: str, name: str):
    try:
        with pawl.Client(url).lock(f"{name}/{os.getpid()}", ttl=5, wait=0) as lock:
            lock.check()
    except Exception as error:
        return f"a new client: {error}"
    return None


def run_all(coroutine):
    """Runs a coroutine that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits")


def failures_of_child(client, lock, url, name):
    """Makes all calls. @lock may be an AsyncLock, or None."""
    run = run_all if isinstance(lock, pawl.AsyncLock) else lambda result: result
    found = [refusal_of("acquire", lambda: client.acquire(f"{name}/x", ttl=5, wait=0))]
    if lock is not None:
        found += [
            "it is held" if lock.held or lock.left() > 0 else None,
            None if lock.must_stop.wait(0.5) else "must_stop is not set",
            refusal_of("check", lock.check),
            refusal_of("extend", lambda: run(lock.extend())),
            refusal_of("renew", lambda: lock.renew()),
            refusal_of("release", lambda: run(lock.release())),
        ]
    found.append(try_new_client(url, name))
    return [failure for failure in found if failure]


class Report:
    """A pipe for what children find, and the wait for their end."""

    def __init__(self):
        self.reader, self.writer = os.pipe()

    def end_child(self, failures):
        os.write(self.writer, "".join(f"{failure}\n" for failure in failures).encode())
        sys.exit(0)

    def wait(self, pid=None):
        """Waits for a child, or until nobody has the pipe. Returns what was found."""
        os.close(self.writer)
        end = time.monotonic() + CHILD_SECONDS
        text = b""
        late = False
        while True:
            if not select.select([self.reader], [], [], max(end - time.monotonic(), 0))[0]:
                late = True
                break
            part = os.read(self.reader, 65536)
            if not part:
                break
            text += part
        while pid is not None and not late and os.waitpid(pid, os.WNOHANG)[0] == 0:
            late = time.monotonic() > end
            time.sleep(0.001)
        found = text.decode().splitlines()
        if pid is None and found:
            pid = int(found.pop(0))  # a daemon's
        if late and pid is not None:
            os.kill(pid, signal.SIGKILL)
        os.close(self.reader)
        return found + ([LATE] if late else [])


#
# Each one is called in the parent with what the child may use, and returns what went wrong. In a
# child that goes on in the program it raises SystemExit.


class Shared:
    """What a child inherits."""

    def __init__(self, client, lock, url, name, calls):
        self.client = client
        self.lock = lock
        self.url = url
        self.name = name
        self.calls = calls  # whether it makes each call

    def failures(self):
        return failures_of_child(self.client, self.lock, self.url, self.name) if self.calls else []


def by_fork(shared):
    report = Report()
    pid = os.fork()
    if pid == 0:
        report.end_child(shared.failures())
    return report.wait(pid)


def by_subprocess(shared):
    process = subprocess.Popen(["/bin/true"])
    try:
        return [] if process.wait(CHILD_SECONDS) == 0 else ["the program failed"]
    except subprocess.TimeoutExpired:
        process.kill()
        return [LATE]


def by_preexec(shared):
    """subprocess forks where there is a preexec_fn, and a child of Python runs it."""
    subprocess.run(["/bin/true"], preexec_fn=lambda: None, check=True, timeout=CHILD_SECONDS)
    return []


def by_posix_spawn(shared):
    pid = os.posix_spawn("/bin/true", ["true"], os.environ)
    os.waitpid(pid, 0)
    return []


def of_process(method, target, arguments):
    context = multiprocessing.get_context(method)
    reader, writer = context.Pipe(False)
    process = context.Process(target=target, args=(writer, *arguments))
    process.start()
    writer.close()
    try:
        reader.recv()  # it has started; that of an interpreter is not Pawl's
    except EOFError:
        pass
    process.join(CHILD_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        return [LATE]
    try:
        return reader.recv()
    except EOFError:
        return [f"the process ended with {process.exitcode}"]


def in_process(writer, shared):
    writer.send("up")
    writer.send(shared.failures())


def with_client(writer, client, name):
    """The client was sent: it is one of this process."""
    writer.send("up")
    try:
        client.acquire(f"{name}/{os.getpid()}", ttl=5, wait=0).release()
        writer.send([])
    except Exception as error:
        writer.send([f"the client that was sent: {error}"])


def by_multiprocessing(method):
    def run(shared):
        if method == "fork":
            return of_process(method, in_process, (shared,))
        if shared.lock is not None:
            try:
                of_process(method, with_client, (shared.lock, shared.name))
                return ["a lock was sent"]
            except pawl.Error:
                pass
            except Exception as error:
                return [f"a lock that is sent raises {type(error).__name__}"]
        return of_process(method, with_client, (pawl.Client(shared.url), shared.name))
    return run


def by_prefork(shared):
    """A server whose two workers accept on one socket, and end at SIGTERM."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        workers = []
        for _ in range(2):
            report = Report()
            pid = os.fork()
            if pid == 0:
                serve(listener, report, shared)
            workers.append((pid, report))
        for _ in range(4):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.settimeout(CHILD_SECONDS)
                try:
                    connection.recv(1)
                except OSError:
                    pass
        for pid, _ in workers:
            os.kill(pid, signal.SIGTERM)
        return sorted({failure for pid, report in workers for failure in report.wait(pid)})


def serve(listener, report, shared):
    failures = []
    ends = False

    def end(number, frame):
        nonlocal ends
        ends = True
    signal.signal(signal.SIGTERM, end)
    listener.settimeout(0.1)  # a signal that comes just before accept() does not interrupt it
    while not ends:
        try:
            connection, _ = listener.accept()
        except socket.timeout:
            continue
        with connection:
            failures += shared.failures()
            connection.sendall(b".")
    report.end_child(failures)


def by_orphan(shared):
    """The parent is killed, and its child lives on."""
    if os.fork() > 0:
        signal.pause()
    parent = os.getppid()
    tell("child", [str(os.getpid())])
    os.kill(parent, signal.SIGKILL)
    while True:
        signal.pause()


KINDS = {"orphan": by_orphan, "fork": by_fork, "subprocess": by_subprocess, "preexec": by_preexec,
         "posix_spawn": by_posix_spawn, "mp_fork": by_multiprocessing("fork"),
         "mp_forkserver": by_multiprocessing("forkserver"), "mp_spawn": by_multiprocessing("spawn"),
         "prefork": by_prefork}


class ParentEnded(Exception):
    pass


def by_daemon(report):
    """The steps of daemon(3): the process that held ends, and its child goes on."""
    def run(shared):
        if os.fork() > 0:
            os._exit(0)
        os.setsid()
        os.write(report.writer, f"{os.getpid()}\n".encode())
        report.end_child(shared.failures())
    return run


def in_thread(call):
    """Calls in a thread. Returns its end: a call that waits, and returns or raises the outcome."""
    outcome = []

    def run():
        try:
            outcome.append((call(), None))
        except BaseException as error:
            outcome.append((None, error))
    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def end():
        thread.join()
        result, error = outcome[0]
        if error is not None:
            raise error
        return result
    end.thread = thread
    return end


def failures_of_parent(lock):
    """Of a lock that is to be as good as before the fork: it is held, and extended by its renewer."""
    found = []
    deadline = lock.deadline
    if not lock.held:
        found.append("the lock is not held")
    else:
        lock.extend(DUE)
        deadline = lock.deadline
        end = time.monotonic() + EXTENDED_SECONDS
        while lock.deadline <= deadline + 0.5:  # the renewer has to extend it now
            if time.monotonic() > end or lock.must_stop.is_set():
                found.append(f"the lock is not extended: {lock.reason}")
                break
            time.sleep(0.002)
    return found


def round_of_threads(moment, name, url, fork, calls):
    client = pawl.Client(call_timeout=CALL_SECONDS)
    if moment == "waiting":
        end = in_thread(lambda: client.acquire(name, ttl=TTL))
        read_line()
        tell("child", fork(Shared(client, None, url, name, calls)))
        read_line()
        lock = end()
        lock.renew()
        found = failures_of_parent(lock)
        return found + ([] if lock.release() else ["the lock was released"])
    found = []
    with client.lock(name, ttl=TTL) as lock:
        if moment == "extending":
            lock.extend(DUE)
        end = in_thread(lock.release) if moment == "releasing" else None
        read_line()
        failures = fork(Shared(client, lock, url, name, calls))
        tell("child", failures)
        read_line()
        if end is not None:
            return [] if end() else ["the lock was released"]
        found += failures_of_parent(lock)
        if not lock.release():
            found.append("the lock was released")
    return found


def round_of_handler(moment, name, url, calls):
    client = pawl.Client(call_timeout=CALL_SECONDS)
    report = Report()
    home = os.getpid()
    if moment != "waiting":
        lock = client.acquire(name, ttl=TTL)
    handled = []

    def hold():
        while not handled:
            if lock.must_stop.wait(0.3):
                lock.check()
    call = {"waiting": lambda: client.acquire(name, ttl=TTL),
            "holding": hold,
            "extending": lambda: lock.extend(),
            "releasing": lambda: lock.release()}[moment]

    def handle(number, frame):
        pid = os.fork()
        if pid != 0:
            tell("child", report.wait(pid))
            handled.append(pid)
    signal.signal(signal.SIGUSR1, handle)

    def interrupt():
        read_line()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        result = call()
    except pawl.Error as error:
        if os.getpid() == home:
            raise
        failure = refusal_of("the call", lambda: (_ for _ in ()).throw(error))
        report.end_child([failure] if failure else [])
    if os.getpid() != home:
        report.end_child(["the call went through"])
    read_line()
    if moment == "waiting":
        lock = result
    if moment == "releasing":
        return [] if result else ["the lock was released"]
    found = [] if lock.held else ["the lock is not held"]
    return found + ([] if lock.release() else ["the lock was released"])


async def round_of_asyncio(moment, name, url, fork, calls):
    client = pawl.Client(call_timeout=CALL_SECONDS)
    if moment == "waiting":
        task = asyncio.create_task(client.aacquire(name, ttl=TTL))
        await asyncio.sleep(0.001)  # its call begins
        read_line()
        tell("child", await forked(fork, Shared(client, None, url, name, calls)))
        read_line()
        lock = await task
        lock.renew()
        found = await failures_of_async_parent(lock)
        return found + ([] if await lock.release() else ["the lock was released"])
    found = []
    async with client.alock(name, ttl=TTL) as lock:
        if moment == "extending":
            await lock.extend(DUE)
        task = asyncio.create_task(lock.release()) if moment == "releasing" else None
        await asyncio.sleep(0.001)
        read_line()
        tell("child", await forked(fork, Shared(client, lock, url, name, calls)))
        read_line()
        if task is not None:
            return [] if await task else ["the lock was released"]
        found += await failures_of_async_parent(lock)
        if not await lock.release():
            found.append("the lock was released")
    return found


async def failures_of_async_parent(lock):
    """A child that ends took the parent's loop its wake-ups: that is asyncio's, so timers wake it."""
    end = in_thread(lambda: failures_of_parent(lock.lock))
    while end.thread.is_alive():
        await asyncio.sleep(0.005)
    return end()


async def forked(fork, shared):
    if fork is not by_subprocess:
        return fork(shared)
    process = await asyncio.create_subprocess_exec("/bin/true")
    return [] if await process.wait() == 0 else ["the program failed"]


def run_round(client, kind, url, moment, name, calls, fork):
    if kind == "handler":
        return round_of_handler(moment, name, url, calls)
    if client == "asyncio":
        return asyncio.run(round_of_asyncio(moment, name, url, fork, calls))
    return round_of_threads(moment, name, url, fork, calls)


def run_as_daemon(client, kind, url, moment, name, calls):
    """The round runs in a process that becomes a daemon, half-way."""
    report = Report()
    pid = os.fork()
    if pid == 0:
        run_round(client, kind, url, moment, name, calls, by_daemon(report))
        os._exit(1)
    os.waitpid(pid, 0)
    tell("child", report.wait())
    read_line()
    return []


def main():
    client, kind, url = sys.argv[1:]
    rounds = 0
    while True:
        moment, name = read_line().split()
        rounds += 1
        calls = rounds % 2 == 0
        try:
            if kind == "daemon":
                found = run_as_daemon(client, kind, url, moment, name, calls)
            else:
                found = run_round(client, kind, url, moment, name, calls, KINDS.get(kind))
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        tell("parent", found)


if __name__ == "__main__":
    main()
