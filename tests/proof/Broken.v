(* Executions of Model.v: grants that happen, and for each rule an execution without that rule that breaks a promise. *)

From Pawl Require Import Base Views Model Floor Disks.

(* All resources share one slot. At first each member is incarnation 0. *)
Definition slot_of (r : resource) : slot := 0.
Definition slots : list slot := [0].
Definition V0 : view := fun _ => 0.

(* Member 0 is incarnation 1; or 2. *)
Definition V1 : view := fun m => match m with 0 => 1 | _ => 0 end.
Definition V2 : view := fun m => match m with 0 => 2 | _ => 0 end.

(* Two clients want resource 0. *)
Definition A := Attempt 1 10 [0].
Definition B := Attempt 3 20 [0].

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
Ltac cases H_ := cbn in H_; repeat (destruct H_ as [H_ | H_]); try contradiction; try (injection H_; intros; subst); subst.
Ltac views := intros [| ?]; cbn; cbv [V0 V1 V2]; lia.
Ltac accepted := split; [reflexivity |]; split; [intros; first [reflexivity | congruence] |];
  intros; first [split; [reflexivity | views] | congruence].
Ltac written_out :=
  cbn [put set locked counted_to told merged mem Nat.eqb state_of lineage_of knows counter locks what holder].
Ltac distinct := first [apply NoDup_nil | apply NoDup_cons; [cbn; intuition discriminate | distinct]].
Ltac is_majority := cbn; first [split; [cbn; distinct | split; [cbn; intros; intuition (subst; lia) | cbn; lia]]
  | split; [cbn; distinct | cbn; lia]].
Ltac new_event := cbn; intuition discriminate.
Ltac begin cs_ := eexists; split; [exists (fleet cs_); split; [apply fleet_is_initial |] |].
Ltac starts a_ := eapply next; [eapply Start with (a := a_); new_event |].

(* Step 1, under view V: member m counts v. *)
Ltac takes a_ V_ m_ v_ := eapply next; [eapply Take with (a := a_) (V := V_) (m := m_) (k := 0) (n := fun _ => v_) (o := fun _ => taken) (c := fun _ => v_);
  [find_in | accepted | let r := fresh in let H := fresh in intros r H; cases H; left;
     (split; [reflexivity | split; [cbn; lia | left; reflexivity]])
   | intros [| ?]; cbn; lia | intros; cbn; lia] |]; written_out.

Ltac freezes a_ F_ := eapply next; [eapply Freeze with (a := a_) (F := F_);
  [find_in | cbn; intros; intuition discriminate | is_majority |
   let H := fresh in intros ? ? H; cases H; eexists; eexists; find_in] |].
Ltac all_of := let m := fresh in let H := fresh in intros m H; cases H;
  (eexists; eexists; split; [find_in | split; [find_in | intros; reflexivity]]).
Ltac all_alike := intros _; apply alike_is_fair.
Ltac granted a_ V_ Q_ := eapply next; [eapply Grant_at_once with (a := a_) (Q := Q_) (V := V_) (N := fun _ => V_);
  [find_in | is_majority | all_alike | all_of] |].
Ltac vanishes m_ r_ := eapply next; [eapply Vanish with (m := m_) (k := 0) (r := r_) |]; written_out.
Ltac confirms a_ F_ m_ v_ := eapply next; [eapply Confirm with (a := a_) (F := F_) (m := m_) (V := V0) (k := 0) (c := fun _ => v_);
  [find_in | accepted | let r := fresh in let H := fresh in intros r H; cases H; eexists;
     (split; [reflexivity | split; [reflexivity |]]);
     first [split; [eexists; eexists; eexists; split; [find_in | split; [find_in | reflexivity]] | cbn; lia] | cbn; auto; fail
       | eexists; eexists; eexists; split; [find_in | reflexivity]]
   | intros [| ?]; cbn; lia | intros; cbn; lia] |]; written_out.
