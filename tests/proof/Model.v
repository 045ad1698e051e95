(* The model: masters that lose their data, the locks and named counters that they keep, and the rejoin.

   README.md has a table of the rules, each beside the file of the code. Kept.v and Order.v have the proof. *)

From Pawl Require Import Base Views.

(* A try to acquire locks, all or none: one resource, or the several of a group. Each of its scripts names any view,
   however the server learned it. Two attempts may have one lock id: then they are one client's. *)
Record attempt := Attempt { name : nat; holder : lockid; what : list resource }.

(* A round of a named counter: one request for so many values. A reading asks for none. *)
Record round := Round { round_name : nat; counts : resource; values : nat }.

(* The second round of a break: it ends the grant of a resource with this token. *)
Record break := Break { break_name : nat; broken : resource; token : nat }.

(* Where the lock of a master comes from: it was counted there; an import brought it; or an extension did. No rule asks
   whether an extension brought it: that is kept for the proof. A tombstone is an imported lock under a lock id that no
   client has. *)
Inductive origin := taken | imported | joined.

Record lock := Lock { by_id : lockid; number : nat; from : origin }.

(* A machine has no marker (out), is joining with its new incarnation as the nonce, or is active. *)
Inductive status := out | joining (I : incarnation) | active.

(* The lineage of a machine is that of its marker (kept); new since a restart that lost nothing (restarted), which no
   script can tell from one that did; or new, whatever was lost (changed). *)
Inductive lineage := kept | restarted | changed.

(* What a machine of member m knows of m itself is its own incarnation. The counter of a slot is the greater of its field
   and of the floor. Each named counter is a slot. *)
Record machine := Machine {
  state_of : status;
  lineage_of : lineage;
  knows : view;
  counter : slot -> nat;
  locks : resource -> option lock }.

(* A page of counters: of any slots, all read at one moment. *)
Definition page := list (slot * nat).

Definition numbers := resource -> nat.

(* What happened. It is also the network: an answer stays in the history, and may arrive at any later time, any number of
   times, or never. "Member j" is any machine that claims to be j. V is the view that the script named. *)
Inductive event :=
| Started (a : attempt)                                        (* before its first message *)
| Answered (a : attempt) (m : member) (V : view) (x : numbers) (o : resource -> origin)
| Frozen (a : attempt) (F : list (member * numbers)) (t : numbers)
| Confirmed (a : attempt) (m : member) (V : view) (t : numbers) (o : resource -> origin)
| Granted (a : attempt) (t : numbers)
| Counting (c : round)                                         (* before its first message *)
| Counted (c : round) (m : member) (V : view) (n : nat)
| Agreed (c : round) (n : nat)                                 (* its values are n - values + 1 .. n *)
| Breaking (b : break)                                         (* before its first message *)
| Broke (b : break) (m : member) (V : view) (n : nat)          (* m broke the grant; its counter is n since *)
| Broken (b : break)                                           (* a majority broke the grant *)
| Joined (m : member) (V : view)                               (* an extension under V brought a lock to m *)
| Marked (m : member) (k : nat) (I : incarnation)              (* machine k of member m is to be I *)
| Recorded (j : member) (L : view)                             (* j recorded the view L of a leader *)
| Read (j : member) (L : view) (p : page)                      (* j answered a page to that leader *)
| Installed (m : member) (I : incarnation) (j : member) (L : view) (p : page)
| Activated (m : member) (L : view) (c : slot -> nat).         (* m is active, as L says; its counters *)

(* Each member may have any number of machines. Clients and leaders reach any of them. *)
Record state := State { machines : member -> nat -> machine; history : list event }.

(* At first machine 0 of each member is active as incarnation 0, and nothing is locked. No counter is below the floor.
   The other machines never belonged to the fleet. *)
Definition initial_above (floor : nat) (s : state) : Prop :=
  history s = [] /\
  forall m k, (forall r, locks (machines s m k) r = None) /\
    match k with
    | 0 => state_of (machines s m k) = active /\ (forall j, knows (machines s m k) j = 0) /\
           forall sl, floor <= counter (machines s m k) sl
    | _ => state_of (machines s m k) = out
    end.

Definition initial := initial_above 0.

(* Rules that may be switched off, one at a time: Broken.v shows that each is needed. *)
Inductive variant :=
| as_designed
| majority_of_answers     (* step 3 counts a majority of those that answered *)
| number_unchecked        (* step 4 checks no number *)
| late_answers_exact      (* late answers join, and step 4 wants the very number that was answered *)
| view_unchecked          (* scripts check no incarnation *)
| lineage_unchecked       (* scripts check no lineage *)
| incarnation_reused      (* an interrupted rejoin is begun anew with the same incarnation *)
| nonce_unchecked         (* a page, and the admission, may be of another rejoin of the member *)
| one_fewer_read          (* one member is read, not a majority of the others *)
| read_before_record      (* pages may be read before the record *)
| stored_number_answered  (* step 1 answers the number of an imported lock *)
| join_above_token        (* an extension joins a master whose counter is above the token *)
| join_ungranted          (* an extension names a token that was not granted *)
| older_disk_trusted      (* a master is trusted alone after it lost writes *)
| counts_may_differ       (* a round takes the greatest answer, where the masters differ *)
| broken_by_fewer         (* a break is over before a majority broke the grant *)
| named_at_will           (* what counts may have named any views *)
| half_way_trusted.       (* a master that stopped half-way through an import is trusted alone *)

Fixpoint mem (r : resource) (l : list resource) : bool :=
  match l with
  | [] => false
  | r' :: l' => if r =? r' then true else mem r l'
  end.

Lemma mem_in : forall r l, mem r l = true <-> In r l.
Proof.
  intros r l. induction l as [| r' l IH]; simpl; [split; [discriminate | contradiction] |].
  destruct (Nat.eqb_spec r r') as [-> | D]; [split; auto |]. rewrite IH. split; [auto |].
  intros [E | H]; [now destruct D | assumption].
Qed.

Lemma mem_not_in : forall r l, mem r l = false <-> ~ In r l.
Proof. intros r l. rewrite <- mem_in. destruct (mem r l); split; congruence. Qed.

Section Protocol.
  Variable slot_of : resource -> slot.   (* the counter of a name *)
  Variable slots : list slot.            (* all of them *)
  Variable quorum : list member -> Prop.
  Variable rules : variant.

  Definition members_of (F : list (member * numbers)) : list member := map fst F.
  Definition highest (F : list (member * numbers)) : numbers := fun r => list_max (map (fun p => snd p r) F).

  Definition put (M : member -> nat -> machine) (m k : nat) (x : machine) : member -> nat -> machine :=
    set M m (set (M m) k x).

  (* Rule: a master refuses a script if it is not active, if its lineage is not that of its marker, if its own
     incarnation is another one than the script names, and if it knows a higher one of any member. *)
  Definition accepts (m : member) (x : machine) (V : view) : Prop :=
    state_of x = active /\
    (rules <> lineage_unchecked -> lineage_of x = kept) /\
    (rules <> view_unchecked -> knows x m = V m /\ below (knows x) V).

  (* The master then knows what the sender knows. *)
  Definition told (x : machine) (V : view) : machine :=
    Machine (state_of x) (lineage_of x) V (counter x) (locks x).

  Definition counted_to (x : machine) (V : view) (c : slot -> nat) : machine :=
    Machine (state_of x) (lineage_of x) V c (locks x).

  (* The locks of all resources of an attempt are set at once. *)
  Definition locked (x : machine) (V : view) (c : slot -> nat) (rs : list resource) (i : lockid) (n : numbers)
      (o : resource -> origin) : machine :=
    Machine (state_of x) (lineage_of x) V c
            (fun r => if mem r rs then Some (Lock i (n r) (o r)) else locks x r).

  (* Counters rise: by what a script counts, by a hint, by another script of the same turn. *)
  Definition rise (c c' : slot -> nat) : Prop := forall sl, c sl <= c' sl.

  (* Step 1 at one resource. A free lock is counted: its number is above the counter. So is one that an import brought
     under the same lock id. A lock under the same lock id that was not imported keeps its number. *)
  Definition may_take (x : machine) (i : lockid) (r : resource) (n : nat) (o : origin) : Prop :=
    (o = taken /\ counter x (slot_of r) < n /\
     (locks x r = None \/ exists l, locks x r = Some l /\ by_id l = i /\ from l = imported)) \/
    (exists l, locks x r = Some l /\ by_id l = i /\ (rules <> stored_number_answered -> from l <> imported) /\
       n = number l /\ o = from l).

  (* Step 3. Rule: the members that agree are a quorum of all members. *)
  Definition enough (Q : list member) (F : list (member * numbers)) : Prop :=
    match rules with
    | majority_of_answers => NoDup Q /\ length F < 2 * length Q
    | _ => quorum Q
    end.

  (* Step 4 at one resource, under view V. Rule: the member is one of the frozen set, as the incarnation that answered; and
     the number is not above the token. *)
  Definition may_confirm (h : list event) (a : attempt) (F : list (member * numbers)) (t : numbers) (m : member) (V : view)
      (r : resource) (n : nat) : Prop :=
    match rules with
    | number_unchecked => In m (members_of F)
    | late_answers_exact => exists W x o, In (Answered a m W x o) h /\ x r = n
    | _ => (exists W x o, In (m, x) F /\ In (Answered a m W x o) h /\ W m = V m) /\ n <= t r
    end.

  (* What counts was named one view V, but for what one member alone was named more (Views.v). Rule. N is what each was
     named, of a quorum Q. *)
  Definition named_fairly (V : view) (N : member -> view) (Q : list member) (about : option member) : Prop :=
    rules <> named_at_will -> fair V N Q about.

  Definition raised (l : option lock) (t : nat) : origin :=
    match l with
    | Some l => if number l <? t then taken else from l
    | None => taken
    end.

  (* Several masters counted. Rule: they answered one number. *)
  Definition agree (h : list event) (c : round) (N : member -> view) (Q : list member) (n : nat) : Prop :=
    match rules with
    | counts_may_differ => exists F, Q = map fst F /\ n = list_max (map snd F) /\
        forall m x, In (m, x) F -> In (Counted c m (N m) x) h
    | _ => forall m, In m Q -> In (Counted c m (N m) n) h
    end.

  (* A page is merged: each counter is the maximum of both. *)
  Fixpoint merged (p : page) (c : slot -> nat) : slot -> nat :=
    match p with
    | [] => c
    | (sl, n) :: p' => fun sl' => if sl' =? sl then max n (merged p' c sl') else merged p' c sl'
    end.

  (* The mark of machine k of member m as I is the first one with I; or a copy of it, for the same machine, before a page
     was installed or the member was admitted as I. *)
  Definition first_or_copy (h : list event) (m : member) (k : nat) (I : incarnation) : Prop :=
    forall k', In (Marked m k' I) h -> k' = k /\
      (forall j L p, ~ In (Installed m I j L p) h) /\ (forall L c, In (Activated m L c) h -> L m <> I).

  Inductive step : state -> state -> Prop :=

  (* ---- acquire ---------------------------------------------------------------------------------- *)

  (* An attempt starts. Its step 1 may arrive at any master, at any later time, any number of times. *)
  | Start : forall M h a,
      ~ In (Started a) h ->
      step (State M h) (State M (Started a :: h))

  (* Step 1: all resources of the attempt, or none. Rule: what was counted is not above the counters after it. *)
  | Take : forall M h a m k V c n o,
      In (Started a) h ->
      accepts m (M m k) V ->
      (forall r, In r (what a) -> may_take (M m k) (holder a) r (n r) (o r)) ->
      rise (counter (M m k)) c ->
      (forall r, In r (what a) -> o r = taken -> n r <= c (slot_of r)) ->
      step (State M h)
           (State (put M m k (locked (M m k) V c (what a) (holder a) n o)) (Answered a m V n o :: h))

  (* Step 2: once a quorum answered, the server freezes its answers. The token is the greatest. *)
  | Freeze : forall M h a F,
      In (Started a) h ->
      (forall F' t', ~ In (Frozen a F' t') h) ->
      quorum (members_of F) ->
      (forall m x, In (m, x) F -> exists V o, In (Answered a m V x o) h) ->
      step (State M h) (State M (Frozen a F (highest F) :: h))

  (* Step 4: the master raises its counters, and the numbers of the locks, to the tokens: all or none. *)
  | Confirm : forall M h a F t m k V c,
      In (Frozen a F t) h ->
      accepts m (M m k) V ->
      (forall r, In r (what a) -> exists l, locks (M m k) r = Some l /\ by_id l = holder a /\
         may_confirm h a F t m V r (number l)) ->
      rise (counter (M m k)) c ->
      (forall r, In r (what a) -> t r <= c (slot_of r)) ->
      let o := fun r => raised (locks (M m k) r) (t r) in
      step (State M h)
           (State (put M m k (locked (M m k) V c (what a) (holder a) t o)) (Confirmed a m V t o :: h))

  (* Step 3: all of a quorum answered the tokens. *)
  | Grant_at_once : forall M h a F t Q V N,
      In (Frozen a F t) h ->
      enough Q F ->
      named_fairly V N Q None ->
      (forall m, In m Q -> exists x o, In (m, x) F /\ In (Answered a m (N m) x o) h /\
         forall r, In r (what a) -> x r = t r) ->
      step (State M h) (State M (Granted a t :: h))

  (* The end of step 4: all of a quorum confirmed the tokens. *)
  | Grant_confirmed : forall M h a F t Q V N,
      In (Frozen a F t) h ->
      quorum Q ->
      named_fairly V N Q None ->
      (forall m, In m Q -> exists o, In (Confirmed a m (N m) t o) h) ->
      step (State M h) (State M (Granted a t :: h))

  (* ---- named counters --------------------------------------------------------------------------- *)

  | Start_counting : forall M h c,
      ~ In (Counting c) h ->
      step (State M h) (State M (Counting c :: h))

  (* The master counts from its counter on, or from a hint above it. The same message twice counts twice. *)
  | Count : forall M h c m k V base,
      In (Counting c) h ->
      accepts m (M m k) V ->
      counter (M m k) (slot_of (counts c)) <= base ->
      step (State M h)
           (State (put M m k (counted_to (M m k) V (set (counter (M m k)) (slot_of (counts c)) (base + values c))))
                  (Counted c m V (base + values c) :: h))

  (* The round has its values once a quorum answered one number. A round ends once. *)
  | Agree : forall M h c n Q V N,
      (forall n', ~ In (Agreed c n') h) ->
      quorum Q ->
      named_fairly V N Q None ->
      agree h c N Q n ->
      step (State M h) (State M (Agreed c n :: h))

  (* ---- breaks ----------------------------------------------------------------------------------- *)

  | Start_breaking : forall M h b,
      ~ In (Breaking b) h ->
      step (State M h) (State M (Breaking b :: h))

  (* The master raises its counter above the token. (It also deletes the lock: that is Vanish.) *)
  | Break_at : forall M h b m k V n,
      In (Breaking b) h ->
      accepts m (M m k) V ->
      counter (M m k) (slot_of (broken b)) <= n -> token b < n ->
      step (State M h)
           (State (put M m k (counted_to (M m k) V (set (counter (M m k)) (slot_of (broken b)) n)))
                  (Broke b m V n :: h))

  | Break_done : forall M h b Q V N,
      (rules <> broken_by_fewer -> quorum Q) ->
      named_fairly V N Q None ->
      (forall m, In m Q -> exists n, In (Broke b m (N m) n) h /\ token b < n) ->
      step (State M h) (State M (Broken b :: h))

  (* ---- what comes between ----------------------------------------------------------------------- *)

  (* Expiry, release, clean-up, undo, break: the lock is not there any more. *)
  | Vanish : forall M h m k r,
      step (State M h)
           (State (put M m k (Machine (state_of (M m k)) (lineage_of (M m k)) (knows (M m k))
                                      (counter (M m k)) (set (locks (M m k)) r None))) h)

  (* Counters rise, for any reason. *)
  | Rise : forall M h m k c,
      rise (counter (M m k)) c ->
      step (State M h)
           (State (put M m k (Machine (state_of (M m k)) (lineage_of (M m k)) (knows (M m k)) c (locks (M m k)))) h)

  (* Any other script that the master accepts: an extension of a lock that is there, an inspection. *)
  | Hear : forall M h m k V,
      accepts m (M m k) V ->
      step (State M h) (State (put M m k (told (M m k) V)) h)

  (* An extension joins a master where the lock is free. Rule: the counter of the master is not above the token. Rule:
     the holder names a token that its lock id was granted. *)
  | Join : forall M h m k V a r n x,
      (rules <> join_ungranted -> In (Granted a x) h /\ n = x r) ->
      In (Started a) h ->
      In r (what a) ->
      accepts m (M m k) V ->
      locks (M m k) r = None ->
      (rules <> join_above_token -> counter (M m k) (slot_of r) <= n) ->
      step (State M h)
           (State (put M m k (locked (M m k) V (set (counter (M m k)) (slot_of r) n) [r] (holder a)
                                     (fun _ => n) (fun _ => joined)))
                  (Joined m V :: h))

  (* ---- what machines suffer --------------------------------------------------------------------- *)

  (* A machine loses anything: it is in any state, be it blank, an older one of its own, or nonsense. But its marker was removed, or its lineage is not that of its marker. This is the one thing that Pawl asks of Redis. *)
  | Fall : forall M h m k x,
      state_of x = out \/ lineage_of x = changed ->
      step (State M h) (State (put M m k x) h)

  (* A restart that loses nothing; and the trust in such a machine, where too few others can be asked. *)
  | Restart : forall M h m k,
      lineage_of (M m k) = kept ->
      step (State M h)
           (State (put M m k (Machine (state_of (M m k)) restarted (knows (M m k))
                                      (counter (M m k)) (locks (M m k)))) h)

  | Trust : forall M h m k,
      (rules <> older_disk_trusted -> lineage_of (M m k) = restarted) ->
      step (State M h)
           (State (put M m k (Machine (state_of (M m k)) kept (knows (M m k))
                                      (counter (M m k)) (locks (M m k)))) h)

  (* ---- rejoin by import -------------------------------------------------------------------------- *)

  (* A leader marks any machine at any time: one that is blank, joining, or active. Rule: the incarnation was never
     given to this member; or the mark is a copy of the one that gave it, and nothing was done under it since. The master
     removes its locks. Its counters and its view may stay. *)
  | Mark : forall M h m k I,
      I <> 0 ->
      (rules <> incarnation_reused -> first_or_copy h m k I) ->
      step (State M h)
           (State (put M m k (Machine (joining I) kept (knows (M m k)) (counter (M m k)) (fun _ => None)))
                  (Marked m k I :: h))

  (* Member j records the view L of a leader. The new incarnation is in L. *)
  | Record_view : forall M h j k L,
      accepts j (M j k) L ->
      step (State M h) (State (put M j k (told (M j k) L)) (Recorded j L :: h))

  (* Member j answers a page. Rule: its incarnation is the one that recorded the view, and the record came before. *)
  | Read_page : forall M h j k L p,
      (rules <> read_before_record -> In (Recorded j L) h) ->
      state_of (M j k) = active ->
      lineage_of (M j k) = kept ->
      knows (M j k) j = L j ->
      (forall sl n, In (sl, n) p -> counter (M j k) sl = n) ->
      step (State M h) (State M (Read j L p :: h))

  (* The leader installs a page, at any later time. Rule: the machine is still joining with this nonce. *)
  | Install : forall M h m k I j L p,
      In (Read j L p) h ->
      state_of (M m k) = joining I ->
      lineage_of (M m k) = kept ->
      (rules <> nonce_unchecked -> L m = I) ->
      step (State M h)
           (State (put M m k (Machine (joining I) kept (knows (M m k))
                                      (merged p (counter (M m k))) (locks (M m k))))
                  (Installed m I j L p :: h))

  (* So is a lock, marked as imported: of any lock id, under any number, or a tombstone. *)
  | Install_lock : forall M h m k I r l,
      state_of (M m k) = joining I ->
      lineage_of (M m k) = kept ->
      from l = imported ->
      step (State M h)
           (State (put M m k (Machine (joining I) kept (knows (M m k)) (counter (M m k))
                                      (set (locks (M m k)) r (Some l)))) h)

  (* Rule: a machine is admitted when a quorum recorded it, and when pages of each of the quorum were installed that
     cover all slots. The machine knows at least the base view L of its leader. *)
  | Admit : forall M h m k I L N R W,
      state_of (M m k) = joining I ->
      lineage_of (M m k) = kept ->
      (rules <> nonce_unchecked -> L m = I) ->
      (rules <> one_fewer_read -> quorum R) ->
      named_fairly L N R (Some m) ->
      (forall j, In j R -> In (Recorded j (N j)) h /\
         forall sl, In sl slots -> exists p n, In (Installed m I j (N j) p) h /\ In (sl, n) p) ->
      W m = I -> below L W ->
      step (State M h)
           (State (put M m k (Machine active kept W (counter (M m k)) (locks (M m k))))
                  (Activated m L (counter (M m k)) :: h))

  (* A machine that stopped half-way through an import is trusted alone. Rule: none is. (The code trusts one that lost
     nothing. That is left out.) *)
  | Trust_half_way : forall M h m k I,
      rules = half_way_trusted ->
      state_of (M m k) = joining I ->
      lineage_of (M m k) = kept ->
      step (State M h)
           (State (put M m k (Machine active kept (set (knows (M m k)) m I) (counter (M m k)) (locks (M m k)))) h).

  Inductive steps : state -> state -> Prop :=
  | done : forall s, steps s s
  | next : forall s s' s'', step s s' -> steps s' s'' -> steps s s''.

  Definition reachable_above (floor : nat) (s : state) : Prop := exists s0, initial_above floor s0 /\ steps s0 s.

  Definition reachable := reachable_above 0.
End Protocol.

(* ---- The promises ----------------------------------------------------------------------------------- *)

(* P1, of two grants of one resource, each maybe of a group. Under different lock ids their tokens differ. If one was
   granted before the other attempt started, its token is lower; or, under the same lock id, at least not higher. *)
Definition P1 (h : list event) : Prop :=
  forall a b ta tb at_a at_b start_b r,
    happened h at_a (Granted a ta) ->
    happened h at_b (Granted b tb) ->
    happened h start_b (Started b) ->
    In r (what a) -> In r (what b) ->
    (holder a <> holder b -> ta r <> tb r) /\
    (at_a < start_b -> ta r <= tb r /\ (holder a <> holder b -> ta r < tb r)).

(* Every attempt under lock id i started after t. *)
Definition fresh_after (h : list event) (t : time) (i : lockid) : Prop :=
  forall start c, happened h start (Started c) -> holder c = i -> t < start.

(* Seats: two locks that share a counter. If a was granted before any attempt under b's lock id started, a's token is
   lower, whichever seats they are for. *)
Definition seats_in_order (slot_of : resource -> slot) (h : list event) : Prop :=
  forall a b ta tb at_a at_b r s,
    happened h at_a (Granted a ta) ->
    happened h at_b (Granted b tb) ->
    fresh_after h at_a (holder b) ->
    In r (what a) -> In s (what b) -> slot_of r = slot_of s ->
    ta r < tb s.

(* A writer has all seats. A reader, which has one of them, comes after the writer, maybe as a retry under an earlier lock
   id: the token of the reader is not below any number of the writer. *)
Definition reader_after_writer (slot_of : resource -> slot) (h : list event) : Prop :=
  forall w b tw tb at_w at_b start_b r s,
    happened h at_w (Granted w tw) ->
    happened h at_b (Granted b tb) ->
    happened h start_b (Started b) ->
    at_w < start_b -> holder w <> holder b ->
    In r (what w) -> In s (what w) -> In s (what b) -> slot_of r = slot_of s ->
    tw r <= tb s.

(* Named counters: of two rounds of one counter the blocks lie apart. If one agreed before the other started, its block is
   the lower one. *)
Definition blocks_in_order (slot_of : resource -> slot) (h : list event) : Prop :=
  forall c d nc nd at_c at_d start_d,
    happened h at_c (Agreed c nc) ->
    happened h at_d (Agreed d nd) ->
    happened h start_d (Counting d) ->
    slot_of (counts c) = slot_of (counts d) -> c <> d ->
    (nc + values d <= nd \/ nd + values c <= nc) /\
    (at_c < start_d -> nc + values d <= nd).

(* Breaks: a grant whose lock id is new since the break has a token above the one that was broken. *)
Definition breaks_in_order (slot_of : resource -> slot) (h : list event) : Prop :=
  forall b a t at_b at_a r,
    happened h at_b (Broken b) ->
    happened h at_a (Granted a t) ->
    fresh_after h at_b (holder a) ->
    In r (what a) -> slot_of r = slot_of (broken b) ->
    token b < t r.

(* Nothing is granted at or below the floor. *)
Definition above_floor (floor : nat) (h : list event) : Prop :=
  (forall t a x r, happened h t (Granted a x) -> In r (what a) -> floor < x r) /\
  (forall t c n, happened h t (Agreed c n) -> floor + values c <= n).
