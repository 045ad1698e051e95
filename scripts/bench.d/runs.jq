# What the tables and the picture have in common. (jq: include "runs";)

def median: sort | .[length / 2 | floor];

# The median of each member of objects whose members are numbers; null where one of them is.
def medians_of_members:
    map(objects) | if length == 0 then null else
        (map(keys) | add | unique) as $keys
        | . as $all
        | $keys | map(. as $key | [$all[][$key]]
                      | {$key, value: (if any(. == null) then null else median end)})
        | from_entries
    end;

# What was counted in a run, for one pair. (Of a pair in the warm-up, too.)
def per_pair: .pairs_all as $pairs | .counts | if . and $pairs > 0 then map_values(. / $pairs) else null end;

# The runs of one section, which are the median of their rounds, member by member, and one object
# for each persistence and number of clients: {"persistence", "connections", "pawl": {...}, ...}.
def medians($section):
    map(select(.section == $section))
    | group_by([.persistence, .connections, .what])
    | map({
        persistence: .[0].persistence,
        connections: .[0].connections,
        what: .[0].what,
        pairs: (map(.pairs_per_s) | median),
        p50: (map(.acquire_us.p50) | median),
        p99: (map(.acquire_us.p99) | median),
        counts: (map(per_pair) | medians_of_members),
        pawld: (map(.pawld) | medians_of_members),
        errors: (map([.errors[]] | add // 0) | add)
      })
    | group_by([.persistence, .connections])
    | map({persistence: .[0].persistence, connections: .[0].connections}
          + (map({key: .what, value: .}) | from_entries));

# The same objects, with the ratio of $that to each of the others, round by round: its median, and the
# least and the greatest of them. What slows a round for all leaves it as it is.
def ratios($section; $that; value):
    map(select(.section == $section))
    | group_by([.persistence, .connections])
    | map({persistence: .[0].persistence, connections: .[0].connections}
          + (. as $runs
             | [$runs[].what] | unique | map(select(. != $that))
             | map(. as $what
                   | {key: $what,
                      value: [$runs[] | select(.what == $that)
                              | . as $ours
                              | $runs[] | select(.what == $what and .round == $ours.round)
                              | select(value > 0) | ($ours | value) / value]}
                   | select(.value | length > 0)
                   | .value |= {median: median, least: min, greatest: max})
             | from_entries));