Ltac granted_by_confirming a_ Q_ := eapply next; [eapply Grant_confirmed with (a := a_) (Q := Q_) (V := V0) (N := fun _ => V0);
  [find_in | is_majority | all_alike | let m := fresh in let H := fresh in intros m H; cases H; eexists; find_in] |].
Ltac falls m_ x_ := eapply next; [eapply Fall with (m := m_) (k := 0) (x := x_); cbn; auto |]; written_out.
Ltac marks I_ := eapply next; [eapply Mark with (m := 0) (k := 0) (I := I_); [discriminate | intros; first [congruence | unfold first_or_copy; new_event]] |];
  written_out.
Ltac records j_ L_ := eapply next; [eapply Record_view with (j := j_) (k := 0) (L := L_); accepted |]; written_out.
Ltac page j_ L_ v_ := eapply next; [eapply Read_page with (j := j_) (k := 0) (L := L_) (p := [(0, v_)]);
  [intros; first [congruence | find_in] | reflexivity | reflexivity | reflexivity |
   let H := fresh in intros ? ? H; cases H; reflexivity] |].
Ltac installs j_ L_ v_ := eapply next; [eapply Install with (m := 0) (k := 0) (j := j_) (L := L_) (p := [(0, v_)]);
  [find_in | reflexivity | reflexivity | intros; first [reflexivity | congruence]] |]; written_out.
