# A board for Grafana, from the families of all programs: an overview, and a panel for each family.
def selector: "{job=~\"$job\",instance=~\"$instance\"}";
def rate_of($name): "rate(\($name)\(selector)[$__rate_interval])";
def by($labels): if $labels == [] then "" else "by (\($labels | join(", "))) " end;
def unit:
    if test("_seconds(_total)?$") then "s" elif test("_bytes$") then "bytes" else "short" end;
def legend($labels): $labels | map("{{\(.)}}") | join(" ");

# A panel without its place: title, unit, and pairs of an expression and its legend.
def panel($title; $help; $unit; $targets): {
    type: "timeseries",
    title: $title,
    description: $help,
    datasource: {type: "prometheus", uid: "${datasource}"},
    fieldConfig: {defaults: {unit: $unit, min: 0}, overrides: []},
    targets: [$targets | to_entries[]
        | {refId: ("ABCDEFGH"[.key:.key + 1]), expr: .value[0], legendFormat: .value[1]}]
};

def quantile($q; $name; $labels):
    "histogram_quantile(\($q), sum by (\((["le"] + $labels) | join(", "))) (\(rate_of($name + "_bucket"))))";

def panel_of:
    . as $family
    | ($family.name | sub("^pawl_"; "") | sub("_total$"; "") | gsub("_"; " ")) as $title
    | if $family.type == "counter" then
        panel($title + " per second"; $family.help; "short";
              [["sum \(by($family.labels))(\(rate_of($family.name)))", legend($family.labels)]])
      elif $family.type == "histogram" then
        panel($title; $family.help; ($family.name | unit);
              [0.5, 0.99 | [quantile(.; $family.name; $family.labels),
                            "\(. * 100 | floor)% \(legend($family.labels))"]])
      else
        panel($title; $family.help; ($family.name | unit);
              [[$family.name + selector, legend(["instance"] + $family.labels)]])
      end;

def overview: [
    panel("Grants per second"; "Grants per second, by path."; "short";
          [["sum by (path) (\(rate_of("pawl_grants_total")))", "{{path}}"]]),
    panel("Share of grants in one round"; "Share of the grants that took one round of the masters."; "percentunit";
          [["sum(rate(pawl_grants_total{job=~\"$job\",instance=~\"$instance\",path=\"fast\"}[$__rate_interval])) / sum(\(rate_of("pawl_grants_total")))",
            "fast"]]),
    panel("Time to a grant"; "Time from an acquire to its grant, for acquires that did not wait."; "s";
          [0.5, 0.99 | [quantile(.; "pawl_acquire_duration_seconds"; []), "\(. * 100 | floor)%"]]),
    panel("Results of acquires"; "Results of the acquire calls per second."; "short";
          [["sum by (result) (rate(pawl_calls_total{job=~\"$job\",instance=~\"$instance\",call=~\"acquire.*\"}[$__rate_interval]))",
            "{{result}}"]]),
    panel("Masters that vote"; "Number of masters that vote, and number of masters that a grant needs."; "short";
          [["pawl_masters_active" + selector, "{{instance}} active"],
           ["pawl_masters_majority" + selector, "{{instance}} needed"]]),
    panel("Waiters"; "Calls that wait for a lock or watch a lock, and the maximum number of these calls."; "short";
          [["pawl_waiters" + selector, "{{instance}}"], ["pawl_waiters_max" + selector, "{{instance}} at most"]]),
    panel("Locks lost, stale writes refused"; "Lost locks and rejected stale writes per second."; "short";
          [["sum(\(rate_of("pawl_locks_lost_total")))", "lost"],
           ["sum(\(rate_of("pawl_guard_refusals_total")))", "refused by the guard"]]),
    panel("Round trip of script calls"; "99th percentile of the round trip of a script call, by master."; "s";
          [[quantile(0.99; "pawl_script_call_duration_seconds"; ["member"]), "99% {{member}}"]])
];

def rows: [
    {title: "Overview", panels: overview},
    {title: "Calls", of: "^pawl_(calls_total|call_|requests_refused|keys_)"},
    {title: "Locks", of: "^pawl_(grants|acquire|wait_|hold_|extensions|regrants|locks|attempts|hedges|cleanups|releases)"},
    {title: "Masters", of: "^pawl_(ready|master|script)"},
    {title: "Load", of: "^pawl_(calls_in|calls_max|waiters|event|requests_parked|connections|workers)"},
    {title: "Ledger", of: "^pawl_(ledger|guard)"},
    {title: "Process", of: "^(process_|pawl_build)"}
];

# Each family has its panel in the first row that it fits.
. as $families
| [rows[] | . as $row
   | if .of then .panels = [$families[] | select(.name | test($row.of)) | panel_of] else . end]
| . as $rows
| ([$rows[1:][].panels | length] | add) as $drawn
| if $drawn != ($families | length) then error("\($families | length) families, and \($drawn) panels: see rows") else . end
| reduce .[] as $row ({y: 0, id: 1, panels: []};
    .panels += [{type: "row", id: .id, title: $row.title, collapsed: false, panels: [],
                 gridPos: {x: 0, y: .y, w: 24, h: 1}}]
    | .y += 1 | .id += 1
    | reduce ($row.panels | to_entries[]) as $each (.;
        .panels += [$each.value + {id: .id, gridPos: {
            x: ($each.key % 4 * 6), y: (.y + ($each.key / 4 | floor) * 7), w: 6, h: 7}}]
        | .id += 1)
    | .y += (($row.panels | length) / 4 | ceil) * 7)
| {
    title: "Pawl",
    uid: "pawl",
    description: "Generated by scripts/metrics from the names in /metrics.",
    tags: ["pawl"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: "30s",
    time: {from: "now-1h", to: "now"},
    templating: {list: [
        {name: "datasource", type: "datasource", query: "prometheus", label: "Data source"},
        {name: "job", type: "query", label: "Job", multi: true, includeAll: true,
         datasource: {type: "prometheus", uid: "${datasource}"},
         query: "label_values(pawl_build_info, job)", refresh: 2},
        {name: "instance", type: "query", label: "Instance", multi: true, includeAll: true,
         datasource: {type: "prometheus", uid: "${datasource}"},
         query: "label_values(pawl_build_info{job=~\"$job\"}, instance)", refresh: 2}
    ]},
    panels: .panels
}
