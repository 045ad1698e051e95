(* The checker: decides whether a step that the code took is a step of Model.v. scripts extract it to a program, which
   reads what the simulator wrote. Sound.v proves that it accepts nothing else.

   A state of the model has functions. Here the same state is written as lists: of members, of machines of a member, and of
   numbers. Beyond the end of a list each number is 0. *)

From Pawl Require Import Base Views Model.

Definition get (l : list nat) (i : nat) : nat := nth i l 0.

(* The list l with v in place i. Beyond the end of l there is d. *)
Fixpoint put_at {A : Type} (l : list A) (i : nat) (v d : A) : list A :=
  match i, l with
  | 0, [] => [v]
  | 0, _ :: l' => v :: l'
  | S i', [] => d :: put_at [] i' v d
  | S i', x :: l' => x :: put_at l' i' v d
  end.

Fixpoint same_list (a b : list nat) : bool :=
  match a, b with
  | [], [] => true
  | x :: a', y :: b' => (x =? y) && same_list a' b'
  | _, _ => false
  end.

Fixpoint same_page (a b : page) : bool :=
  match a, b with
  | [], [] => true
  | (x, n) :: a', (y, k) :: b' => (x =? y) && (n =? k) && same_page a' b'
  | _, _ => false
  end.

(* No number of a is above that of b in the same place. *)
Fixpoint all_below (a b : list nat) : bool :=
  match a, b with
  | [], _ => true
  | x :: a', [] => (x =? 0) && all_below a' []
  | x :: a', y :: b' => (x <=? y) && all_below a' b'
  end.

Fixpoint has (x : nat) (l : list nat) : bool :=
  match l with
  | [] => false
  | y :: l' => (x =? y) || has x l'
  end.

Fixpoint distinct (l : list nat) : bool :=
  match l with
  | [] => true
  | x :: l' => negb (has x l') && distinct l'
  end.

(* ---- The state, as lists ---------------------------------------------------------------------------- *)

Record cells := Cells {
  c_state : status;
  c_lineage : lineage;
  c_knows : list nat;
  c_counter : list nat;
  c_locks : list (option lock) }.

Definition first_machine : cells := Cells active kept [] [] [].
Definition no_machine : cells := Cells out kept [] [] [].

(* An answer: the member, and the number of each resource. *)
Definition answer : Type := nat * list nat.

(* A member, and the view that it was named. *)
Definition voice : Type := nat * list nat.

(* An attempt, and what happened to it. *)
Record try_ := Try {
  t_name : nat; t_holder : nat; t_what : list nat;
  t_answers : list (voice * list nat); t_frozen : option (list answer); t_confirmed : list voice; t_granted : bool }.

(* A round of a named counter; and the second round of a break. *)
Record poll := Poll {
  p_name : nat; p_counts : nat; p_values : nat;
  p_answers : list (voice * nat); p_agreed : option nat }.

Record ending := Ending {
  b_name : nat; b_broken : nat; b_token : nat;
  b_broke : list voice; b_done : bool }.

