(* Executions of Model.v: grants that happen, and for each rule an execution without that rule that breaks a promise. *)

From Pawl Require Import Base Views Model Floor.

(* All resources share one slot. At first each member is incarnation 0. *)
Definition slot_of (r : resource) : slot := 0.
Definition slots : list slot := [0].
Definition V0 : view := fun _ => 0.

(* Member 0 is incarnation 1; or 2. *)
Definition V1 : view := fun m => match m with 0 => 1 | _ => 0 end.
Definition V2 : view := fun m => match m with 0 => 2 | _ => 0 end.

(* Clients want resource 0: A and B under the first view, B1 and B2 under later ones. A2 is a retry of A. *)
Definition A := Attempt 1 10 [0] V0.
Definition A1 := Attempt 1 10 [0] V1.
Definition A2 := Attempt 2 10 [0] V0.
Definition B := Attempt 3 20 [0] V0.
Definition B1 := Attempt 3 20 [0] V1.
Definition B2 := Attempt 3 20 [0] V2.

(* A fleet where nothing is locked; the counters of its members are as given. *)
Definition fleet (counters : list nat) : state :=
  State (fun m k => Machine (match k with 0 => active | _ => out end) kept V0 (fun _ => nth m counters 0) (fun _ => None)) [].

Lemma fleet_is_initial : forall counters, initial (fleet counters).
Proof. split; [reflexivity |]. intros m [| k]; cbn; repeat split; intros; lia. Qed.

(* A machine that lost all it had; and one that lost the same, and does not show it by its state. *)
Definition blank : machine := Machine out kept V0 (fun _ => 0) (fun _ => None).
Definition rolled_back : machine := Machine active changed V0 (fun _ => 0) (fun _ => None).

(* ---- How a step is shown in a concrete state --------------------------------------------------------------- *)

Ltac find_in := cbn; first [left; reflexivity | right; find_in].
Ltac cases H := cbn in H; repeat (destruct H as [H | H]); try contradiction; try (injection H; intros; subst); subst.
Ltac views := intros [| ?]; cbn; cbv [V0 V1 V2]; lia.
Ltac accepted := split; [reflexivity |]; split; [intros; first [reflexivity | congruence] |];
  intros; first [split; [reflexivity | views] | congruence].
Ltac written_out :=
  cbn [put set locked counted_to told merged mem Nat.eqb state_of lineage_of knows counter locks what holder under].
Ltac is_majority := repeat split; cbn;
  [repeat constructor; cbn; intuition discriminate | intros; intuition (subst; lia) | lia].
Ltac new_event := cbn; intuition discriminate.
Ltac begin cs := eexists; split; [exists (fleet cs); split; [apply fleet_is_initial |] |].
Ltac starts a := eapply next; [eapply Start with (a := a); new_event |].

(* Step 1: member m counts v. *)
Ltac takes a m v := eapply next; [eapply Take with (a := a) (m := m) (k := 0) (n := fun _ => v) (o := fun _ => taken) (c := fun _ => v);
  [find_in | accepted | let r := fresh in let H := fresh in intros r H; cases H; left;
     (split; [reflexivity | split; [cbn; lia | left; reflexivity]])
   | intro; cbn; lia | intros; cbn; lia] |]; written_out.

(* Step 1 finds the lock l of the same lock id. *)
Ltac takes_again a m l := eapply next; [eapply Take with (a := a) (m := m) (k := 0) (n := fun _ => number l) (o := fun _ => from l);
  [find_in | accepted | let r := fresh in let H := fresh in intros r H; cases H; right; exists l;
     (split; [reflexivity | split; [reflexivity | split; [intros; first [congruence | discriminate] | split; reflexivity]]])
   | intro; cbn; apply Nat.le_refl | intros; cbn in *; first [lia | discriminate]] |]; written_out.

Ltac freezes a F := eapply next; [eapply Freeze with (a := a) (F := F);
  [find_in | cbn; intros; intuition discriminate | is_majority |
   let H := fresh in intros ? ? H; cases H; eexists; find_in] |].
Ltac all_of := let m := fresh in let H := fresh in intros m H; cases H;
  eexists; split; [find_in | intros; reflexivity].
Ltac granted a Q := eapply next; [eapply Grant_at_once with (a := a) (Q := Q); [find_in | is_majority | all_of] |].
Ltac vanishes m r := eapply next; [eapply Vanish with (m := m) (k := 0) (r := r) |]; written_out.
Ltac confirms a F m v := eapply next; [eapply Confirm with (a := a) (F := F) (m := m) (k := 0) (c := fun _ => v);
  [find_in | accepted | let r := fresh in let H := fresh in intros r H; cases H; eexists;
     (split; [reflexivity | split; [reflexivity |]]);
     first [split; [cbn; auto | cbn; lia] | cbn; auto; fail | eexists; eexists; split; [find_in | reflexivity]]
   | intro; cbn; lia | intros; cbn; lia] |]; written_out.
