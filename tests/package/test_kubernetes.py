"""Validates the manifests for Kubernetes by its schemas, and runs their containers without a cluster: the real
programs with the manifests' own arguments, variables, volumes and probes. usage: test_kubernetes.py"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))
import namespaces  # noqa: E402

MANIFESTS = ROOT / "scripts/package.d/kubernetes"
BUILD = pathlib.Path(os.environ.get("PAWL_BUILD", ROOT / "build"))
IMAGES = {"pawl": [str(ROOT / "scripts/package.d/entrypoint")], "redis:7": []}  # what an image runs
PAGE = ROOT / "server/QUICK_CONTAINER.md"  # has a manifest, too
USER = 7380
PATIENCE_S = 30
LOST = 123  # what pawl lock returns then
WORK = re.compile(r"^([0-9.]+) (\S+) works under token ([0-9]+)$", re.M)


def objects_of(text):
    return list(yaml.safe_load_all(text))


def validate(objects):
    place = subprocess.run(["bash", "-c", "source scripts/npm.sh; npm_place kubernetes-models"], cwd=ROOT,
                           stdout=subprocess.PIPE, text=True)
    if place.returncode != 0:
        sys.exit(place.returncode)
    subprocess.run(["node", "tests/package/kubernetes.mjs", place.stdout.strip()], cwd=ROOT, check=True,
                   input=json.dumps(objects), text=True)


def until(true, pod, container):
    end = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {container} of {pod.name}: {pod.log(container)}")
        time.sleep(0.05)


class Cluster:
    def __init__(self, objects, folder):
        self.folder = folder
        self._named = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        self._processes = []

    def named(self, kind, name):
        return self._named[kind, name]

    def start(self, words, environment, log):
        # Words of the image's user, where root runs the test.
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"] if os.getuid() == 0 else []
        with open(log, "a", encoding="utf-8") as output:
            process = subprocess.Popen([*user, *words], env={"PATH": f"{BUILD}/bin:{os.environ['PATH']}", **environment},
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.folder)
        self._processes.append(process)
        return process

    def stop(self):
        for process in self._processes:
            process.kill()
            process.wait()


class Pod:
    """A pod of a template. Its folder stands for the file systems of its containers."""

    def __init__(self, cluster, template, name):
        self._cluster, self._spec, self.name = cluster, template["spec"], name
        self.folder = cluster.folder / name
        self.folder.mkdir(mode=0o755)
        self._volumes = {volume["name"]: self._make(volume) for volume in self._spec.get("volumes", [])}

    def _make(self, volume):
        folder = self.folder / volume["name"]
        folder.mkdir(mode=0o755)
        files, mode = {}, 0o444
        if "secret" in volume:
            content = self._cluster.named("Secret", volume["secret"]["secretName"])["stringData"]
            files = {item["path"]: content[item["key"]] for item in volume["secret"]["items"]}
        elif "configMap" in volume:
            files = self._cluster.named("ConfigMap", volume["configMap"]["name"])["data"]
            mode = volume["configMap"]["defaultMode"]
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(mode)
        if not files:
            os.chown(folder, USER, USER)
        return folder

    def _container(self, name):
        return next(one for one in [*self._spec.get("initContainers", []), *self._spec["containers"]]
                    if one["name"] == name)

    def _environment(self, container):
        found = {}
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            if "secretKeyRef" in source:
                reference = source["secretKeyRef"]
                found[variable["name"]] = self._cluster.named("Secret", reference["name"])["stringData"][reference["key"]]
            elif "fieldRef" in source:
                found[variable["name"]] = {"metadata.name": self.name}[source["fieldRef"]["fieldPath"]]
            else:
                found[variable["name"]] = variable["value"]
        return found

    def _here(self, container, word):
        """The word with the folders of volumes where the container has its mounts."""
        folders = {mount["mountPath"]: str(self._volumes.get(mount["name"], self.folder))
                   for mount in container.get("volumeMounts", [])}
        return re.sub("|".join(map(re.escape, folders)) or "$^", lambda match: folders[match[0]], word)

    def run(self, name, more=(), command=None):
        """Starts a container, or a command in it."""
        container = self._container(name)
        environment = self._environment(container)
        words = command or container.get("command") or [*IMAGES[container["image"]], *container["args"]]
        words = [re.sub(r"\$\((\w+)\)", lambda match: environment[match[1]], word) for word in words]
        return self._cluster.start([self._here(container, word) for word in [*words, *more]],
                                   {key: self._here(container, value) for key, value in environment.items()},
                                   self.folder / f"{name}.log")

    def probe(self, name, kind):
        """The exit code of a probe; None: it took longer than it may."""
        container = self._container(name)
        probe = container[kind]
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.run(name, command=probe["exec"]["command"]).wait(probe["timeoutSeconds"])

    def log(self, name):
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / f"{name}.log").read_text(encoding="utf-8")
        return ""

    def work(self):
        """The time and the token of each line that the leader's script wrote."""
        return [(float(at), int(token)) for at, _, token in WORK.findall(self.log("leader"))]