Ltac admitted L_ W_ R_ := eapply next; [eapply Admit with (m := 0) (k := 0) (L := L_) (N := fun _ => L_) (R := R_) (W := W_);
  [reflexivity | reflexivity | intros; first [reflexivity | congruence] | intros; first [congruence | is_majority] | all_alike |
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
  - starts A. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A V0 [0; 1].
    vanishes 0 0. vanishes 1 0. starts B. takes B V0 1 2. takes B V0 2 3.
    freezes B [(1, fun _ : resource => 2); (2, fun _ : resource => 3)].
    confirms B [(1, fun _ : resource => 2); (2, fun _ : resource => 3)] 1 3.
    confirms B [(1, fun _ : resource => 2); (2, fun _ : resource => 3)] 2 3.
    granted_by_confirming B [1; 2]. ends.
  - eexists. eexists. split; [find_in | split; [find_in | split; reflexivity]].
Qed.

(* A is granted 1 by members 0 and 1. Then 0 loses everything, and rejoins by import from 1 and 2. B is granted 2 by 0 and
   2, neither of which had ever counted that A's token was 1: 0 imported it. *)
Theorem a_loss_between_two_grants : exists s, runs 3 as_designed s /\
  exists x y, In (Granted A x) (history s) /\ In (Granted B y) (history s) /\ x 0 = 1 /\ y 0 = 2.
Proof.
  begin [0; 0; 0].
  - starts A. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A V0 [0; 1].
    falls 0 blank. marks 1. records 1 V1. records 2 V1. page 1 V1 1. page 2 V1 0. installs 1 V1 1. installs 2 V1 0.
    admitted V1 V1 [1; 2].
    starts B. takes B V1 0 2. takes B V1 2 2. freezes B [(0, fun _ : resource => 2); (2, fun _ : resource => 2)].
    granted B V1 [0; 2]. ends.
  - eexists. eexists. split; [find_in | split; [find_in | split; reflexivity]].
Qed.

(* ---- Each rule is needed ---------------------------------------------------------------------------------------- *)

(* A's numbers are frozen, 1 and 2. Then B has its turn at members 0 and 2, and is granted 2. *)
Ltac b_overtakes_a := starts A; starts B; takes A V0 0 1; takes A V0 1 2;
  freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 2)];
  vanishes 0 0; takes B V0 0 2; takes B V0 2 2; freezes B [(0, fun _ : resource => 2); (2, fun _ : resource => 2)];
  granted B V0 [0; 2].

(* A's step 1 at member 0 is overtaken by B's whole turn there, and a copy of it locks once more. Its number is then 3.
   Without the check A confirms 2, which is B's token. *)
Theorem broken_where_step_4_checks_no_number : exists s, runs 3 number_unchecked s /\ ~ P1 (history s).
Proof.
  begin [0; 1; 1].
  - b_overtakes_a. vanishes 0 0. takes A V0 0 3.
    confirms A [(0, fun _ : resource => 1); (1, fun _ : resource => 2)] 0 3.
    confirms A [(0, fun _ : resource => 1); (1, fun _ : resource => 2)] 1 2.
    granted_by_confirming A [0; 1]. ends.
  - same_token A B.
Qed.

(* A is granted 1 by members 0 and 1, and its lock at 1 arrives late: member 0 lost its data, and has rejoined, when a
   script under the old view still reaches member 1. *)
Theorem broken_where_scripts_check_no_view : exists s, runs 3 view_unchecked s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. takes A V0 0 1. falls 0 blank. marks 1. records 1 V1. records 2 V1. page 1 V1 0. page 2 V1 0.
    installs 1 V1 0. installs 2 V1 0. admitted V1 V1 [1; 2]. takes A V0 1 1.
    freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A V0 [0; 1].
    starts B. takes B V1 0 1. takes B V1 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted B V1 [0; 2]. ends.
  - same_token A B.
Qed.

(* The same, where A names the new view to member 1. *)
Theorem broken_where_masters_are_named_views_at_will : exists s, runs 3 named_at_will s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. takes A V0 0 1. falls 0 blank. marks 1. records 1 V1. records 2 V1. page 1 V1 0. page 2 V1 0.
    installs 1 V1 0. installs 2 V1 0. admitted V1 V1 [1; 2]. takes A V1 1 1.
    freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
    eapply next; [eapply Grant_at_once with (a := A) (Q := [0; 1]) (V := V0) (N := fun m => match m with 0 => V0 | _ => V1 end);
      [find_in | is_majority | congruence | all_of] |].
    starts B. takes B V1 0 1. takes B V1 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted B V1 [0; 2]. ends.
  - same_token A B.
Qed.

(* Member 0 goes back to an older state between two grants. *)
Theorem broken_where_scripts_check_no_lineage : exists s, runs 3 lineage_unchecked s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. starts B. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
    granted A V0 [0; 1]. falls 0 rolled_back. takes B V0 0 1. takes B V0 2 1.
    freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)]. granted B V0 [0; 2]. ends.
  - same_token A B.
Qed.

(* The disk of member 0 lacks A's lock, and the member is trusted alone. *)
Theorem broken_where_an_older_disk_is_trusted : exists s, runs 3 older_disk_trusted s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. starts B. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
    granted A V0 [0; 1]. falls 0 rolled_back. eapply next; [eapply Trust with (m := 0) (k := 0); congruence |]; written_out.
    takes B V0 0 1. takes B V0 2 1.
    freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)]. granted B V0 [0; 2]. ends.
  - same_token A B.
Qed.

(* The same in a fleet that is a file. *)
Theorem broken_where_an_older_file_is_trusted : exists s, runs 1 older_disk_trusted s /\ ~ P1 (history s).
Proof.
  begin [0].
  - starts A. starts B. takes A V0 0 1. freezes A [(0, fun _ : resource => 1)]. granted A V0 [0].
    falls 0 rolled_back. eapply next; [eapply Trust with (m := 0) (k := 0); congruence |]; written_out.
    takes B V0 0 1. freezes B [(0, fun _ : resource => 1)]. granted B V0 [0]. ends.
  - same_token A B.
Qed.

