# The tables of server/METRICS.md, from the families of all programs.
def table($title; $families):
    "", "### \($title)", "", "| name | type | labels | meaning |", "|---|---|---|---|",
    ($families[] | "| `\(.name)` | \(.type) | \(.labels | map("`\(.)`") | join(", ")) | \(.help) |");

table("pawld and the ledger"; map(select(.programs | length == 2))),
table("pawld only"; map(select(.programs == ["pawld"]))),
table("The ledger only"; map(select(.programs == ["pawl-ledger"]))),
""
