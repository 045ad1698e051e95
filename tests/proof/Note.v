(* The note of a break: an extension that was asked after a break is not answered by acquiring the lock again.

   One grant, of one lock id, is broken. A master that breaks it leaves a note. An extension of this grant that finds no
   lock may acquire the lock again, under the same lock id and with a new token (fence/call/reacquire.c). It may not where
   one of its masters has the note (fence/master/break.c).

   The note is not needed for the order of tokens: Model.v has no note, and the token of a lock that is acquired again is
   that of an attempt. It is needed for what an operator expects of a break: the holder does not come back unasked.

   No master of this file loses its data. *)

From Pawl Require Import Base.

Definition extension := nat.

Inductive event :=
| Broke (m : member)                        (* m broke the grant, and left a note *)
| Broken                                    (* a majority did *)
| Asked (e : extension)                     (* before its first message *)
| Found_none (e : extension) (m : member)   (* m answered: no lock, and no note *)
| Acquires_again (e : extension).           (* the server begins an attempt under the same lock id *)

Record state := State { noted : member -> bool; history : list event }.

Inductive variant :=
| as_designed
| note_not_looked_at     (* a master answers "no lock" where it has the note *)
| again_by_fewer.        (* fewer than a majority have to answer *)

Section Note.
  Variable quorum : list member -> Prop.
  Variable rules : variant.

  (* Messages are late, lost and doubled: each step needs only that what it answers was asked once. *)
  Inductive step : state -> state -> Prop :=
  | Break_at : forall n h m, step (State n h) (State (fun j => if j =? m then true else n j) (Broke m :: h))
  | Break_done : forall n h Q, quorum Q -> (forall m, In m Q -> In (Broke m) h) -> step (State n h) (State n (Broken :: h))
  | Ask : forall n h e, ~ In (Asked e) h -> step (State n h) (State n (Asked e :: h))
  | Find_none : forall n h e m, In (Asked e) h -> (rules <> note_not_looked_at -> n m = false) ->
      step (State n h) (State n (Found_none e m :: h))
  | Acquire_again : forall n h e Q, Q <> [] -> (rules <> again_by_fewer -> quorum Q) ->
      (forall m, In m Q -> In (Found_none e m) h) -> step (State n h) (State n (Acquires_again e :: h)).

  Inductive reachable : state -> Prop :=
  | at_first : reachable (State (fun _ => false) [])
  | later : forall s s', reachable s -> step s s' -> reachable s'.
End Note.

(* Extension e was asked after the break. *)
Definition asked_after (h : list event) (e : extension) : Prop :=
  exists later_on before, h = later_on ++ Asked e :: before /\ In Broken before.

(* Such an extension does not acquire again. *)
Definition broken_for_good (h : list event) : Prop := forall e, asked_after h e -> ~ In (Acquires_again e) h.

Lemma asked_before : forall x h e, asked_after (x :: h) e -> asked_after h e \/ (x = Asked e /\ In Broken h).
Proof.
  intros x h e (l & before & E & H). destruct l as [| y l]; injection E as <- ->; [now right |].
  left. now exists l, before.
Qed.

