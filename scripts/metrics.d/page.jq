# The tables of server/METRICS.md, from the families of all programs.
def table($title; $families):
    "", "### \($title)", "", "| name | type | labels | what it is |", "|---|---|---|---|",
    ($families[] | "| `\(.name)` | \(.type) | \(.labels | map("`\(.)`") | join(", ")) | \(.help) |");

table("Of pawld and of the ledger"; map(select(.programs | length == 2))),
table("Of pawld"; map(select(.programs == ["pawld"]))),
table("Of the ledger"; map(select(.programs == ["pawl-ledger"]))),
""
