(* The guard at the data (fence/guard/guard.c): claims, writes and reads as transactions. *)

From Pawl Require Import Base.

(* What the guard has stored: the highest token of a writer, and the highest token of a reader. *)
Record guard := Guard { writer : nat; reader : nat }.

(* A claim of a writer counts as a write. *)
Inductive event :=
| Checked (t : nat)   (* the guard found the token t good, and ended its transaction *)
| Wrote (t : nat)
| Was_read (t : nat).

Record state := State { stored : guard; history : list event }.

Definition initial (s : state) : Prop := history s = [].

Inductive variant :=
| as_designed
| token_unchecked         (* a write is accepted under a lower token *)
| reader_not_stored       (* a reader's token is not stored before its first read *)
| equal_reader_unchecked  (* a writer may have the token of a reader *)
| reader_unchecked        (* a reader may have a token below a writer's *)
| check_apart.            (* check and write are two transactions *)

Section Guard.
  Variable rules : variant.

  (* Rule: a writer's token is not below another writer's, and above each reader's. *)
  Definition good (g : guard) (t : nat) : Prop :=
    (rules <> token_unchecked -> writer g <= t) /\
    match rules with
    | equal_reader_unchecked => reader g <= t
    | token_unchecked => True
    | _ => reader g < t
    end.

  Inductive step : state -> state -> Prop :=

  (* One transaction: check, raise, write. A crash before its end leaves nothing of it. *)
  | Write : forall g h t,
      good g t ->
      step (State g h) (State (Guard t (reader g)) (Wrote t :: h))

  (* One transaction. Rule: the token of the reader is not below a writer's. It is stored before the first read. *)
  | Read : forall g h t,
      (rules <> reader_unchecked -> writer g <= t) ->
      step (State g h)
           (State (Guard (writer g) (if match rules with reader_not_stored => true | _ => false end
                                     then reader g else max (reader g) t)) (Was_read t :: h))

  (* Two transactions in place of one. *)
  | Check_apart : forall g h t,
      rules = check_apart -> good g t ->
      step (State g h) (State (Guard t (reader g)) (Checked t :: h))
  | Write_apart : forall g h t,
      rules = check_apart -> In (Checked t) h ->
      step (State g h) (State g (Wrote t :: h)).

  Inductive steps : state -> state -> Prop :=
  | done : forall s, steps s s
  | next : forall s s' s'', step s s' -> steps s' s'' -> steps s s''.

  Definition reachable (s : state) : Prop := exists s0, initial s0 /\ steps s0 s.
End Guard.

(* P4. After a claim or write with token t, the guard accepts no write and no read below t. After a read with token t, it
   accepts no write with t or a lower token. *)
Definition P4 (h : list event) : Prop :=
  (forall t1 t2 a b, happened h t1 (Wrote a) -> happened h t2 (Wrote b) -> t1 < t2 -> a <= b) /\
  (forall t1 t2 a b, happened h t1 (Wrote a) -> happened h t2 (Was_read b) -> t1 < t2 -> a <= b) /\
  (forall t1 t2 a b, happened h t1 (Was_read a) -> happened h t2 (Wrote b) -> t1 < t2 -> a < b).

(* The guard has stored what it accepted. *)
Definition stored_is_above (s : state) : Prop :=
  (forall t a, happened (history s) t (Wrote a) -> a <= writer (stored s)) /\
  (forall t a, happened (history s) t (Was_read a) -> a <= reader (stored s)).

Lemma kept_by_step : forall s s', step as_designed s s' ->
  stored_is_above s /\ P4 (history s) -> stored_is_above s' /\ P4 (history s').
Proof.
  intros s s' Hs [[W R] (P1 & P2 & P3)].
  destruct Hs as [g h t G | g h t G | g h t E | g h t E]; try discriminate; simpl in *.
  - destruct G as [G1 G2]. specialize (G1 ltac:(discriminate)). split; split; simpl.
    + intros t' a [[E _] | H]; [injection E as <-; lia | specialize (W t' a H); lia].
    + intros t' a [[E _] | H]; [discriminate | eauto].
    + intros t1 t2 a b [[E1 ->] | H1] [[E2 ->] | H2] Hlt; try lia.
      * apply happened_past in H2. lia.
      * injection E2 as <-. specialize (W t1 a H1). lia.
      * eauto.
    + split.
      * intros t1 t2 a b [[E1 ->] | H1] [[E2 ->] | H2] Hlt; try discriminate; [apply happened_past in H2; lia | eauto].
      * intros t1 t2 a b [[E1 ->] | H1] [[E2 ->] | H2] Hlt; try discriminate; [| eauto].
        injection E2 as <-. specialize (R t1 a H1). lia.
  - specialize (G ltac:(discriminate)). split; split; simpl.
    + intros t' a [[E _] | H]; [discriminate | eauto].
    + intros t' a [[E _] | H]; [injection E as <-; lia | specialize (R t' a H); lia].
    + intros t1 t2 a b [[E1 ->] | H1] [[E2 ->] | H2] Hlt; try discriminate; eauto.
    + split.
      * intros t1 t2 a b [[E1 ->] | H1] [[E2 ->] | H2] Hlt; try discriminate; [| eauto].
        injection E2 as <-. specialize (W t1 a H1). lia.
      * intros t1 t2 a b [[E1 ->] | H1] [[E2 ->] | H2] Hlt; try discriminate; [apply happened_past in H2; lia | eauto].