(* Only member 2 is read, which did not count A's lock. *)
Theorem broken_where_one_member_fewer_is_read : exists s, runs 3 one_fewer_read s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A V0 [0; 1].
    falls 0 blank. marks 1. records 2 V1. page 2 V1 0. installs 2 V1 0. admitted V1 V1 [2].
    starts B. takes B V1 0 1. takes B V1 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted B V1 [0; 2]. ends.
  - same_token A B.
Qed.

(* Pages are read before the record. Only then A's step 1 reaches member 1. *)
Theorem broken_where_pages_are_read_before_the_record : exists s, runs 3 read_before_record s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. takes A V0 0 1. falls 0 blank. marks 1. page 1 V1 0. page 2 V1 0. takes A V0 1 1.
    freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A V0 [0; 1].
    records 1 V1. records 2 V1. installs 1 V1 0. installs 2 V1 0. admitted V1 V1 [1; 2].
    starts B. takes B V1 0 1. takes B V1 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted B V1 [0; 2]. ends.
  - same_token A B.
Qed.

(* Member 0 loses its data twice, and the second rejoin has the incarnation of the first one: its old pages count. *)
Theorem broken_where_an_incarnation_is_reused : exists s, runs 3 incarnation_reused s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - falls 0 blank. marks 1. records 1 V1. records 2 V1. page 1 V1 0. page 2 V1 0. installs 1 V1 0. installs 2 V1 0.
    admitted V1 V1 [1; 2].
    starts A. takes A V1 0 1. takes A V1 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
    granted A V1 [0; 1].
    falls 0 blank. marks 1. admitted V1 V1 [1; 2].
    starts B. takes B V1 0 1. takes B V1 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted B V1 [0; 2]. ends.
  - same_token A B.
Qed.

(* The pages of the first rejoin are installed in the second one. *)
Theorem broken_where_a_page_may_be_of_another_rejoin : exists s, runs 3 nonce_unchecked s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - falls 0 blank. marks 1. records 1 V1. records 2 V1. page 1 V1 0. page 2 V1 0. installs 1 V1 0. installs 2 V1 0.
    admitted V1 V1 [1; 2].
    starts A. takes A V1 0 1. takes A V1 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
    granted A V1 [0; 1].
    falls 0 blank. marks 2. installs 1 V1 0. installs 2 V1 0. admitted V1 V2 [1; 2].
    starts B. takes B V2 0 1. takes B V2 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted B V2 [0; 2]. ends.
  - same_token A B.
Qed.

(* Member 1 gave 1 to B. Member 0 loses its data, and imports B's lock from 1. If 0 answered the number of that lock, B had 1
   from a majority, as A has. *)
Theorem broken_where_the_number_of_an_imported_lock_is_answered : exists s, runs 3 stored_number_answered s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. starts B. takes A V0 0 1. takes A V0 2 1. freezes A [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted A V0 [0; 2]. falls 0 blank. marks 1. takes B V1 1 1. records 1 V1. records 2 V1. page 1 V1 1. page 2 V1 1.
    installs 1 V1 1. installs 2 V1 1.
    eapply next; [eapply Install_lock with (m := 0) (k := 0) (r := 0) (l := Lock 20 1 imported); reflexivity |]; written_out.
    admitted V1 V1 [1; 2].
    eapply next; [eapply Take with (a := B) (V := V1) (m := 0) (k := 0) (n := fun _ => 1) (o := fun _ => imported) (c := fun _ => 1);
      [find_in | accepted | let r := fresh in let H := fresh in intros r H; cases H; right; exists (Lock 20 1 imported);
         (split; [reflexivity | split; [reflexivity | split; [intros; congruence | split; reflexivity]]])
       | intros [| ?]; cbn; lia | intros; discriminate] |]; written_out.
    freezes B [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted B V1 [0; 1]. ends.
  - same_token A B.
Qed.

(* The disk of member 0 goes back to what it was before A's lock, and its position is not compared. *)
Theorem broken_where_positions_are_not_compared : exists s,
  reachable_with_disks slot_of slots (majority 3) false s /\ ~ P1 (history s).
Proof.
  eexists. split.
  - exists (fleet [0; 0; 0]). split; [apply fleet_is_initial |].
    eapply leads_by_steps; [| eapply comes_back with (s1 := fleet [0; 0; 0]) (m := 0) (k := 0);
      [apply stays | eapply leads_by_steps; [| apply stays] | discriminate]].
    2: { starts A. starts B. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
         granted A V0 [0; 1]. ends. }
    cbn [machines history fleet]. written_out.
    takes B V0 0 1. takes B V0 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)]. granted B V0 [0; 2]. ends.
  - same_token A B.
Qed.

(* Member 0 lost its data, and imported nothing yet, when it is trusted alone. *)
Theorem broken_where_a_master_is_trusted_half_way : exists s, runs 3 half_way_trusted s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A V0 [0; 1].
    falls 0 blank. marks 1.
    eapply next; [eapply Trust_half_way with (m := 0) (k := 0) (I := 1); reflexivity |]; written_out.
    starts B. takes B V1 0 1. takes B V1 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)].
    granted B V1 [0; 2]. ends.
  - same_token A B.
Qed.

(* Without the rule an attempt that was granted nothing joins where it likes. *)
Theorem broken_where_an_extension_names_any_token : exists s, runs 3 join_ungranted s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 0].
  - starts A. starts B. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
    granted A V0 [0; 1]. vanishes 0 0.
    eapply next; [eapply Join with (m := 0) (k := 0) (V := V0) (a := B) (r := 0) (n := 1) (x := fun _ => 1);
      [congruence | find_in | find_in | accepted | reflexivity | intros; cbn; lia] |]; written_out.
    eapply next; [eapply Take with (a := B) (V := V0) (m := 0) (k := 0) (n := fun _ => 1) (o := fun _ => joined) (c := fun _ => 1);
      [find_in | accepted | let r := fresh in let H := fresh in intros r H; cases H; right; exists (Lock 20 1 joined);
         (split; [reflexivity | split; [reflexivity | split; [intros; discriminate | split; reflexivity]]])
       | intros [| ?]; cbn; lia | intros; discriminate] |]; written_out.
    takes B V0 2 1. freezes B [(0, fun _ : resource => 1); (2, fun _ : resource => 1)]. granted B V0 [0; 2]. ends.
  - same_token A B.