(* A leader's view, and the member that is taken back under it. *)
Record leader := Leader { l_view : list nat; l_target : nat }.

Record tables := Tables {
  rows : list (list cells);
  tries : list try_;
  polls : list poll;
  endings : list ending;
  marks : list (nat * nat * nat);       (* member, machine, incarnation *)
  admits : list (nat * nat);            (* member, incarnation *)
  records : list (nat * leader);
  reads : list (nat * leader * page);
  installs : list (nat * nat * nat * leader * page) }.

Definition machine_at (c : tables) (m k : nat) : cells := nth k (nth m (rows c) [first_machine]) no_machine.

Definition with_machine (c : tables) (m k : nat) (x : cells) : tables :=
  Tables (put_at (rows c) m (put_at (nth m (rows c) [first_machine]) k x no_machine) [first_machine])
         (tries c) (polls c) (endings c) (marks c) (admits c) (records c) (reads c) (installs c).

Definition with_tries (c : tables) (l : list try_) : tables :=
  Tables (rows c) l (polls c) (endings c) (marks c) (admits c) (records c) (reads c) (installs c).
Definition with_polls (c : tables) (l : list poll) : tables :=
  Tables (rows c) (tries c) l (endings c) (marks c) (admits c) (records c) (reads c) (installs c).
Definition with_endings (c : tables) (l : list ending) : tables :=
  Tables (rows c) (tries c) (polls c) l (marks c) (admits c) (records c) (reads c) (installs c).

Definition with_mark (c : tables) (m k inc : nat) : tables :=
  Tables (rows c) (tries c) (polls c) (endings c) ((m, k, inc) :: marks c) (admits c) (records c) (reads c) (installs c).
Definition with_admission (c : tables) (m inc : nat) : tables :=
  Tables (rows c) (tries c) (polls c) (endings c) (marks c) ((m, inc) :: admits c) (records c) (reads c) (installs c).
Definition with_record (c : tables) (j : nat) (L : leader) : tables :=
  Tables (rows c) (tries c) (polls c) (endings c) (marks c) (admits c) ((j, L) :: records c) (reads c) (installs c).
Definition with_read (c : tables) (j : nat) (L : leader) (p : page) : tables :=
  Tables (rows c) (tries c) (polls c) (endings c) (marks c) (admits c) (records c) ((j, L, p) :: reads c) (installs c).
Definition with_install (c : tables) (m inc j : nat) (L : leader) (p : page) : tables :=
  Tables (rows c) (tries c) (polls c) (endings c) (marks c) (admits c) (records c) (reads c)
         ((m, inc, j, L, p) :: installs c).

Definition first_tables : tables := Tables [] [] [] [] [] [] [] [] [].

(* ---- What the code did --------------------------------------------------------------------------------- *)

(* k is the machine of member m; n and t have a number for each resource; c has the counters of the machine afterwards. *)
Inductive action :=
| Do_start (name holder : nat) (what : list nat)
| Do_take (name m k : nat) (V : list nat) (n : list nat) (c : list nat)
| Do_freeze (name : nat) (F : list answer)
| Do_confirm (name m k : nat) (V : list nat) (t : list nat) (c : list nat)
| Do_grant (name : nat) (t : list nat)
| Do_told (holder r n : nat)                          (* a client is told its token *)
| Do_start_counting (name r values : nat)
| Do_count (name m k : nat) (V : list nat) (n : nat)
| Do_agree (name n : nat)
| Do_told_values (r last values : nat)                (* a client is told its values *)
| Do_start_breaking (name r token : nat)
| Do_break (name m k : nat) (V : list nat) (n : nat)
| Do_broken (name : nat)
| Do_vanish (m k r : nat)
| Do_rise (m k : nat) (c : list nat)
| Do_hear (m k : nat) (V : list nat)
| Do_join (holder r n m k : nat) (V : list nat)
| Do_fall (m k : nat) (x : cells)
| Do_restart (m k : nat)
| Do_trust (m k : nat)
| Do_mark (m k inc : nat)
| Do_record (j k : nat) (L : leader)
| Do_read (j k : nat) (L : leader) (p : page)
| Do_install (m k j : nat) (L : leader) (p : page)
| Do_install_lock (m k r : nat) (l : lock)
| Do_admit (m k : nat) (R : list (nat * leader)) (W : list nat)   (* R: those that were read, and under which view *)
| Do_has (m k r : nat) (l : option lock).             (* the lock that the machine has *)

(* Why an action is refused: the rule that does not allow it. *)
Inductive rule :=
| started_before | not_started | not_active | strayed | other_incarnation | older_view
| held_by_another | not_above_the_counter | not_the_number | counter_fell | counter_below_the_number
| frozen_before | not_a_majority | not_answered | not_frozen | not_in_the_frozen_set | not_the_token | no_lock
| number_above_the_token | not_granted | counter_above_the_token | lock_is_there
| not_counted | agreed_before | not_above_the_broken_token | not_broken
| named_unfairly | loss_does_not_show | lineage_not_kept | lost_something | incarnation_given_before | not_joining | not_of_this_rejoin
| not_recorded | not_the_counter | not_read | not_installed | view_lost | not_imported | not_what_the_machine_has.

Inductive verdict := allowed (c : tables) | refused (r : rule).

Definition need (b : bool) (r : rule) (v : verdict) : verdict := if b then v else refused r.

(* What was started before. *)
Definition if_found {A : Type} (found : option A) (v : A -> verdict) : verdict :=
  match found with Some e => v e | None => refused not_started end.

Section Checker.
  Variable N : nat.
  Variable table : list nat.            (* the slot of each resource *)

  Definition slot_in (r : resource) : slot := get table r.
  Definition all_slots : list slot := nodup Nat.eq_dec (0 :: table).

  Definition is_majority (Q : list nat) : bool :=
    distinct Q && forallb (fun m => m <? N) Q && (N <? 2 * length Q).

  Definition is_active (x : cells) : bool := match c_state x with active => true | _ => false end.
  Definition is_kept (x : cells) : bool := match c_lineage x with kept => true | _ => false end.
  Definition joins_as (x : cells) : option nat := match c_state x with joining inc => Some inc | _ => None end.

  Definition if_accepted (m : nat) (x : cells) (V : list nat) (v : verdict) : verdict :=
    need (is_active x) not_active
      (need (is_kept x) strayed
        (need (get (c_knows x) m =? get V m) other_incarnation
          (need (all_below (c_knows x) V) older_view v))).

  Definition lock_at (x : cells) (r : nat) : option lock := nth r (c_locks x) None.

  Definition find_try (c : tables) (name : nat) : option try_ := find (fun e => t_name e =? name) (tries c).
  Definition find_poll (c : tables) (name : nat) : option poll := find (fun e => p_name e =? name) (polls c).
  Definition find_ending (c : tables) (name : nat) : option ending := find (fun e => b_name e =? name) (endings c).

  Fixpoint replace {A : Type} (is : A -> bool) (v : A) (l : list A) : list A :=
    match l with
    | [] => []
    | x :: l' => if is x then v :: l' else x :: replace is v l'
    end.

  Definition with_try (c : tables) (e : try_) : tables := with_tries c (replace (fun x => t_name x =? t_name e) e (tries c)).
  Definition with_poll (c : tables) (e : poll) : tables := with_polls c (replace (fun x => p_name x =? p_name e) e (polls c)).
  Definition with_ending (c : tables) (e : ending) : tables :=
    with_endings c (replace (fun x => b_name x =? b_name e) e (endings c)).

  (* The token of a resource: the greatest of the frozen numbers. *)
  Definition token_of (F : list answer) (r : nat) : nat := list_max (map (fun p => get (snd p) r) F).

  Definition same_answer (a b : answer) : bool := (fst a =? fst b) && same_list (snd a) (snd b).

  (* ---- what masters were named ----------------------------------------------------------------------- *)

  Fixpoint lesser (a b : list nat) : list nat :=
    match a, b with
    | x :: a', y :: b' => min x y :: lesser a' b'
    | _, _ => []
    end.

  (* The base view: of each member the lowest incarnation that was named. *)
  Definition least (Q : list voice) : list nat :=
    match Q with
    | [] => []
    | p :: Q' => fold_left (fun V q => lesser V (snd q)) Q' (snd p)
    end.

  Definition view_at (Q : list voice) (m : nat) : list nat :=
    match find (fun p => fst p =? m) Q with Some p => snd p | None => [] end.

  Definition one_alone (V : list nat) (p q : voice) : bool :=
    (fst p =? fst q) ||
    forallb (fun w => (get (snd p) w =? get V w) || (get (snd q) w =? get V w)) (seq 0 (length (snd p))).

  (* The rule of Views.v (fair): one view for all, but for what one member alone was named more. *)
  Definition fairly (Q : list voice) (about : option nat) : bool :=
    let V := least Q in
    let same_for_all := match about with Some m => m :: map fst Q | None => map fst Q end in
    forallb (fun p => all_below V (snd p) && forallb (fun m => get (snd p) m =? get V m) same_for_all &&
                      forallb (one_alone V p) Q) Q.

  (* Each member once. *)
  Fixpoint once (Q : list voice) : list voice :=
    match Q with
    | [] => []
    | p :: Q' => if has (fst p) (map fst Q') then once Q' else p :: once Q'
    end.

  Definition counts_as_one (Q : list voice) : bool := is_majority (map fst Q) && fairly Q None.

  (* What counts is a majority, which was named views fairly. *)
  Definition if_counted (Q : list voice) (v : verdict) : verdict :=
    need (is_majority (map fst Q)) not_a_majority (need (fairly Q None) named_unfairly v).

  (* ---- step 1 -------------------------------------------------------------------------------------- *)

  (* Where the lock of a resource comes from after step 1; or the rule that does not allow it. *)
  Definition took (x : cells) (i r n : nat) : origin + rule :=
    match lock_at x r with
    | None => if get (c_counter x) (slot_in r) <? n then inl taken else inr not_above_the_counter
    | Some l =>
        if by_id l =? i then
          match from l with
          | imported => if get (c_counter x) (slot_in r) <? n then inl taken else inr not_above_the_counter
          | o => if n =? number l then inl o else inr not_the_number
          end
        else inr held_by_another
    end.

  (* The locks that step 1 leaves. *)
  Fixpoint take_all (x : cells) (i : nat) (n c : list nat) (rs : list nat) : list (option lock) + rule :=
    match rs with
    | [] => inl (c_locks x)
    | r :: rs' =>
        match take_all x i n c rs' with
        | inr why => inr why
        | inl ls =>
            match took x i r (get n r) with
            | inr why => inr why
            | inl o =>
                match o with
                | taken => if get n r <=? get c (slot_in r) then inl (put_at ls r (Some (Lock i (get n r) taken)) None)
                           else inr counter_below_the_number
                | _ => inl (put_at ls r (Some (Lock i (get n r) o)) None)
                end
            end
        end
    end.

  (* ---- step 4 -------------------------------------------------------------------------------------- *)

  Fixpoint confirm_all (x : cells) (i : nat) (F : list answer) (t c : list nat) (rs : list nat)
      : list (option lock) + rule :=
    match rs with
    | [] => inl (c_locks x)
    | r :: rs' =>
        match confirm_all x i F t c rs' with
        | inr why => inr why
        | inl ls =>
            match lock_at x r with
            | None => inr no_lock
            | Some l =>
                if negb (by_id l =? i) then inr held_by_another
                else if negb (get t r =? token_of F r) then inr not_the_token
                else if negb (number l <=? token_of F r) then inr number_above_the_token
                else if negb (token_of F r <=? get c (slot_in r)) then inr counter_below_the_number
                else inl (put_at ls r (Some (Lock i (token_of F r) (raised (Some l) (token_of F r)))) None)
            end
        end
    end.

  (* The answer p of the frozen set, with the view under which it was given. *)
  Definition said (answers : list (voice * list nat)) (p : answer) : option (voice * list nat) :=
    find (fun s => same_answer (fst (fst s), snd s) p) answers.

  (* Members of the frozen set that answered the tokens. *)
  Definition at_once (answers : list (voice * list nat)) (F : list answer) (what : list nat) : list voice :=
    flat_map (fun p => match said answers p with
                       | Some s => if forallb (fun r => get (snd s) r =? token_of F r) what then [fst s] else []
                       | None => []
                       end) F.

  (* Member m is one of the frozen set, as the incarnation that V names. *)
  Definition answered_as (answers : list (voice * list nat)) (F : list answer) (m : nat) (V : list nat) : bool :=
    existsb (fun s => (fst (fst s) =? m) && (get (snd (fst s)) m =? get V m) && existsb (same_answer (m, snd s)) F) answers.

  (* A grant of lock id i of the token n for resource r. *)
  Definition is_granted (i r n : nat) (e : try_) : bool :=
    t_granted e && (t_holder e =? i) && has r (t_what e) && match t_frozen e with Some F => token_of F r =? n | None => false end.

  (* ---- the rejoin ------------------------------------------------------------------------------------ *)

  Fixpoint merged_list (p : page) (c : list nat) : list nat :=
    match p with
    | [] => c
    | (sl, n) :: p' => let c' := merged_list p' c in put_at c' sl (max n (get c' sl)) 0
    end.

  Definition same_leader (a b : leader) : bool := same_list (l_view a) (l_view b) && (l_target a =? l_target b).
  Definition was_recorded (c : tables) (j : nat) (L : leader) : bool :=
    existsb (fun q => (fst q =? j) && same_leader (snd q) L) (records c).
  Definition was_read (c : tables) (j : nat) (L : leader) (p : page) : bool :=
    existsb (fun q => (fst (fst q) =? j) && same_leader (snd (fst q)) L && same_page (snd q) p) (reads c).
  Definition was_installed (c : tables) (m I j : nat) (L : leader) (sl : nat) : bool :=
    existsb (fun q => match q with (m', I', j', L', p) =>
      (m' =? m) && (I' =? I) && (j' =? j) && same_leader L' L && existsb (fun e => fst e =? sl) p end) (installs c).

  (* A page was installed at the member as I, or it was admitted so. *)
  Definition done_as (c : tables) (m I : nat) : bool :=
    existsb (fun q => match q with (m', I', _, _, _) => (m' =? m) && (I' =? I) end) (installs c) ||
    existsb (fun q => (fst q =? m) && (snd q =? I)) (admits c).

  (* The mark is the first one with I, or a copy. *)
  Definition may_mark (c : tables) (m k I : nat) : bool :=
    forallb (fun q => match q with (m', k', I') => negb ((m' =? m) && (I' =? I)) || ((k' =? k) && negb (done_as c m I)) end)
            (marks c).

  (* ---- all --------------------------------------------------------------------------------------------- *)

  Definition same_lock (a b : option lock) : bool :=
    match a, b with
    | None, None => true
    | Some a, Some b => (by_id a =? by_id b) && (number a =? number b)
    | _, _ => false
    end.

  (* The views under which pages were read. *)
  Definition voices_of (R : list (nat * leader)) : list voice := map (fun p => (fst p, l_view (snd p))) R.

  Definition shows_loss (x : cells) : bool :=
    match c_state x, c_lineage x with
    | out, _ => true
    | _, changed => true
    | _, _ => false
    end.

  Definition judge (c : tables) (d : action) : verdict :=
    match d with
    | Do_start name i what =>
        need (forallb (fun e => negb (t_name e =? name)) (tries c)) started_before
          (allowed (with_tries c (Try name i what [] None [] false :: tries c)))
    | Do_take name m k V n cs =>
        if_found (find_try c name) (fun e =>
            let x := machine_at c m k in
            if_accepted m x V
              (match take_all x (t_holder e) n cs (t_what e) with
               | inr why => refused why
               | inl ls =>
                   need (all_below (c_counter x) cs) counter_fell
                     (allowed (with_try (with_machine c m k (Cells (c_state x) (c_lineage x) V cs ls))
                        (Try name (t_holder e) (t_what e) ((m, V, n) :: t_answers e) (t_frozen e) (t_confirmed e)
                             (t_granted e))))
               end))
    | Do_freeze name F =>
        if_found (find_try c name) (fun e =>
            need (forallb (fun e' => negb (t_name e' =? name) || match t_frozen e' with None => true | _ => false end) (tries c))
              frozen_before
              (need (is_majority (map fst F)) not_a_majority
                (need (forallb (fun p => match said (t_answers e) p with Some _ => true | None => false end) F) not_answered
                  (allowed (with_try c (Try name (t_holder e) (t_what e) (t_answers e) (Some F) [] false))))))
    | Do_confirm name m k V t cs =>
        if_found (find_try c name) (fun e =>
            match t_frozen e with
            | None => refused not_frozen
            | Some F =>
                let x := machine_at c m k in
                if_accepted m x V
                  (need (answered_as (t_answers e) F m V) not_in_the_frozen_set
                    (match confirm_all x (t_holder e) F t cs (t_what e) with
                     | inr why => refused why
                     | inl ls =>
                         need (all_below (c_counter x) cs) counter_fell
                           (allowed (with_try (with_machine c m k (Cells (c_state x) (c_lineage x) V cs ls))
                              (Try name (t_holder e) (t_what e) (t_answers e) (t_frozen e)
                                   ((m, V) :: t_confirmed e) (t_granted e))))
                     end))
            end)
    | Do_grant name t =>
        if_found (find_try c name) (fun e =>
            match t_frozen e with
            | None => refused not_frozen
            | Some F =>
                need (forallb (fun r => get t r =? token_of F r) (t_what e)) not_the_token
                  (let all := at_once (t_answers e) F (t_what e) in
                   if counts_as_one all || counts_as_one (once (t_confirmed e))
                   then allowed (with_try c (Try name (t_holder e) (t_what e) (t_answers e) (t_frozen e) (t_confirmed e) true))
                   else if is_majority (map fst all) || is_majority (map fst (once (t_confirmed e)))
                        then refused named_unfairly else refused not_a_majority)
            end)
    | Do_told i r n =>
        need (existsb (is_granted i r n) (tries c)) not_granted (allowed c)
    | Do_start_counting name r values =>
        need (forallb (fun e => negb (p_name e =? name)) (polls c)) started_before
          (allowed (with_polls c (Poll name r values [] None :: polls c)))
    | Do_count name m k V n =>
        if_found (find_poll c name) (fun e =>
            let x := machine_at c m k in
            if_accepted m x V
              (need (get (c_counter x) (slot_in (p_counts e)) + p_values e <=? n) not_above_the_counter
                (allowed (with_poll
                   (with_machine c m k (Cells (c_state x) (c_lineage x) V
                                              (put_at (c_counter x) (slot_in (p_counts e)) n 0) (c_locks x)))
                   (Poll name (p_counts e) (p_values e) ((m, V, n) :: p_answers e) (p_agreed e))))))
    | Do_agree name n =>
        if_found (find_poll c name) (fun e =>
            need (forallb (fun e' => negb (p_name e' =? name) || match p_agreed e' with None => true | _ => false end) (polls c))
              agreed_before
              (if_counted (once (map fst (filter (fun p => snd p =? n) (p_answers e))))
                (allowed (with_poll c (Poll name (p_counts e) (p_values e) (p_answers e) (Some n))))))
    | Do_told_values r last values =>
        need (existsb (fun e => (p_counts e =? r) &&
                match p_agreed e with
                | Some n => (last <=? n) && (n + values <=? last + p_values e) && (negb (values =? 0) || (p_values e =? 0))
                | None => false
                end) (polls c)) not_counted
          (allowed c)
    | Do_start_breaking name r token =>
        need (forallb (fun e => negb (b_name e =? name)) (endings c)) started_before
          (allowed (with_endings c (Ending name r token [] false :: endings c)))
    | Do_break name m k V n =>
        if_found (find_ending c name) (fun e =>
            let x := machine_at c m k in
            if_accepted m x V
              (need (get (c_counter x) (slot_in (b_broken e)) <=? n) counter_fell
                (need (b_token e <? n) not_above_the_broken_token
                  (allowed (with_ending
                     (with_machine c m k (Cells (c_state x) (c_lineage x) V
                                                (put_at (c_counter x) (slot_in (b_broken e)) n 0) (c_locks x)))
                     (Ending name (b_broken e) (b_token e) ((m, V) :: b_broke e) (b_done e)))))))
    | Do_broken name =>
        if_found (find_ending c name) (fun e =>
            if_counted (once (b_broke e))
              (allowed (with_ending c (Ending name (b_broken e) (b_token e) (b_broke e) true))))
    | Do_vanish m k r =>
        let x := machine_at c m k in
        allowed (with_machine c m k (Cells (c_state x) (c_lineage x) (c_knows x) (c_counter x) (put_at (c_locks x) r None None)))
    | Do_rise m k cs =>
        let x := machine_at c m k in
        need (all_below (c_counter x) cs) counter_fell
          (allowed (with_machine c m k (Cells (c_state x) (c_lineage x) (c_knows x) cs (c_locks x))))
    | Do_hear m k V =>
        let x := machine_at c m k in
        if_accepted m x V (allowed (with_machine c m k (Cells (c_state x) (c_lineage x) V (c_counter x) (c_locks x))))
    | Do_join i r n m k V =>
        match find (is_granted i r n) (tries c) with
        | None => refused not_granted
        | Some _ =>
            let x := machine_at c m k in
            if_accepted m x V
              (need (match lock_at x r with None => true | _ => false end) lock_is_there
                (need (get (c_counter x) (slot_in r) <=? n) counter_above_the_token
                  (allowed (with_machine c m k (Cells (c_state x) (c_lineage x) V (put_at (c_counter x) (slot_in r) n 0)
                     (put_at (c_locks x) r (Some (Lock i n joined)) None))))))
        end
    | Do_fall m k x =>
        need (shows_loss x) loss_does_not_show (allowed (with_machine c m k x))
    | Do_restart m k =>
        let x := machine_at c m k in
        need (is_kept x) lineage_not_kept
          (allowed (with_machine c m k (Cells (c_state x) restarted (c_knows x) (c_counter x) (c_locks x))))
    | Do_trust m k =>
        let x := machine_at c m k in
        need (match c_lineage x with restarted => true | _ => false end) lost_something
          (allowed (with_machine c m k (Cells (c_state x) kept (c_knows x) (c_counter x) (c_locks x))))
    | Do_mark m k inc =>
        let x := machine_at c m k in
        need (negb (inc =? 0) && may_mark c m k inc) incarnation_given_before
          (allowed (with_mark (with_machine c m k (Cells (joining inc) kept (c_knows x) (c_counter x) [])) m k inc))
    | Do_record j k L =>
        let x := machine_at c j k in
        if_accepted j x (l_view L)
          (allowed (with_record
             (with_machine c j k (Cells (c_state x) (c_lineage x) (l_view L) (c_counter x) (c_locks x))) j L))
    | Do_read j k L p =>
        let x := machine_at c j k in
        need (was_recorded c j L) not_recorded
          (need (is_active x) not_active
            (need (is_kept x) strayed
              (need (get (c_knows x) j =? get (l_view L) j) other_incarnation
                (need (forallb (fun e => get (c_counter x) (fst e) =? snd e) p) not_the_counter
                  (allowed (with_read c j L p))))))
    | Do_install m k j L p =>
        let x := machine_at c m k in
        need (was_read c j L p) not_read
          (match joins_as x with
           | None => refused not_joining
           | Some inc =>
               need (is_kept x) strayed
                 (need (get (l_view L) m =? inc) not_of_this_rejoin
                   (allowed (with_install
                      (with_machine c m k (Cells (joining inc) kept (c_knows x) (merged_list p (c_counter x)) (c_locks x)))
                      m inc j L p)))
           end)
    | Do_install_lock m k r l =>
        let x := machine_at c m k in
        match joins_as x with
        | None => refused not_joining
        | Some inc =>
            need (is_kept x) strayed
              (need (match from l with imported => true | _ => false end) not_imported
                (allowed (with_machine c m k (Cells (joining inc) kept (c_knows x) (c_counter x) (put_at (c_locks x) r (Some l) None)))))
        end
    | Do_admit m k R W =>
        let x := machine_at c m k in
        let L := least (voices_of R) in
        match joins_as x with
        | None => refused not_joining
        | Some inc =>
            need (is_kept x) strayed
              (need (is_majority (map fst R)) not_a_majority
                (need (get L m =? inc) not_of_this_rejoin
                  (need (fairly (voices_of R) (Some m)) named_unfairly
                    (need (forallb (fun p => was_recorded c (fst p) (snd p)) R) not_recorded
                      (need (forallb (fun p => forallb (was_installed c m inc (fst p) (snd p)) all_slots) R) not_installed
                        (need ((get W m =? inc) && all_below L W) view_lost
                          (allowed (with_admission (with_machine c m k (Cells active kept W (c_counter x) (c_locks x)))
                                                   m inc))))))))
        end
    | Do_has m k r l => need (same_lock (lock_at (machine_at c m k) r) l) not_what_the_machine_has (allowed c)
    end.

  (* All of a history, from the first action on. *)
  Fixpoint judge_all (c : tables) (ds : list action) : verdict :=
    match ds with
    | [] => allowed c
    | d :: ds' =>
        match judge c d with
        | allowed c' => judge_all c' ds'
        | refused r => refused r
        end
    end.
End Checker.