Section Kept.
  Variable quorum : list member -> Prop.
  Hypothesis quorums_meet : meet quorum.

  Record fine (s : state) : Prop := {
    f_noted : forall m, In (Broke m) (history s) -> noted s m = true;
    f_broken : In Broken (history s) -> exists Q, quorum Q /\ forall m, In m Q -> noted s m = true;
    f_found : forall e m, In (Found_none e m) (history s) -> In (Asked e) (history s);
    f_again : forall e, In (Acquires_again e) (history s) -> In (Asked e) (history s);
    f_silent : forall e, asked_after (history s) e ->
      exists Q, quorum Q /\ forall m, In m Q -> noted s m = true /\ ~ In (Found_none e m) (history s);
    f_good : broken_for_good (history s) }.

  Lemma fine_step : forall s s', step quorum as_designed s s' -> fine s -> fine s'.
  Proof.
    intros s s' Hs [F1 F2 F3 F4 F5 F6].
    destruct Hs as [n h m | n h Q HQ HB | n h e He | n h e m He Hn | n h e Q H0 HQ HF]; cbn [noted history] in *;
      constructor; cbn [noted history].
    - intros j [E | H]; [injection E as ->; now rewrite Nat.eqb_refl |]. rewrite (F1 j H). now destruct (j =? m).
    - intros [E | H]; [discriminate |]. destruct (F2 H) as (Q & HQ & X). exists Q. split; [assumption |].
      intros j Hj. rewrite (X j Hj). now destruct (j =? m).
    - intros e j [E | H]; [discriminate |]. right. eauto.
    - intros e [E | H]; [discriminate |]. right. eauto.
    - intros e H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      destruct (F5 e H) as (Q & HQ & X). exists Q. split; [assumption |]. intros j Hj. destruct (X j Hj) as [X1 X2].
      rewrite X1. split; [now destruct (j =? m) |]. intros [E | H']; [discriminate | contradiction].
    - intros e H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      intros [E | H']; [discriminate | exact (F6 e H H')].
    - intros j [E | H]; [discriminate | auto].
    - intros _. exists Q. split; [assumption | auto].
    - intros e j [E | H]; [discriminate |]. right. eauto.
    - intros e [E | H]; [discriminate |]. right. eauto.
    - intros e H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      destruct (F5 e H) as (R & HR & X). exists R. split; [assumption |]. intros j Hj. destruct (X j Hj) as [X1 X2].
      split; [assumption |]. intros [E | H']; [discriminate | contradiction].
    - intros e H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      intros [E | H']; [discriminate | exact (F6 e H H')].
    - intros j [E | H]; [discriminate | auto].
    - intros [E | H]; [discriminate | auto].
    - intros e' j [E | H]; [discriminate |]. right. eauto.
    - intros e' [E | H]; [discriminate |]. right. eauto.
    - (* It is asked now: no master has answered it before. *)
      intros e' H. apply asked_before in H. destruct H as [H | [E H]].
      + destruct (F5 e' H) as (R & HR & X). exists R. split; [assumption |]. intros j Hj. destruct (X j Hj) as [X1 X2].
        split; [assumption |]. intros [E | H']; [discriminate | contradiction].
      + injection E as ->. destruct (F2 H) as (R & HR & X). exists R. split; [assumption |]. intros j Hj.
        split; [auto |]. intros [E | H']; [discriminate | apply He; eauto].
    - intros e' H. apply asked_before in H. destruct H as [H | [E H]]; (intros [E' | H']; [discriminate |]).
      + exact (F6 e' H H').
      + injection E as ->. apply He. eauto.
    - intros j [E | H]; [discriminate | auto].
    - intros [E | H]; [discriminate | auto].
    - intros e' j [E | H]; [injection E as <- <-; now right | right; eauto].
    - intros e' [E | H]; [discriminate |]. right. eauto.
    - (* A master with the note does not answer that there is none. *)
      intros e' H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      destruct (F5 e' H) as (R & HR & X). exists R. split; [assumption |]. intros j Hj. destruct (X j Hj) as [X1 X2].
      split; [assumption |]. intros [E | H']; [| contradiction]. injection E as _ ->.
      rewrite Hn in X1; [discriminate | discriminate].
    - intros e' H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      intros [E | H']; [discriminate | exact (F6 e' H H')].
    - intros j [E | H]; [discriminate | auto].
    - intros [E | H]; [discriminate | auto].
    - intros e' j [E | H]; [discriminate |]. right. eauto.
    - intros e' [E | H]; [| right; eauto]. injection E as <-. right. destruct Q as [| j Q]; [contradiction |].
      apply (F3 e j), HF. now left.
    - intros e' H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      destruct (F5 e' H) as (R & HR & X). exists R. split; [assumption |]. intros j Hj. destruct (X j Hj) as [X1 X2].
      split; [assumption |]. intros [E | H']; [discriminate | contradiction].
    - (* The majority that broke the grant and the one that answered share a master. *)
      intros e' H. apply asked_before in H. destruct H as [H | [E _]]; [| discriminate].
      intros [E | H']; [| exact (F6 e' H H')]. injection E as <-. destruct (F5 e H) as (R & HR & X).
      destruct (quorums_meet Q R) as (j & jQ & jR); [apply HQ; discriminate | assumption |].
      destruct (X j jR) as [_ X2]. apply X2, HF, jQ.
  Qed.

  Lemma reachable_is_fine : forall s, reachable quorum as_designed s -> fine s.
  Proof.
    induction 1 as [| s s' H IH Hs]; [| eapply fine_step; eassumption].
    constructor; cbn; try contradiction; [intros e H | intros e H H'; contradiction].
    destruct H as (l & before & E & _). destruct l; discriminate.
  Qed.
End Kept.

Theorem broken_grants_are_broken_for_good : forall N s, reachable (majority N) as_designed s -> broken_for_good (history s).
Proof. intros N s H. apply (f_good (majority N)), reachable_is_fine; [apply majorities_meet | assumption]. Qed.

(* ---- Each rule is needed ------------------------------------------------------------------------------- *)

Lemma two_of_three : majority 3 [0; 1].
Proof.
  split; [| split; [intros m [<- | [<- | []]]; lia | cbn; lia]].
  constructor; [intros [E | []]; discriminate | constructor; [intros [] | constructor]].
Qed.

Ltac first_break := eapply later; [eapply later; [eapply later; [apply at_first | apply (Break_at _ _ _ _ 0)] |
  apply (Break_at _ _ _ _ 1)] | apply Break_done with (Q := [0; 1]);
  [apply two_of_three | cbn; intuition (subst; auto)]].

Theorem broken_where_the_note_is_not_looked_at : exists s,
  reachable (majority 3) note_not_looked_at s /\ ~ broken_for_good (history s).
Proof.
  eexists. split.
  - eapply later; [eapply later; [eapply later; [eapply later; [first_break | apply Ask with (e := 0); cbn; intuition discriminate] |
      apply Find_none with (e := 0) (m := 0); [cbn; auto | congruence]] |
      apply Find_none with (e := 0) (m := 1); [cbn; auto | congruence]] |
      apply Acquire_again with (e := 0) (Q := [0; 1]); [discriminate | | cbn; intuition (subst; auto)]].
    intros _. apply two_of_three.
  - intro H. apply (H 0); [| now left].
    exists [Acquires_again 0; Found_none 0 1; Found_none 0 0], [Broken; Broke 1; Broke 0]. split; [reflexivity | now left].
Qed.

(* Master 2 has no note. *)
Theorem broken_where_fewer_find_no_lock : exists s,
  reachable (majority 3) again_by_fewer s /\ ~ broken_for_good (history s).
Proof.
  eexists. split.
  - eapply later; [eapply later; [eapply later; [first_break | apply Ask with (e := 0); cbn; intuition discriminate] |
      apply Find_none with (e := 0) (m := 2); [cbn; auto | reflexivity]] |
      apply Acquire_again with (e := 0) (Q := [2]); [discriminate | congruence | cbn; intuition (subst; auto)]].
  - intro H. apply (H 0); [| now left].
    exists [Acquires_again 0; Found_none 0 2], [Broken; Broke 1; Broke 0]. split; [reflexivity | now left].
Qed.