Qed.

(* ---- Rules of rounds -------------------------------------------------------------------------------------------- *)

Definition C := Attempt 4 30 [0].

(* Five members. Two of the three that answered A agree on 2, and so do two of the three that answered B. *)
Theorem broken_where_a_majority_of_the_answers_is_enough : exists s, runs 5 majority_of_answers s /\ ~ P1 (history s).
Proof.
  begin [1; 1; 0; 1; 0].
  - starts A. starts B. takes A V0 0 2. takes A V0 1 2. takes A V0 2 1.
    freezes A [(0, fun _ : resource => 2); (1, fun _ : resource => 2); (2, fun _ : resource => 1)]. granted A V0 [0; 1].
    vanishes 2 0. takes B V0 2 2. takes B V0 3 2. takes B V0 4 1.
    freezes B [(2, fun _ : resource => 2); (3, fun _ : resource => 2); (4, fun _ : resource => 1)]. granted B V0 [2; 3]. ends.
  - same_token A B.
Qed.

(* A's token is fixed at 2. Then B has its turn at member 2, and is granted 2. A's step 1 reaches member 2 late, and joins. *)
Theorem broken_where_late_answers_join : exists s, runs 3 late_answers_exact s /\ ~ P1 (history s).
Proof.
  begin [0; 1; 1].
  - b_overtakes_a. vanishes 2 0. takes A V0 2 3.
    confirms A [(0, fun _ : resource => 1); (1, fun _ : resource => 2)] 1 2.
    confirms A [(0, fun _ : resource => 1); (1, fun _ : resource => 2)] 2 3.
    granted_by_confirming A [1; 2]. ends.
  - same_token A B.
Qed.

