(* Positions: a master whose disk went back to an older state of its own is trusted alone, if it is not behind.

   Each script that a master accepts raises its position: the incarnation, and how often it wrote under it. Its answers
   carry the position. A master that comes back is compared with the highest position that is known of it
   (fence/fleet/positions.c). In this file every position that was answered is known. *)

From Pawl Require Import Base Views Model Kept Order Promises.

Section Disks.
  Variable slot_of : resource -> slot.
  Variable slots : list slot.
  Variable quorum : list member -> Prop.
  Hypothesis slots_are_all : forall r, In (slot_of r) slots.
  Variable positions_compared : bool.    (* false: the rule is switched off *)

  Notation step := (step slot_of slots quorum as_designed).
  Notation steps := (steps slot_of slots quorum as_designed).
  Notation fine := (fine slot_of quorum).

  (* The incarnation under which machine x of member m writes, or is to write. *)
  Definition writes_as (m : member) (x : machine) : incarnation :=
    match state_of x with joining J => J | _ => knows x m end.

  (* Since x was as it is, member m has answered nothing as this incarnation: no position that is known is above the one
     of x. *)
  Definition not_behind (before now : list event) (m : member) (x : machine) : Prop :=
    exists since, now = since ++ before /\ forall e, In e since -> ~ concerns e m (writes_as m x).

  (* The states that a state leads to, where machines may also come back as they were, and are trusted. *)
  Inductive leads : state -> state -> Prop :=
  | stays : forall s, leads s s
  | goes_on : forall s s' s'', leads s s' -> step s' s'' -> leads s s''
  | comes_back : forall s s1 s2 m k, leads s s1 -> leads s1 s2 ->
      (positions_compared = true -> not_behind (history s1) (history s2) m (machines s1 m k)) ->
      leads s (State (put (machines s2) m k (machines s1 m k)) (history s2)).

  Definition reachable_with_disks (s : state) : Prop := exists s0, initial s0 /\ leads s0 s.

  Lemma leads_by_steps : forall s1 s2, steps s1 s2 -> forall s, leads s s1 -> leads s s2.
  Proof. induction 1; intros; eauto using goes_on. Qed.

  Lemma still_fine : forall e h m k x, ~ concerns e m (writes_as m x) ->
    machine_is_fine slot_of h m k x -> machine_is_fine slot_of (e :: h) m k x.
  Proof.
    intros e h m k x N F L. specialize (F L). unfold writes_as in N. destruct (state_of x) as [| J |]; [assumption | |];
      destruct F as [G F]; (split; [now apply given_stays |]).
    - now apply joining_unconcerned.
    - now apply active_unconcerned.
  Qed.

  Lemma fine_as_it_was : forall since h m k x, (forall e, In e since -> ~ concerns e m (writes_as m x)) ->
    machine_is_fine slot_of h m k x -> machine_is_fine slot_of (since ++ h) m k x.
  Proof.
    induction since as [| e since IH]; intros h m k x N F; [assumption |].
    apply still_fine; [apply N; now left |]. apply IH; [| assumption]. intros e' He. apply N. now right.
  Qed.

  Hypothesis rule : positions_compared = true.

  Lemma leads_to_fine : forall s s', leads s s' -> fine s -> fine s'.
  Proof.
    intros s s' H. induction H as [| s s' s'' H IH Hs | s s1 s2 m k H1 IH1 H2 IH2 N]; intro F; [assumption | |].
    - eapply kept_by_step; eauto.
    - destruct (N rule) as (since & E & Hn). apply fine_by_quiet_move; [destruct s2; auto |].
      rewrite E. apply fine_as_it_was; [assumption |]. apply (proj2 (IH1 F)).
  Qed.
End Disks.

(* So tokens, blocks and breaks stay in order. *)
Theorem disks_that_are_not_behind_keep_the_order : forall N slot_of slots s,
  (forall r, In (slot_of r) slots) -> reachable_with_disks slot_of slots (majority N) true s ->
  P1 (history s) /\ seats_in_order slot_of (history s) /\ reader_after_writer slot_of (history s) /\
  blocks_in_order slot_of (history s) /\ breaks_in_order slot_of (history s).
Proof.
  intros N slot_of slots s Hall (s0 & H0 & H).
  pose proof (leads_to_fine slot_of slots (majority N) Hall true eq_refl s0 s H (fine_at_first _ _ _ _ H0)) as [F _].
  pose proof (majorities_meet N) as M. pose proof (majorities_share N) as Sh.
  split; [eapply fine_gives_P1; eassumption |]. split; [eapply fine_gives_seats; eassumption |].
  split; [eapply fine_gives_reader_after_writer; eassumption |].
  split; [eapply fine_gives_blocks; eassumption | eapply fine_gives_breaks; eassumption].
Qed.
