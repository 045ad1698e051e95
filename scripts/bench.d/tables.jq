# The tables of the report, from all its runs: jq -rs --argjson cores N -f tables.jq runs.jsonl
include "runs";

# ---- text ----------------------------------------------------------------------------------------

def spaces($n): if $n > 0 then " " * $n else "" end;
def commas: tostring | [while(length > 0; .[:-3]) | .[-3:]] | reverse | join(",");
def fixed($digits):
    pow(10; $digits) as $scale
    | (. * $scale | round) as $n
    | if $digits == 0 then $n | commas
      else "\($n / $scale | floor | commas).\(($n % $scale) + $scale | tostring | .[1:])" end;
def ratio($this; $to; $digits):
    if $this and $to then "\($this / $to | fixed($digits))x" else "-" end;
def latencies: if . then "\(.p50 | commas) / \(.p99 | commas)" else "-" end;

# Lines from rows of cells, of which the first has the headings. The first column is text.
def table:
    map(map(. // "-" | tostring)) as $rows
    | ($rows | transpose | map(map(length) | max)) as $widths
    | $rows[]
    | to_entries
    | map(spaces($widths[.key] - (.value | length)) as $fill
          | if .key == 0 then .value + $fill else $fill + .value end)
    | join("  ");

# A heading and what is below it, or nothing where nothing was measured.
def section($title; $rows; lines):
    if $rows | length > 0 then "", $title, "", ($rows | lines) else empty end;

# ---- the tables ----------------------------------------------------------------------------------

# The candidates that these rows have.
def candidates:
    . as $rows
    | ["pawl", "module", "relay", "bare", "minimal", "gathered", "redlock", "redlock-ap", "etcd"]
    | map(select(. as $what | any($rows[]; has($what))));
def spread: if . then "\(.median | fixed(2))x (\(.least | fixed(2))-\(.greatest | fixed(2)))" else "-" end;

def pairs:
    candidates as $candidates
    | [["persistence", "clients"] + $candidates]
    + map(. as $row
          | [.persistence, .connections]
            + ($candidates | map($row[.].pairs | if . then commas else null end)))
    | table;

# Rows of ratios() of $whose.
def beside($whose):
    (candidates - [$whose]) as $candidates
    | [["persistence", "clients"] + ($candidates | map("\($whose)/\(.)"))]
    + map(. as $row | [.persistence, .connections] + ($candidates | map($row[.] | spread)))
    | table;

# Who had how many.
def errors_of($candidates):
    . as $row
    | [$candidates[] | . as $what | $row[$what] | objects | select(.errors > 0) | "\($what) \(.errors)"]
    | if length > 0 then join(", ") else "0" end;

def latency:
    candidates as $candidates
    | [["persistence", "clients"] + $candidates + ["errors"]]
    + map(. as $row
          | [.persistence, .connections]
            + ($candidates | map($row[.] | latencies))
            + [errors_of($candidates)])
    | table;

# $p50, $p99: ratios() of all runs.
def one_client($p50; $p99):
    map(select(.connections == 1))
    | [["persistence", "pawl", "relay", "bare", "minimal", "p50 pawl/relay", "p50 pawl/bare", "p99 pawl/bare",
        "p50 pawl/minimal", "p99 pawl/minimal"]]
    + map(. as $row
          | def of($ratios; $what):
                $ratios[] | select(.persistence == $row.persistence and .connections == 1) | .[$what] | spread;
            [.persistence, (.pawl, .relay, .bare, .minimal | latencies), of($p50; "relay"), of($p50; "bare"),
             of($p99; "bare"), of($p50; "minimal"), of($p99; "minimal")])
    | table;

# How often the masters ran each command for a pair, all of them together. A take and a release of Pawl
# read the lock with a GET each, and a confirmation twice; that also reads the counter, with HGET.
def commands:
    ["evalsha", "get", "set", "hincrby", "hget", "del"] as $commands
    | [["persistence", "clients", "candidate"] + $commands]
    + [.[] as $row
       | ([$row] | candidates)[] as $what
       | select($row[$what].counts)
       | [$row.persistence, $row.connections, $what]
         + ($commands | map($row[$what].counts[.] // 0 | fixed(2)))]
    | table;

# Of a section whose runs are "healthy", or like the section.
def beside_healthy($what; $p50; $p99):
    def per_1000: if .pawld.hedges and .pawld.grants > 0
                  then 1000 * .pawld.hedges / .pawld.grants | fixed(1) else "-" end;
    def gets: if .counts then .counts.get // 0 | fixed(2) else "-" end;
    [["persistence", "clients", "healthy", $what, "p50 ratio", "p99 ratio",
      "hedges per 1,000, healthy", $what, "GETs a pair, healthy", $what, "errors"]]
    + map(. as $row
          | def of($ratios):
                $ratios[] | select(.persistence == $row.persistence and .connections == $row.connections)
                | .healthy | spread;
            [.persistence, .connections, (.healthy, .[$what] | latencies), of($p50), of($p99),
             (.healthy, .[$what] | per_1000), (.healthy, .[$what] | gets),
             .healthy.errors + .[$what].errors])
    | table;

# $ratios: ratios() of the file.
def embedded($ratios):
    ["file", "rows", "relay", "http", "one-redis", "etcd-1"] as $candidates
    | [["clients"] + $candidates + ($candidates[1:] | map("file/" + .)) + ["p50 us, file"]]
    + map(. as $row
          | ($ratios[] | select(.connections == $row.connections)) as $of
          | [.connections] + ($candidates | map($row[.].pairs | if . then commas else null end))
            + ($candidates[1:] | map($of[.] | spread)) + [$row.file | latencies])
    | table;

def counters:
    ["one", "one-by-100", "many", "file", "incr"] as $candidates
    | [["clients"] + $candidates + ["one/incr"]]
    + (group_by(.connections)
       | map(. as $runs
             | ($candidates | map(. as $what | [$runs[] | select(.what == $what) | .values_per_s]
                                  | if length > 0 then median else null end)) as $medians
             | [$runs[0].connections] + ($medians | map(if . then round | commas else null end))
               + [if $medians[0] and $medians[4] then ($medians[0] / $medians[4] | fixed(2)) else "-" end]))
    | table;

# $ratios: ratios() of TLS.
def tls($ratios):
    [["persistence", "clients", "plain", "tls", "tls/plain", "tls and keys", "tls and keys/plain",
      "p50 / p99 us, plain", "tls", "tls and keys", "errors"]]
    + map(. as $row
          | ($ratios[] | select(.persistence == $row.persistence and .connections == $row.connections)) as $of
          | [.persistence, .connections, (.plain, .tls | .pairs | commas), ($of.tls | spread),
             (.both.pairs | commas), ($of.both | spread),
             (.plain, .tls, .both | latencies), .plain.errors + .tls.errors + .both.errors])
    | table;

# $ratios: ratios() of the module to scripts.
def of_module($ratios):
    [["persistence", "clients", "scripts", "module", "module/scripts", "p50 / p99 us, scripts", "module", "errors"]]
    + map(. as $row
          | ($ratios[] | select(.persistence == $row.persistence and .connections == $row.connections)) as $of
          | [.persistence, .connections, (.scripts, .module | .pairs | commas), ($of.module | spread),
             (.scripts, .module | latencies), .scripts.errors + .module.errors])
    | table;

# $ratios: ratios() of those with keys to those without.
def keyed($ratios):
    [["persistence", "clients", "without keys", "with keys", "with/without", "p50 / p99 us without", "with"]]
    + map(. as $row
          | [.persistence, .connections, (.open.pairs | commas), (.keyed.pairs | commas),
             ($ratios[] | select(.persistence == $row.persistence) | .open | spread),
             (.open | latencies), (.keyed | latencies)])
    | table;

# fixed() is for what is not negative.
def keys:
    def hundredths: (. * 100 | round) / 100;
    [["round", "known ns", "unknown ns", "difference ns", "+/-", "of two unknown ns", "+/-", "bound ns"]]
    + map([.round, (.known_ns | fixed(1)), (.unknown_ns | fixed(1)), (.difference_ns | hundredths),
           (.interval_ns | fixed(2)), (.none_ns | hundredths), (.none_interval_ns | fixed(2)), .bound_ns])
    | table;

def waiters:
    [["persistence", "waiting", "pawlds", "p50 us", "p99 us", "bytes a waiter",
      "script calls", "in order", "lost", "twice"]]
    + map([.persistence, (.waiters | commas), .servers, (.handover_us.p50 | commas),
           (.handover_us.p99 | commas), (.bytes_per_waiter | commas),
           (.script_calls_per_handover | if . then fixed(1) else "-" end), (if .in_order then "yes" else "NO" end),
           .lost, .twice])
    | table;

def overtaking:
    [["persistence", "waiting", "pawlds", "spread", "p50 us", "p99 us", "overtaken p50", "overtaken p99",
      "overtaken most", "in order", "lost", "twice"]]
    + map([.persistence, .waiters, .servers, .spread, (.handover_us.p50 | commas), (.handover_us.p99 | commas),
           .overtaken.p50, .overtaken.p99, .overtaken.max, (if .in_order then "yes" else "NO" end), .lost, .twice])
    | table;

def watches:
    def milli($quantile): .[$quantile] / 1000 | fixed(2);
    [["persistence", "watching", "changes a second", "each p50 ms", "each p99 ms", "last p50 ms",
      "last p99 ms", "pawld CPU %", "masters CPU %", "untold", "wrong"]]
    + map([.persistence, (.watches | commas), .per_second, (.each_us | milli("p50")),
           (.each_us | milli("p99")), (.last_us | milli("p50")), (.last_us | milli("p99")),
           (.cpu_percent[0] | fixed(1)), (.cpu_percent[1:] | add | fixed(1)), .untold, .wrong])
    | table;

# $ratios: ratios() of the rounds with readers to those without.
def readers($ratios):
    [["persistence", "clients", "pairs, nobody reads", "1,000 read their own", "with/without", "1,000 read all",
      "with/without", "1,000 never read", "with/without"]]
    + map(. as $row
          | ($ratios[] | select(.persistence == $row.persistence)) as $of
          | [.persistence, .connections, (.none.pairs | commas), (.own.pairs | commas), ($of.own | spread),
             (.all.pairs | commas), ($of.all | spread), (.deaf.pairs | commas), ($of.deaf | spread)])
    | table;

# $ratios: the same of the CPU time of pawld for a pair.
def readers_cpu($ratios):
    def us: .user + .system;
    [["persistence", "readers", "pawld us a pair", "with/without", "readers' CPU %"]]
    + (map(select(.section == "readers")) | group_by([.persistence, .what])
       | map(.[0] as $first
             | ($ratios[] | select(.persistence == $first.persistence) | .[$first.what]) as $of
             | [$first.persistence, $first.what, (map((.service_us | us) / .pairs_all) | median | fixed(1)),
                (if $of then $of | spread else "-" end),
                (map(select(.readers_us) | (.readers_us | us) / .seconds / 10000) | if . == [] then "-" else median | fixed(1) end)]))
    | table;

def attacked:
    def of($what): map(select(.what == $what));
    [["persistence", "calm", "attacked", "p50 ratio", "p99 ratio", "masters silent",
      "connections still held", "groups granted", "refused", "503"]]
    + (group_by([.persistence, .round])
       | map((of("calm")[0]) as $calm | (of("attacked")[0]) as $attacked
             | [$calm.persistence, ($calm.acquire_us | latencies), ($attacked.acquire_us | latencies),
                ratio($attacked.acquire_us.p50; $calm.acquire_us.p50; 2),
                ratio($attacked.acquire_us.p99; $calm.acquire_us.p99; 2), $attacked.silent,
                ($attacked.attack.held | commas), $attacked.attack.groups_granted,
                $attacked.attack.groups_refused, $attacked.attack.groups_unavailable]))
    | table;

def crowded:
    def of($what): map(select(.what == $what));
    [["persistence", "calm", "crowded", "p50 ratio", "p99 ratio", "lazy clients", "still held",
      "opened anew"]]
    + (group_by([.persistence, .round])
       | map((of("calm")[0]) as $calm | (of("crowded")[0]) as $crowded
             | [$calm.persistence, ($calm.acquire_us | latencies), ($crowded.acquire_us | latencies),
                ratio($crowded.acquire_us.p50; $calm.acquire_us.p50; 2),
                ratio($crowded.acquire_us.p99; $calm.acquire_us.p99; 2),
                ($crowded.attack.lazy | commas), ($crowded.attack.lazy_held | commas),
                ($crowded.attack.lazy_reopened | commas)]))
    | table;

def floods:
    [["flood", "clients", "acquire", "p50 ratio", "p99 ratio", "not granted", "masters silent",
      "asked", "503"]]
    + (group_by([.what, .how, .round])
       | map((map(select(.crowd == 0))[0]) as $calm | sort_by(.crowd)[]
             | ["\(.what) (\(.how))", .crowd, (.acquire_us | latencies),
                ratio(.acquire_us.p50; $calm.acquire_us.p50; 2),
                ratio(.acquire_us.p99; $calm.acquire_us.p99; 2), .errors, .silent,
                ((.flood.asked // 0) | commas), (.flood.unavailable // 0)]))
    | table;

def costs:
    def us: .[0] + .[1];
    [["request", "pawld us", "masters us", "acquire and release, us", "times an acquire"]]
    + map(["\(.what) (\(.how))", (.request[0] | round | commas), (.request[1] | round | commas),
           (.pair | us | round | commas), ratio(.request | us; (.pair | us) / 2; 1)])
    | table;

def groups:
    [["call", "masters", "pawld us", "masters us"]]
    + (group_by([.masters, .what])
       | map([.[0].what, .[0].masters, (map(.pawld_us) | median | round | commas),
              (map(.masters_us) | median | round | commas)]))
    | table;

def imports:
    [["locks held", "what happened", "clients at work", "ms until it votes"]]
    + map([(.locks | commas), .what, .clients, (.ms | commas)])
    | table;

# User and system time of a pair, their sum, and how many such pairs the cores could do at most. Of the
# runs of a candidate the medians.
def cpu:
    def us($runs; time):
        if $runs[0] | time | type == "object"
        then [$runs[] | (time | .user) / .pairs] as $user | [$runs[] | (time | .system) / .pairs] as $system
             | [($user | median), ($system | median)]
        else [] end;
    def cells: if length > 0 then map(fixed(1)) else ["-", "-"] end;
    [["persistence", "candidate", "servers user", "kernel", "service user", "kernel", "client user",
      "kernel", "together", "\($cores) cores allow"]]
    + (reduce .[] as $run ([]; # in the order in which they were measured first
           ([.[] | .[0] | .persistence == $run.persistence and .what == $run.what] | index(true)) as $at
           | if $at then .[$at] += [$run] else . + [[$run]] end)
       | map(. as $runs
             | [us($runs; .keepers_us), us($runs; .service_us), us($runs; .cpu_us)] as $times
             | ($times | flatten | add) as $sum
             | [$runs[0].persistence, $runs[0].what] + ($times | map(cells) | add)
               + [($sum | fixed(1)), ($cores * 1000000 / $sum | fixed(0))]))
    | table;

# One column for each of $kinds, one row a part, the greatest first.
def by_part($kinds; kind; value; $digits):
    def cells: . as $runs
        | $kinds | map(. as $kind | [$runs[] | select(kind == $kind) | value] | add
                       | if . then fixed($digits) else null end);
    [["part"] + $kinds]
    + (group_by(.part) | sort_by(-(map(value) | max)) | map([.[0].part] + cells))
    + [["together"] + cells]
    | table;

# ---- the report ----------------------------------------------------------------------------------

. as $runs
| def of($section): $runs | map(select(.section == $section));
(
    section("Acquire+release pairs per second";
            $runs | medians("pairs"); pairs),
    ("pawl", "module", "gathered", "bare"
     | . as $whose
     | section("Pairs per second of \($whose) as a multiple of others': median of the ratios (least-greatest)";
               $runs | ratios("pairs"; $whose; .pairs_per_s) | map(select(length > 2)); beside($whose))),
    section("Latency of acquire, p50 / p99 in microseconds";
            $runs | medians("pairs"); latency),
    section("Latency of acquire with one client, p50 / p99 in microseconds, and median of the ratios";
            $runs | medians("pairs") | map(select(.connections == 1));
            one_client($runs | ratios("pairs"; "pawl"; .acquire_us.p50);
                       $runs | ratios("pairs"; "pawl"; .acquire_us.p99))),
    section("Commands of a pair, on all masters together";
            $runs | medians("pairs"); commands),
    ("stopped", "slow"
     | . as $what
     | section("Acquire with one of the masters \(.), p50 / p99 in microseconds";
               $runs | medians($what);
               beside_healthy($what; $runs | ratios($what; $what; .acquire_us.p50);
                              $runs | ratios($what; $what; .acquire_us.p99)))),
    section("Pairs per second of a fleet that is a file, and median of the ratios";
            $runs | medians("embedded");
            embedded($runs | ratios("embedded"; "file"; .pairs_per_s))),
    section("Values of named counters per second";
            of("counters"); counters),
    section("Pairs per second over HTTP and over TLS, and median of the ratios";
            $runs | medians("tls");
            tls($runs | ratios("tls"; "plain"; 1 / .pairs_per_s))),
    section("Pairs per second by scripts and by the module, and median of the ratios";
            $runs | medians("module");
            of_module($runs | ratios("module"; "scripts"; 1 / .pairs_per_s))),
    section("Acquire+release pairs per second with keys";
            $runs | medians("keyed"); keyed($runs | ratios("keyed"; "keyed"; .pairs_per_s))),
    section("Time of a refusal: an id that is known with a wrong secret, and one that is not";
            of("keys"); keys),
    section("From one holder to the next, while many wait for one name";
            of("waiters"); waiters),
    section("How often a waiter is overtaken by those that came after it"; of("overtaking"); overtaking),
    section("From a grant until watches of its name are told"; of("watches"); watches),
    section("Acquire+release pairs per second while clients follow events";
            $runs | medians("readers"); readers($runs | ratios("readers"; "none"; 1 / .pairs_per_s))),
    section("CPU time of pawld while clients follow events, and that of these clients";
            of("readers"); readers_cpu($runs | ratios("readers"; "none"; .pairs_all / (.service_us.user + .service_us.system)))),
    section("Acquire while the service is attacked, p50 / p99 in microseconds";
            of("attacked"); attacked),
    section("Acquire of one client while others flood the service, p50 / p99 in microseconds";
            of("floods"); floods),
    section("CPU time of one costly request, microseconds"; of("costs"); costs),
    section("CPU time of calls about one lock, and about 64, microseconds"; of("groups"); groups),
    section("Acquire while many clients are slow, deaf or idle, p50 / p99 in microseconds";
            of("crowded"); crowded),
    section("How long a master that forgot is out, three masters";
            of("import"); imports),
    section("CPU microseconds of a pair, \(of("cpu")[0].connections) clients";
            of("cpu"); cpu),
    section("Where pawld's time goes, percent";
            of("time"); by_part(map(.persistence) | unique; .persistence; .percent; 1)),
    section("Instructions of a pair in pawld, by the number of clients, without the kernel's";
            of("instructions");
            by_part(map(.connections) | unique; .connections; .per_pair; 0)),
    section("The masters and pawld together while it is the turn of others, percent of one core";
            of("idle");
            .[] | "  \(.persistence): "
                  + ((.cpu_us.user + .cpu_us.system) / .seconds / 10000 | fixed(1)))
)