(* A was granted 1, and B 2. A's extension takes the counter of member 0 back to 1. *)
Theorem broken_where_an_extension_joins_above_its_token : exists s, runs 3 join_above_token s /\ ~ P1 (history s).
Proof.
  begin [0; 0; 1].
  - starts A. starts B. starts C. takes A V0 0 1. takes A V0 1 1.
    freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]. granted A V0 [0; 1].
    vanishes 0 0. vanishes 1 0. takes B V0 0 2. takes B V0 1 2.
    freezes B [(0, fun _ : resource => 2); (1, fun _ : resource => 2)]. granted B V0 [0; 1]. vanishes 0 0.
    eapply next; [eapply Join with (m := 0) (k := 0) (V := V0) (a := A) (r := 0) (n := 1);
      [intros _; split; [find_in | reflexivity] | find_in | find_in | accepted | reflexivity | congruence] |]; written_out.
    vanishes 0 0. takes C V0 0 2. takes C V0 2 2. freezes C [(0, fun _ : resource => 2); (2, fun _ : resource => 2)].
    granted C V0 [0; 2]. ends.
  - same_token B C.
Qed.

(* ---- Counters and breaks ---------------------------------------------------------------------------------------- *)

Ltac at_time := cbn; first [left; split; reflexivity | right; at_time].

Definition K1 := Round 1 0 1.
Definition K2 := Round 2 0 1.
Ltac counting c_ := eapply next; [eapply Start_counting with (c := c_); new_event |].
Ltac counts_at c_ m_ base_ := eapply next; [eapply Count with (c := c_) (m := m_) (k := 0) (V := V0) (base := base_);
  [find_in | accepted | cbn; lia] |]; written_out.

(* Members 0 and 1 answer the first round 1 and 3. Members 0 and 2 answer the second one 2 and 3. Both take 3. *)
Theorem broken_where_masters_may_differ_on_a_count : exists s, runs 3 counts_may_differ s /\ ~ blocks_in_order slot_of (history s).
Proof.
  begin [0; 2; 2].
  - counting K1. counting K2. counts_at K1 0 0. counts_at K1 1 2. counts_at K2 0 1. counts_at K2 2 2.
    eapply next; [eapply Agree with (c := K1) (n := 3) (Q := [0; 1]) (V := V0) (N := fun _ => V0); [cbn; intuition discriminate | is_majority | all_alike |
      exists [(0, 1); (1, 3)]; split; [reflexivity | split; [reflexivity | intros ? ? H; cases H; find_in]]] |].
    eapply next; [eapply Agree with (c := K2) (n := 3) (Q := [0; 2]) (V := V0) (N := fun _ => V0); [cbn; intuition discriminate | is_majority | all_alike |
      exists [(0, 2); (2, 3)]; split; [reflexivity | split; [reflexivity | intros ? ? H; cases H; find_in]]] |].
    ends.
  - intro H. destruct (H K1 K2 3 3 6 7 1) as [X _]; [at_time | at_time | at_time | reflexivity | discriminate |].
    cbn in X. lia.
Qed.

(* One member broke token 5. A's masters, which did not, grant a lower one. *)
Theorem broken_where_fewer_than_a_majority_break : exists s, runs 3 broken_by_fewer s /\ ~ breaks_in_order slot_of (history s).
Proof.
  begin [0; 0; 0].
  - eapply next; [eapply Start_breaking with (b := Break 1 0 5); new_event |].
    eapply next; [eapply Break_at with (b := Break 1 0 5) (m := 2) (k := 0) (V := V0) (n := 6);
      [find_in | accepted | cbn; lia | cbn; lia] |]; written_out.
    eapply next; [eapply Break_done with (b := Break 1 0 5) (Q := [2]) (V := V0) (N := fun _ => V0);
      [congruence | all_alike | intros ? H; cases H; exists 6; split; [find_in | cbn; lia]] |].
    starts A. takes A V0 0 1. takes A V0 1 1. freezes A [(0, fun _ : resource => 1); (1, fun _ : resource => 1)].
    granted A V0 [0; 1]. ends.
  - intro H. specialize (H (Break 1 0 5) A (highest [(0, fun _ : resource => 1); (1, fun _ : resource => 1)]) 2 7 0).
    cbn in H. assert (5 < 1) as X; [| lia]. apply H; auto.
    + right; right; right; right; right; left. auto.
    + intros start c Hc Hid. cbn in Hc. repeat destruct Hc as [Hc | Hc]; try contradiction;
        destruct Hc as [E ->]; try discriminate; injection E as <-; lia.
Qed.