Qed.

Theorem P4_of_a_guard : forall s, reachable as_designed s -> P4 (history s).
Proof.
  intros s (s0 & H0 & Hs). enough (stored_is_above s /\ P4 (history s)) by easy.
  assert (stored_is_above s0 /\ P4 (history s0)) as X.
  { unfold initial in H0. unfold stored_is_above, P4. rewrite H0. simpl. repeat split; contradiction. }
  clear H0. revert X. induction Hs as [| s s' s'' H Hs IH]; intro X; [assumption |]. apply IH. eapply kept_by_step; eassumption.
Qed.

(* ---- Each rule is needed ----------------------------------------------------------------------------------- *)

Definition empty : state := State (Guard 0 0) [].

Lemma empty_is_initial : initial empty.
Proof. reflexivity. Qed.

Ltac shown := try reflexivity; try congruence; try (cbn; intros; lia); try (cbn; auto 10);
  try (split; cbn; [intros; try congruence; lia | try exact I; lia]).
Ltac step_by rule := eapply next; [apply rule; shown |]; cbn [writer reader stored history Nat.max].
Ltac reach := exists empty; split; [reflexivity |].

(* Token 2 wrote, then 1 wrote. *)
Theorem broken_where_the_token_is_not_checked : exists s, reachable token_unchecked s /\ ~ P4 (history s).
Proof.
  eexists. split.
  - reach. step_by (Write token_unchecked (Guard 0 0) [] 2). step_by (Write token_unchecked (Guard 2 0) [Wrote 2] 1).
    apply done.
  - intros (X & _). specialize (X 0 1 2 1). cbn in X. assert (2 <= 1) by (apply X; auto). lia.
Qed.

(* Token 1 was found good. Then 2 wrote. Then 1 wrote. *)
Theorem broken_where_check_and_write_are_two_transactions : exists s, reachable check_apart s /\ ~ P4 (history s).
Proof.
  eexists. split.
  - reach. step_by (Check_apart check_apart (Guard 0 0) [] 1). step_by (Write check_apart (Guard 1 0) [Checked 1] 2).
    step_by (Write_apart check_apart (Guard 2 0) [Wrote 2; Checked 1] 1). apply done.
  - intros (X & _). specialize (X 1 2 2 1). cbn in X. assert (2 <= 1) by (apply X; auto). lia.
Qed.

(* Reader 2 read; then writer 1 wrote: the reader may see half of that write. *)
Theorem broken_where_the_reader_is_not_stored : exists s, reachable reader_not_stored s /\ ~ P4 (history s).
Proof.
  eexists. split.
  - reach. step_by (Read reader_not_stored (Guard 0 0) [] 2).
    step_by (Write reader_not_stored (Guard 0 0) [Was_read 2] 1). apply done.
  - intros (_ & _ & X). specialize (X 0 1 2 1). cbn in X. assert (2 < 1) by (apply X; auto). lia.
Qed.

(* A reader and a writer of overlapping attempts may have one token: two seats share a counter. *)
Theorem broken_where_a_writer_may_equal_a_reader : exists s, reachable equal_reader_unchecked s /\ ~ P4 (history s).
Proof.
  eexists. split.
  - reach. step_by (Read equal_reader_unchecked (Guard 0 0) [] 1).
    step_by (Write equal_reader_unchecked (Guard 0 1) [Was_read 1] 1). apply done.
  - intros (_ & _ & X). specialize (X 0 1 1 1). cbn in X. assert (1 < 1) by (apply X; auto). lia.
Qed.

Theorem broken_where_a_reader_may_be_late : exists s, reachable reader_unchecked s /\ ~ P4 (history s).
Proof.
  eexists. split.
  - reach. step_by (Write reader_unchecked (Guard 0 0) [] 2). step_by (Read reader_unchecked (Guard 2 0) [Wrote 2] 1).
    apply done.
  - intros (_ & X & _). specialize (X 0 1 2 1). cbn in X. assert (2 <= 1) by (apply X; auto). lia.
Qed.

(* Readers do not refuse each other: 2 reads, then 1 reads. With one number the second would be refused. *)
Theorem readers_in_any_order : exists s, reachable as_designed s /\ history s = [Was_read 1; Was_read 2].
Proof.
  eexists. split.
  - reach. step_by (Read as_designed (Guard 0 0) [] 2). step_by (Read as_designed (Guard 0 2) [Was_read 2] 1). apply done.
  - reflexivity.
Qed.
