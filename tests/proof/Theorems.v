(* The theorems, for any number N of masters. *)

From Pawl Require Import Base Views Model Kept Order Promises Floor Guard.

(* Masters lose anything at any time; tokens stay in order. *)
Theorem tokens_are_in_order : forall N slot_of slots s,
  (forall r, In (slot_of r) slots) ->
  Model.reachable slot_of slots (majority N) Model.as_designed s -> P1 (Model.history s).
Proof.
  intros N slot_of slots s Hall H. eapply fine_gives_P1; [apply majorities_meet | apply majorities_share |]. eapply reachable_is_fine; eassumption.
Qed.

(* Semaphores and read-write locks: all seats of a name share a counter. *)
Theorem seats_are_in_order : forall N slot_of slots s,
  (forall r, In (slot_of r) slots) ->
  Model.reachable slot_of slots (majority N) Model.as_designed s ->
  seats_in_order slot_of (Model.history s) /\ reader_after_writer slot_of (Model.history s).
Proof.
  intros N slot_of slots s Hall H. pose proof (reachable_is_fine _ _ _ Hall s H) as F.
  split; [eapply fine_gives_seats | eapply fine_gives_reader_after_writer]; try exact F; first [apply majorities_meet | apply majorities_share].
Qed.

(* Named counters: blocks are distinct and rise. *)
Theorem counters_are_in_order : forall N slot_of slots s,
  (forall r, In (slot_of r) slots) ->
  Model.reachable slot_of slots (majority N) Model.as_designed s -> blocks_in_order slot_of (Model.history s).
Proof.
  intros N slot_of slots s Hall H. eapply fine_gives_blocks; [apply majorities_meet | apply majorities_share |]. eapply reachable_is_fine; eassumption.
Qed.

(* A grant after a break has a token above the one that was broken. *)
Theorem breaks_are_in_order : forall N slot_of slots s,
  (forall r, In (slot_of r) slots) ->
  Model.reachable slot_of slots (majority N) Model.as_designed s -> breaks_in_order slot_of (Model.history s).
Proof.
  intros N slot_of slots s Hall H. eapply fine_gives_breaks; [apply majorities_meet | apply majorities_share |]. eapply reachable_is_fine; eassumption.
Qed.

(* The token floor: a fleet that goes on above the floor grants nothing at or below it. *)
Theorem tokens_are_above_the_floor : forall N slot_of slots floor s,
  (forall r, In (slot_of r) slots) ->
  reachable_above slot_of slots (majority N) Model.as_designed floor s -> above_floor floor (Model.history s).
Proof.
  intros N slot_of slots floor s Hall H. eapply reachable_is_above_floor; [exact Hall | apply majorities_meet | exact H].
Qed.

(* A move from a fleet of N masters to one of N': the old fleet was claimed and surveyed, and the new one goes on above what
   was found. Each token of the old fleet, whenever it is granted, is below each token of the new fleet. *)
Theorem a_move_keeps_the_order : forall N N' slot_of slots old old' new R T floor,
  (forall r, In (slot_of r) slots) ->
  Model.reachable slot_of slots (majority N) Model.as_designed old ->
  Model.steps slot_of slots (majority N) Model.as_designed old old' ->
  surveyed (majority N) old (Model.history old') R T ->
  T <= floor ->
  reachable_above slot_of slots (majority N') Model.as_designed floor new ->
  forall a b x y at_a at_b r,
    happened (Model.history old') at_a (Granted a x) -> happened (Model.history new) at_b (Granted b y) ->
    In r (what a) -> In r (what b) -> x r < y r.
Proof.
  intros N N' slot_of slots old old' new R T floor Hall Ho Hs Hv Hf Hn a b x y at_a at_b r Ha Hb Ra Rb.
  pose proof (claimed_fleet_grants_nothing_above slot_of slots (majority N) Hall (majorities_meet N) (majorities_share N)
                old old' R T Ho Hs Hv at_a a x r Ha Ra) as X.
  destruct (tokens_are_above_the_floor N' slot_of slots floor new Hall Hn) as [Y _].
  specialize (Y at_b b y r Hb Rb). lia.
Qed.

(* A fleet that is a file: one member, which is trusted after each restart. *)
Theorem tokens_of_a_file_are_in_order : forall slot_of slots s,
  (forall r, In (slot_of r) slots) ->
  Model.reachable slot_of slots (majority 1) Model.as_designed s ->
  P1 (Model.history s) /\ blocks_in_order slot_of (Model.history s).
Proof.
  intros slot_of slots s Hall H. split; [eapply tokens_are_in_order | eapply counters_are_in_order]; eassumption.
Qed.

(* The guard. *)
Theorem guarded_data_is_in_order : forall s, Guard.reachable Guard.as_designed s -> P4 (Guard.history s).
Proof. exact P4_of_a_guard. Qed.
