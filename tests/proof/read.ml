(* Reads what `simulate --actions` writes, and has the checker that Coq extracted judge each action. Nothing is proven of
   this file: it turns lines into actions, and tells what the checker says.

   usage: simulate --seeds A..B --actions | histories [--all]

   Exit status: 0 all were accepted; 1 an action was refused, and is shown; 2 a line that is no action.
   --all goes on with the next history after a refusal, and counts. *)

open Checker

exception Malformed of string

(* ---- lines -------------------------------------------------------------------------------------------- *)

(* The line that is read, and how far. *)
let text = ref ""
let at = ref 0

let number () =
  let line = !text in
  let len = String.length line in
  if !at >= len || String.unsafe_get line !at <> ' ' then raise (Malformed line);
  let i = ref (!at + 1) in
  let n = ref 0 in
  while !i < len && String.unsafe_get line !i <> ' ' do
    let digit = Char.code (String.unsafe_get line !i) - 48 in
    if digit < 0 || digit > 9 then raise (Malformed line);
    n := (10 * !n) + digit;
    incr i
  done;
  at := !i;
  !n

let rec times count read = if count = 0 then [] else let x = read () in x :: times (count - 1) read
let list_of read = let count = number () in times count read
let numbers () = list_of number
let pair () = let a = number () in let b = number () in (a, b)
let answer () = let m = number () in let n = numbers () in (m, n)
let leader () = let v = numbers () in let target = number () in { l_view = v; l_target = target }

let lock from () =
  let holder = number () in
  let n = number () in
  if holder = 0 then None else Some { by_id = holder - 1; number = n; from }

let cells () =
  let state = number () in
  let next = number () in
  let lineage = number () in
  let knows = numbers () in
  let counters = numbers () in
  let locks = list_of (lock Taken) in
  { c_state = (match state with 0 -> Out | 1 -> Joining next | _ -> Active);
    c_lineage = (match lineage with 0 -> Kept | 1 -> Restarted | _ -> Changed);
    c_knows = knows; c_counter = counters; c_locks = locks }

let action word =
  let n = number in
  match word with
  | "start" -> let a = n () in let i = n () in let what = numbers () in Do_start (a, i, what)
  | "take" ->
      let a = n () in let m = n () in let k = n () in let v = numbers () in let x = numbers () in
      Do_take (a, m, k, v, x, numbers ())
  | "freeze" -> let a = n () in Do_freeze (a, list_of answer)
  | "confirm" ->
      let a = n () in let m = n () in let k = n () in let v = numbers () in let t = numbers () in
      Do_confirm (a, m, k, v, t, numbers ())
  | "grant" -> let a = n () in Do_grant (a, numbers ())
  | "told" -> let i = n () in let r = n () in Do_told (i, r, n ())
  | "begin-count" -> let c = n () in let r = n () in Do_start_counting (c, r, n ())
  | "count" -> let c = n () in let m = n () in let k = n () in let v = numbers () in Do_count (c, m, k, v, n ())
  | "agree" -> let c = n () in Do_agree (c, n ())
  | "told-values" -> let r = n () in let last = n () in Do_told_values (r, last, n ())
  | "begin-break" -> let b = n () in let r = n () in Do_start_breaking (b, r, n ())
  | "break" -> let b = n () in let m = n () in let k = n () in let v = numbers () in Do_break (b, m, k, v, n ())
  | "broken" -> Do_broken (n ())
  | "vanish" -> let m = n () in let k = n () in Do_vanish (m, k, n ())
  | "rise" -> let m = n () in let k = n () in Do_rise (m, k, numbers ())
  | "hear" -> let m = n () in let k = n () in Do_hear (m, k, numbers ())
  | "join" ->
      let i = n () in let r = n () in let t = n () in let m = n () in let k = n () in
      Do_join (i, r, t, m, k, numbers ())
  | "fall" -> let m = n () in let k = n () in Do_fall (m, k, cells ())
  | "restart" -> let m = n () in Do_restart (m, n ())
  | "trust" -> let m = n () in Do_trust (m, n ())
  | "mark" -> let m = n () in let k = n () in Do_mark (m, k, n ())
  | "record" -> let j = n () in let k = n () in Do_record (j, k, leader ())
  | "read" -> let j = n () in let k = n () in let l = leader () in Do_read (j, k, l, list_of pair)
  | "install" ->
      let m = n () in let k = n () in let j = n () in let l = leader () in
      Do_install (m, k, j, l, list_of pair)
  | "lock" ->
      let m = n () in let k = n () in let r = n () in let i = n () in let x = n () in
      Do_install_lock (m, k, r, { by_id = i; number = x; from = (if n () = 1 then Imported else Taken) })
  | "admit" ->
      let m = n () in let k = n () in
      let others = list_of (fun () -> let j = n () in let l = leader () in (j, l)) in
      Do_admit (m, k, others, numbers ())
  | "has" ->
      let m = n () in let k = n () in let r = n () in let i = n () in
      Do_has (m, k, r, Some { by_id = i; number = n (); from = Taken })
  | _ -> raise (Malformed !text)