def start_redis(cluster):
    wanted = cluster.named("StatefulSet", "redis")["spec"]
    pods = [Pod(cluster, wanted["template"], f"redis-{at}") for at in range(wanted["replicas"])]
    hosts = "".join(f"127.0.1.{at + 1} {pod.name}.{wanted['serviceName']}\n" for at, pod in enumerate(pods))
    namespaces.replace_file("/etc/hosts", f"127.0.0.1 localhost\n{hosts}", cluster.folder)
    for at, pod in enumerate(pods):
        os.chown(pod.folder, USER, USER)
        pod.run("redis", ["--bind", f"127.0.1.{at + 1}", "--dir", str(pod.folder)])
    for pod in pods:
        until(lambda: "Ready to accept connections" in pod.log("redis"), pod, "redis")


def mark_masters(cluster):
    pod = Pod(cluster, cluster.named("Job", "pawl-init")["spec"]["template"], "pawl-init")
    assert pod.run("init").wait(PATIENCE_S) == 0, pod.log("init")
    assert pod.run("init").wait(PATIENCE_S) != 0, "a second pawld init marks the masters again"


def start_leaders(cluster):
    """The pods, and of each the processes pawld and leader. The first pod leads."""
    wanted = cluster.named("Deployment", "leader")["spec"]
    pods = []
    for at in range(wanted["replicas"]):
        pod = Pod(cluster, wanted["template"], f"leader-{at}")
        pod.pawld = pod.run("pawld")
        until(lambda: pod.probe("pawld", "startupProbe") == 0, pod, "pawld")
        assert pod.probe("pawld", "livenessProbe") == 0
        pod.leader = pod.run("leader")
        pods.append(pod)
        until(pods[0].work, pods[0], "leader")
    return pods


def check_pawld_that_hangs(first, second):
    """The work ends before the validity does, and before the next leader begins."""
    stopped = time.time()
    first.pawld.send_signal(signal.SIGSTOP)
    assert first.leader.wait(PATIENCE_S) == LOST, first.log("leader")
    until(second.work, second, "leader")
    (last, old), (begun, new) = first.work()[-1], second.work()[0]
    ttl_s = float(re.search(r"'--ttl', '(\d+)s'", str(first._container("leader")))[1])
    assert last < stopped + ttl_s, f"the leader worked for {last - stopped:.1f} s without its pawld"
    assert last < begun and old < new, f"{last} under {old}, then {begun} under {new}"
    assert first.probe("pawld", "livenessProbe") != 0, "a pawld that hangs counts as alive"
    print(f"pawld hung: the work ended after {last - stopped:.1f} s, the next leader began after {begun - stopped:.1f} s")


def check_pod_that_ends(second, first):
    """The next leader begins at once."""
    first.pawld.send_signal(signal.SIGCONT)
    before = len(first.work())
    first.leader = first.run("leader")
    until(lambda: "waiting" in first.log("leader"), first, "leader")
    ended = time.time()
    second.leader.send_signal(signal.SIGTERM)
    second.leader.wait(PATIENCE_S)
    until(lambda: len(first.work()) > before, first, "leader")
    took = first.work()[before][0] - ended
    assert took < 5, f"the next leader began {took:.1f} s after the end of the pod"
    print(f"the leader's pod ended: the next leader began after {took:.1f} s")


def main():
    page = re.findall(r"```text\n(apiVersion: .*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    objects = [one for file in sorted(MANIFESTS.glob("*.yaml")) for one in objects_of(file.read_text(encoding="utf-8"))]
    assert page and len(objects) == 7
    validate([*objects, *[one for text in page for one in objects_of(text)]])
    namespaces.enter("--pid", "--fork", "--kill-child", "--mount-proc")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        cluster = Cluster(objects, pathlib.Path(folder))
        try:
            start_redis(cluster)
            mark_masters(cluster)
            first, second = start_leaders(cluster)
            check_pawld_that_hangs(first, second)
            check_pod_that_ends(second, first)
        finally:
            cluster.stop()


main()
