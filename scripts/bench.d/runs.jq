# What the tables and the picture have in common. (jq: include "runs";)

def median: sort | .[length / 2 | floor];

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
        errors: (map([.errors[]] | add // 0) | add)
      })
    | group_by([.persistence, .connections])
    | map({persistence: .[0].persistence, connections: .[0].connections}
          + (map({key: .what, value: .}) | from_entries));