(* ---- rules -------------------------------------------------------------------------------------------- *)

let text_of_rule = function
  | Started_before -> "the name was started before"
  | Not_started -> "it was never started"
  | Not_active -> "the master is not active"
  | Strayed -> "the lineage of the master is not that of its marker"
  | Other_incarnation -> "the view names another incarnation of the master"
  | Older_view -> "the master knows a higher incarnation of a member"
  | Held_by_another -> "another lock id has the lock"
  | Not_above_the_counter -> "the number is not above the counter"
  | Not_the_number -> "the lock has another number"
  | Counter_fell -> "a counter fell"
  | Counter_below_the_number -> "the counter is below the number"
  | Frozen_before -> "the attempt was frozen before"
  | Not_a_majority -> "they are not a majority of all members"
  | Not_answered -> "the master did not answer that"
  | Not_frozen -> "the attempt was not frozen"
  | Not_in_the_frozen_set -> "the master is not in the frozen set"
  | Not_the_token -> "the token is another one"
  | No_lock -> "the master has no such lock"
  | Number_above_the_token -> "the number of the lock is above the token"
  | Not_granted -> "the lock id was not granted that token"
  | Counter_above_the_token -> "the counter is above the token"
  | Lock_is_there -> "a lock is there"
  | Not_counted -> "no round agreed on these values"
  | Agreed_before -> "the round agreed before"
  | Not_above_the_broken_token -> "the counter is not above the broken token"
  | Not_broken -> "the token was not broken"
  | Named_unfairly -> "more than one master was named another view of one member"
  | Loss_does_not_show -> "the machine lost something, and its marker and lineage do not show it"
  | Lineage_not_kept -> "the lineage of the machine had changed before"
  | Lost_something -> "the machine lost something, and is trusted"
  | Incarnation_given_before -> "the incarnation was given to the member before"
  | Not_joining -> "the machine is not joining"
  | Not_of_this_rejoin -> "the page, or the admission, is of another rejoin"
  | Not_recorded -> "the master did not record the view"
  | Not_the_counter -> "the page has another number than the counter"
  | Not_read -> "the page was not read from that master"
  | Not_installed -> "a page of that master was not installed"
  | View_lost -> "the member knows less than its leader"
  | Not_imported -> "a lock of before the rejoin is there"
  | Not_what_the_machine_has -> "the machine has another lock than the model"

(* ---- histories ---------------------------------------------------------------------------------------- *)

type history = { seed : int; members : int; table : int list }

let all = Array.mem "--all" Sys.argv
let histories = ref 0
let actions = ref 0
let partly = ref 0
let refused = ref 0

let tell history line_number rule =
  Printf.printf "seed %d, action %d: refused, as %s\n  %s\n" history.seed line_number (text_of_rule rule) !text

let word_of line = match String.index_opt line ' ' with Some i -> String.sub line 0 i | None -> line

let judge_all_of input =
  let history = ref { seed = 0; members = 0; table = [] } in
  let state = ref None in (* None: nothing more of this history is judged *)
  let line_number = ref 0 in
  try
    while true do
      text := input_line input;
      let word = word_of !text in
      at := String.length word;
      incr line_number;
      match word, !state with
      | "history", _ ->
          let seed = number () in
          let members = number () in
          history := { seed; members; table = numbers () };
          state := Some first_tables;
          line_number := 0;
          incr histories
      | "leave", Some _ -> state := None; incr partly
      | _, None -> ()
      | _, Some tables -> (
          incr actions;
          match judge !history.members !history.table tables (action word) with
          | Allowed next -> state := Some next
          | Refused rule ->
              incr refused;
              tell !history !line_number rule;
              state := None;
              if not all then exit 1)
    done
  with End_of_file -> ()

let () =
  (try judge_all_of stdin
   with Malformed line -> Printf.printf "no action: %s\n" line; exit 2);
  Printf.printf "%d histories, %d actions: %d refused, %d in part\n" !histories !actions !refused !partly;
  if !refused > 0 || !histories = 0 then exit 1