Ltac granted_by_confirming a Q := eapply next; [eapply Grant_confirmed with (a := a) (Q := Q);
  [find_in | is_majority | let m := fresh in let H := fresh in intros m H; cases H; eexists; find_in] |].
Ltac falls m x := eapply next; [eapply Fall with (m := m) (k := 0) (x := x); cbn; auto |]; written_out.
Ltac marks I := eapply next; [eapply Mark with (m := 0) (k := 0) (I := I); [discriminate | intros; first [congruence | new_event]] |];
  written_out.
Ltac records j L := eapply next; [eapply Record_view with (j := j) (k := 0) (L := L); accepted |]; written_out.
Ltac page j L v := eapply next; [eapply Read_page with (j := j) (k := 0) (L := L) (p := [(0, v)]);
  [intros; first [congruence | find_in] | reflexivity | reflexivity | reflexivity |
   let H := fresh in intros ? ? H; cases H; reflexivity] |].
Ltac installs j L v := eapply next; [eapply Install with (m := 0) (k := 0) (j := j) (L := L) (p := [(0, v)]);
  [find_in | reflexivity | reflexivity | intros; first [reflexivity | congruence]] |]; written_out.
Ltac admitted L W R := eapply next; [eapply Admit with (m := 0) (k := 0) (L := L) (R := R) (W := W);
  [reflexivity | reflexivity | intros; first [reflexivity | congruence] | intros; first [congruence | is_majority] |
   let j := fresh in let H := fresh in let s := fresh in let Hs := fresh in
   intros j H; cases H; (split; [find_in | intros s Hs; cases Hs; eexists; eexists; split; [find_in | now left]]) |
   reflexivity | views] |]; written_out.
Ltac ends := apply done.

Lemma same_token_breaks_P1 : forall h a b x y,
  In (Granted a x) h -> In (Granted b y) h -> In (Started b) h ->
  In 0 (what a) -> In 0 (what b) -> x 0 = y 0 -> holder a <> holder b -> ~ P1 h.
Proof.
  intros h a b x y Ha Hb Hs Ra Rb E Hid H.
  destruct (in_happened _ _ _ Ha) as (ta & _ & Ga). destruct (in_happened _ _ _ Hb) as (tb & _ & Gb).
  destruct (in_happened _ _ _ Hs) as (ts & _ & Gs).
  destruct (H a b x y ta tb ts 0 Ga Gb Gs Ra Rb) as [X _]. now apply X.
Qed.
Ltac same_token a b := eapply (same_token_breaks_P1 _ a b);
  [find_in | find_in | find_in | find_in | find_in | reflexivity | discriminate].

Notation runs N rules s := (reachable slot_of slots (majority N) rules s).

(* ---- The model is not empty ----------------------------------------------------------------------------------- *)

(* A is granted 1 at once. Its locks expire. B meets counters that differ, confirms, and is granted 3. *)
Theorem two_grants : exists s, runs 3 as_designed s /\
  exists x y, In (Granted A x) (history s) /\ In (Granted B y) (history s) /\ x 0 = 1 /\ y 0 = 3.
Proof.
  begin [0; 0; 2].
  - starts A. takes A 0 1. takes A 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A [0; 1].
    vanishes 0 0. vanishes 1 0. starts B. takes B 1 2. takes B 2 3.
    freezes B [(1, fun _ : resource => 2); (2, fun _ : resource => 3)].
    confirms B [(1, fun _ : resource => 2); (2, fun _ : resource => 3)] 1 3.
    confirms B [(1, fun _ : resource => 2); (2, fun _ : resource => 3)] 2 3.
    granted_by_confirming B [1; 2]. ends.
  - eexists. eexists. split; [find_in | split; [find_in | split; reflexivity]].
Qed.

(* A is granted 1 by members 0 and 1. Then 0 loses everything, and rejoins by import from 1 and 2. B is granted 2 by 0 and
   2, neither of which had ever counted that A's token was 1: 0 imported it. *)
Theorem a_loss_between_two_grants : exists s, runs 3 as_designed s /\
  exists x y, In (Granted A x) (history s) /\ In (Granted B1 y) (history s) /\ x 0 = 1 /\ y 0 = 2.
Proof.
  begin [0; 0; 0].
  - starts A. takes A 0 1. takes A 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A [0; 1].
    falls 0 blank. marks 1. records 1 V1. records 2 V1. page 1 V1 1. page 2 V1 0. installs 1 V1 1. installs 2 V1 0.
    admitted V1 V1 [1; 2].
    starts B1. takes B1 0 2. takes B1 2 2. freezes B1 [(0, fun _ : resource => 2); (2, fun _ : resource => 2)].
    granted B1 [0; 2]. ends.
  - eexists. eexists. split; [find_in | split; [find_in | split; reflexivity]].
Qed.
