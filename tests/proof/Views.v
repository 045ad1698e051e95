(* The argument: why masters that lose their data do not break the order.

   This file knows no messages and no scripts. It assumes facts about single masters, which Promises.v proves of the
   protocol, and concludes the order of grants.

   A view names an incarnation of every member. An act "at m under V" is an act of the incarnation V m of member m.

   The scripts of an attempt, and the records of a rejoin, need not all name one view. A server believes what two masters
   say of a third. What one master alone recorded of a member without a vote, the server names to that master alone
   (fence/fleet/fleet.c, fence_fleet_name_views): that master would refuse it otherwise. *)

From Pawl Require Import Base.

Definition incarnation := nat.
Definition view := member -> incarnation.

(* W knows at least what V knows. *)
Definition below (V W : view) : Prop := forall m, V m <= W m.

Lemma below_refl : forall V, below V V.
Proof. intros V m. lia. Qed.

Lemma below_trans : forall U V W, below U V -> below V W -> below U W.
Proof. intros U V W H1 H2 m. specialize (H1 m). specialize (H2 m). lia. Qed.

(* Quorums of which one leaves out two members, and the other one of these, share more than one member. *)
Definition share (quorum : list member -> Prop) : Prop :=
  forall R R' b x, quorum R -> quorum R' -> b <> x ->
    (exists Q, quorum Q /\ In b Q) -> (exists Q, quorum Q /\ In x Q) ->
    ~ In b R -> ~ In b R' -> ~ In x R ->
    exists y z, y <> z /\ In y R /\ In y R' /\ In z R /\ In z R' /\
      (In x R' \/ exists w, w <> y /\ w <> z /\ In w R /\ In w R').

Section Shared.
  Variable R' : list member.
  Definition both (R : list member) : list member := filter (fun m => if in_dec Nat.eq_dec m R' then true else false) R.
  Definition only (R : list member) : list member := filter (fun m => if in_dec Nat.eq_dec m R' then false else true) R.

  Lemma both_in : forall R m, In m (both R) -> In m R /\ In m R'.
  Proof.
    intros R m H. apply filter_In in H. destruct H as [H E].
    destruct (in_dec Nat.eq_dec m R'); [now split | discriminate].
  Qed.

  Lemma only_in : forall R m, In m (only R) -> In m R /\ ~ In m R'.
  Proof.
    intros R m H. apply filter_In in H. destruct H as [H E].
    destruct (in_dec Nat.eq_dec m R'); [discriminate | now split].
  Qed.

  Lemma both_and_only : forall R, length (both R) + length (only R) = length R.
  Proof.
    induction R as [| m R IH]; [reflexivity |]. unfold both, only in *. simpl.
    destruct (in_dec Nat.eq_dec m R'); simpl; lia.
  Qed.
End Shared.

Theorem majorities_share : forall N, share (majority N).
Proof.
  intros N R R' b x (DR & MR & LR) (DR' & MR' & LR') Ebx (Qb & (_ & Mb & _) & bQ) (Qx & (_ & Mx & _) & xQ) bR bR' xR.
  apply Mb in bQ. apply Mx in xQ.
  (* All of the one, and what the other has beside it, are members other than b and x. *)
  assert (NoDup (only R' R ++ R')) as DU.
  { apply NoDup_both; [now apply NoDup_filter | assumption |]. intros m Hm. now apply only_in in Hm. }
  assert (forall extra, NoDup (extra ++ only R' R ++ R') -> (forall m, In m extra -> m < N) ->
            length extra + length (only R' R) + length R' <= N) as count.
  { intros extra D Hm. rewrite <- (seq_length N 0) at 1.
    replace (length extra + length (only R' R) + length R') with (length (extra ++ only R' R ++ R'))
      by (rewrite !app_length; lia).
    apply NoDup_incl_length; [assumption |]. intros m H. apply in_seq. apply in_app_iff in H.
    destruct H as [H | H]; [apply Hm in H; lia |]. apply in_app_iff in H. destruct H as [H | H].
    - apply only_in in H. destruct H as [H _]. apply MR in H. lia.
    - apply MR' in H. lia. }
  assert (~ In b (only R' R ++ R')) as bU.
  { rewrite in_app_iff. intros [H | H]; [apply only_in in H; tauto | tauto]. }
  pose proof (both_and_only R' R) as Split.
  assert (NoDup (both R' R)) as DB by now apply NoDup_filter.
  pose proof (both_in R' R) as IB.
  destruct (in_dec Nat.eq_dec x R') as [xR' | xR'].
  - assert (2 <= length (both R' R)) as L.
    { assert (1 + length (only R' R) + length R' <= N) as C.
      { apply (count [b]); [now constructor | intros m [<- | []]; assumption]. }
      lia. }
    destruct (both R' R) as [| y [| z B]]; simpl in L; try lia.
    inversion DB as [| ? ? Ny D]; subst. exists y, z.
    destruct (IB y) as [Y1 Y2]; [now left |]. destruct (IB z) as [Z1 Z2]; [right; now left |].
    repeat split; try assumption; [intros ->; apply Ny; now left | now left].
  - assert (3 <= length (both R' R)) as L.
    { assert (2 + length (only R' R) + length R' <= N) as C.
      { apply (count [b; x]); [| intros m [<- | [<- | []]]; assumption].
        assert (~ In x (only R' R ++ R')).
        { rewrite in_app_iff. intros [H | H]; [apply only_in in H; tauto | tauto]. }
        constructor; [intros [E | H']; [now subst | contradiction] | now constructor]. }
      lia. }
    destruct (both R' R) as [| y [| z [| w B]]]; simpl in L; try lia.
    inversion DB as [| ? ? Ny D]; subst. inversion D as [| ? ? Nz D']; subst. exists y, z.
    destruct (IB y) as [Y1 Y2]; [now left |]. destruct (IB z) as [Z1 Z2]; [right; now left |].
    destruct (IB w) as [W1 W2]; [right; right; now left |].
    repeat split; try assumption; [intros ->; apply Ny; now left |]. right. exists w.
    repeat split; try assumption; [intros -> | intros ->]; [apply Ny; right; now left | apply Nz; now left].
Qed.

(* Scripts for one purpose: a base view V, and what each member is named, N. The members of Q accepted them; they may be
   about one more member. No member of Q is named less than V. Of the members of Q, and of the one that the scripts are
   about, all are named the same as in V. Of each other member, one of Q at most is named something else: the rule. *)
Definition is_of (Q : list member) (about : option member) (m : member) : Prop := In m Q \/ about = Some m.

Definition fair (V : view) (N : member -> view) (Q : list member) (about : option member) : Prop :=
  (forall i, In i Q -> below V (N i)) /\
  (forall i m, In i Q -> is_of Q about m -> N i m = V m) /\
  (forall i j w, In i Q -> In j Q -> N i w <> V w -> N j w <> V w -> i = j).

(* One view for all. *)
Lemma alike_is_fair : forall V Q about, fair V (fun _ => V) Q about.
Proof. intros V Q about. repeat split; intros; [apply below_refl | congruence]. Qed.

Section Views.
  Variable quorum : list member -> Prop.
  Hypothesis quorums_meet : meet quorum.
  Hypothesis quorums_share : share quorum.

  (* At t, member m accepted a script that names V. *)
  Variable visit : time -> member -> view -> Prop.

  (* Demands on one counter: a lock of an attempt, the values of a round of a named counter, or a break. Each has a base
     view, and the view that each member is named. A demand that is counted raises the counter by at least its size. *)
  Variable demand : Type.
  Variable under : demand -> view.
  Variable named : demand -> member -> view.
  Variable size : demand -> nat.

  (* At t, member m answered demand d with the number n. The number was counted there (true), or it was not: then it
     repeats a token that the lock id was granted before (Model.v, Join), or it is the counter that a break left. *)
  Variable act : time -> member -> demand -> nat -> bool -> Prop.

  (* At t, the lock of demand d was not at m yet. *)
  Variable not_there : time -> member -> demand -> Prop.

  (* Two demands are of the same lock. *)
  Variable same : demand -> demand -> Prop.

  (* At t, the incarnation L m of member m became active. The base view of its leader is L, and its counter was c. *)
  Variable admission : time -> member -> view -> nat -> Prop.

  (* What single masters do. *)
  Hypothesis act_is_visit : forall t m d n k, act t m d n k -> visit t m (named d m).

  (* An incarnation accepts no view that is below one it has accepted. *)
  Hypothesis visits_grow : forall t1 t2 m V1 V2,
    visit t1 m V1 -> visit t2 m V2 -> V1 m = V2 m -> t1 <= t2 -> below V1 V2.

  (* An incarnation other than the first (0) was admitted before, and knows what its leader knew. *)
  Hypothesis admitted_before : forall t m V,
    visit t m V -> V m = 0 \/
    exists t' L c, t' < t /\ admission t' m L c /\ L m = V m /\ below L V.

  (* Numbers of one lock do not fall on an incarnation. A demand that was not there yet gets a number that is not below
     the earlier numbers of the counter; if it is counted, the number lies above them by the size of the demand. *)
  Hypothesis numbers_grow : forall t1 t2 m d1 d2 n1 n2 k1 k2,
    act t1 m d1 n1 k1 -> act t2 m d2 n2 k2 -> named d1 m m = named d2 m m -> t1 <= t2 ->
    (same d1 d2 -> n1 <= n2) /\
    (not_there t1 m d2 -> n1 <= n2 /\ (k2 = true -> n1 + size d2 <= n2)).

  (* Numbers are above what was imported. *)
  Hypothesis numbers_above : forall t t' m L c d n k,
    act t m d n k -> admission t' m L c -> L m = named d m m -> c <= n /\ (k = true -> c + size d <= n).

  (* The rule of the import: a quorum recorded the new incarnation. The counter covers what each of them answered before
     that, and what each of them had imported. *)
  Hypothesis import : forall t m L c, admission t m L c ->
    exists R N, quorum R /\ fair L N R (Some m) /\ forall j, In j R -> exists tr, tr < t /\ visit tr j (N j) /\
      (forall t' d n k, act t' j d n k -> named d j j = L j -> t' < tr -> n <= c) /\
      (forall t' L' c', admission t' j L' c' -> L' j = L j -> t' < tr -> c' <= c).

  (* ---- Views that quorums accepted stand in a row -------------------------------------------------- *)

  Definition done_by (t : time) (V : view) (N : member -> view) (Q : list member) (about : option member) : Prop :=
    quorum Q /\ fair V N Q about /\ forall i, In i Q -> exists t', t' < t /\ visit t' i (N i).

  Lemma admission_is_done : forall t m L c, admission t m L c -> exists R N, done_by t L N R (Some m).
  Proof.
    intros t m L c H. destruct (import t m L c H) as (R & N & HR & HF & HA). exists R, N.
    split; [assumption | split; [assumption |]]. intros i Hi. destruct (HA i Hi) as (tr & Ht & Hv & _). now exists tr.
  Qed.

  (* An incarnation that accepts a script was the first one; or a quorum without it took it in. *)
  Lemma admitted_by_others : forall bound t m V, t <= bound -> visit t m V -> V m = 0 \/
    exists t' L N R, t' < t /\ done_by t' L N R (Some m) /\ ~ In m R /\ L m = V m /\ below L V.
  Proof.
    induction bound as [| bound IH]; intros t m V Hb Hv;
      (destruct (admitted_before t m V Hv) as [H0 | (t' & L & c & Ht & HL & Hm & HB)]; [now left |]); [lia |].
    destruct (admission_is_done t' m L c HL) as (R & N & D). pose proof D as (HR & (F1 & F2 & F3) & HA).
    destruct (in_dec Nat.eq_dec m R) as [mR | mR].
    - destruct (HA m mR) as (tr & Htr & Hr). assert (N m m = V m) as E by (rewrite (F2 m m mR); [assumption | now left]).
      destruct (IH tr m (N m)) as [H0 | (t'' & L' & N' & R' & A & B & C & D' & E')]; [lia | assumption | left; lia |].
      right. exists t'', L', N', R'. repeat split; try assumption; try lia; try apply B; try congruence.
      eapply below_trans; [exact E' |]. apply (visits_grow tr t m); [assumption .. | lia].
    - right. exists t', L, N, R. auto.
  Qed.

  Definition voter (m : member) : Prop := exists Q, quorum Q /\ In m Q.

  Definition in_order (V1 V2 : view) (Q1 Q2 : list member) (a1 a2 : option member) : Prop :=
    (forall m, voter m -> is_of Q1 a1 m -> is_of Q2 a2 m -> V1 m <= V2 m) \/
    (forall m, voter m -> is_of Q1 a1 m -> is_of Q2 a2 m -> V2 m <= V1 m).

  (* Whatever was done by one quorum, and by another: of the members that both are about, one of the views names no higher
     incarnation than the other. And who is admitted under a newer incarnation than V1 names knows all that V1 names. *)
  Lemma in_a_row : forall bound,
    (forall t1 t2 V1 V2 N1 N2 Q1 Q2 a1 a2, t1 + t2 <= bound ->
       done_by t1 V1 N1 Q1 a1 -> done_by t2 V2 N2 Q2 a2 -> in_order V1 V2 Q1 Q2 a1 a2) /\
    (forall t1 tl V1 N1 Q1 a1 x L N R, t1 + tl <= bound ->
       done_by t1 V1 N1 Q1 a1 -> done_by tl L N R (Some x) -> ~ In x R -> voter x ->
       is_of Q1 a1 x -> V1 x < L x -> forall b, voter b -> is_of Q1 a1 b -> V1 b <= L b).
  Proof.
    induction bound as [| bound [IHA IHB]].
    - assert (forall t V N Q a, t = 0 -> ~ done_by t V N Q a) as none.
      { intros t V N Q a -> (HQ & _ & HA). destruct (quorums_meet Q Q HQ HQ) as (m & Hm & _).
        destruct (HA m Hm) as (t' & Ht & _). lia. }
      split; intros; exfalso; eapply none; try eassumption; lia.
    - assert (forall t1 t2 V1 V2 N1 N2 Q1 Q2 a1 a2, t1 + t2 <= S bound ->
        done_by t1 V1 N1 Q1 a1 -> done_by t2 V2 N2 Q2 a2 -> in_order V1 V2 Q1 Q2 a1 a2) as A.
      { intros t1 t2 V1 V2 N1 N2 Q1 Q2 a1 a2 Hb D1 D2.
        pose proof D1 as (HQ1 & (_ & S1 & _) & E1). pose proof D2 as (HQ2 & (_ & S2 & _) & E2).
        destruct (quorums_meet Q1 Q2 HQ1 HQ2) as (y & y1 & y2).
        destruct (E1 y y1) as (u1 & L1 & A1). destruct (E2 y y2) as (u2 & L2 & A2).
        assert (N1 y y = V1 y) as O1 by (apply S1; [assumption | now left]).
        assert (N2 y y = V2 y) as O2 by (apply S2; [assumption | now left]).
        destruct (Nat.lt_total (V1 y) (V2 y)) as [Hlt | [Heq | Hgt]].
        - left. intros m vm m1 m2.
          destruct (admitted_by_others u2 u2 y (N2 y)) as [H0 | (t' & L & N & R & Ht & D & yR & Hy & HB)]; [lia | assumption | lia |].
          assert (V1 m <= L m).
          { eapply (IHB t1 t' V1 N1 Q1 a1 y L N R); try eassumption; try lia; [now exists Q1 | now left]. }
          specialize (HB m). rewrite (S2 y m y2 m2) in HB. lia.
        - destruct (Nat.le_gt_cases u1 u2) as [H | H].
          + left. intros m _ m1 m2. rewrite <- (S1 y m y1 m1), <- (S2 y m y2 m2).
            apply (visits_grow u1 u2 y); [assumption .. | congruence | assumption].
          + right. intros m _ m1 m2. rewrite <- (S1 y m y1 m1), <- (S2 y m y2 m2).
            apply (visits_grow u2 u1 y); [assumption .. | congruence | lia].
        - right. intros m vm m1 m2.
          destruct (admitted_by_others u1 u1 y (N1 y)) as [H0 | (t' & L & N & R & Ht & D & yR & Hy & HB)]; [lia | assumption | lia |].
          assert (V2 m <= L m).
          { eapply (IHB t2 t' V2 N2 Q2 a2 y L N R); try eassumption; try lia; [now exists Q1 | now left]. }
          specialize (HB m). rewrite (S1 y m y1 m1) in HB. lia. }
      split; [exact A |].
      intros t1 tl V1 N1 Q1 a1 x L N R Hb D1 DL xR vx x1 Hx b vb b1.
      destruct (Nat.le_gt_cases (V1 b) (L b)) as [| Hlow]; [assumption | exfalso].
      pose proof D1 as (HQ1 & (B1 & S1 & _) & E1). pose proof DL as (HR & (BL & SL & AL) & EL).
      assert (b <> x) as Ebx by (intros ->; lia).
      assert (~ In b R) as bR.
      { intro bR. destruct (A t1 tl V1 L N1 N Q1 R a1 (Some x) Hb D1 DL) as [H | H].
        - specialize (H b vb b1 (or_introl bR)). lia.
        - specialize (H x vx x1 (or_intror eq_refl)). lia. }
      (* Those who took in b, under the incarnation that V1 names. *)
      assert (exists tb Lb Nb Rb, tb <= t1 /\ done_by tb Lb Nb Rb (Some b) /\ ~ In b Rb /\ Lb b = V1 b /\ Lb x <= V1 x)
        as (tb & Lb & Nb & Rb & Htb & DB & bRb & Eb & Hbx).
      { destruct (in_dec Nat.eq_dec b Q1) as [bQ | bQ].
        - destruct (E1 b bQ) as (u & Hu & Hv).
          assert (N1 b b = V1 b) as O by (apply S1; [assumption | now left]).
          destruct (admitted_by_others u u b (N1 b)) as [H0 | (t' & L' & N' & R' & Ht & D & nR & Hm & HB)]; [lia | assumption | lia |].
          exists t', L', N', R'. repeat split; try apply D; try assumption; try lia.
          specialize (HB x). rewrite (S1 b x bQ x1) in HB. exact HB.
        - destruct b1 as [| ->]; [contradiction |]. exists t1, V1, N1, Q1. repeat split; try apply D1; try assumption; lia. }
      pose proof DB as (HRb & (BB & SB & AB) & EB).
      (* Each that took in both was named alone: of b when it took in x, or of x when it took in b. *)
      assert (forall z, In z R -> In z Rb -> L b < N z b \/ Lb x < Nb z x) as sides.
      { intros z zR zRb. destruct (EL z zR) as (ul & Hul & Vl). destruct (EB z zRb) as (ub & Hub & Vb).
        assert (N z z = L z) as Ol by (apply SL; [assumption | now left]).
        assert (Nb z z = Lb z) as Ob by (apply SB; [assumption | now left]).
        assert (voter z) as vz by now exists R.
        assert (N z x = L x) as Nx by (apply SL; [assumption | now right]).
        assert (Nb z b = Lb b) as Nbb by (apply SB; [assumption | now right]).
        destruct (Nat.lt_total (L z) (Lb z)) as [Hlt | [Heq | Hgt]].
        - right. destruct (admitted_by_others ub ub z (Nb z)) as [H0 | (t' & L' & N' & R' & Ht & D & nR & Hm & HB)]; [lia | assumption | lia |].
          assert (L x <= L' x).
          { eapply (IHB tl t' L N R (Some x) z L' N' R'); try eassumption; try lia; [now left | now right]. }
          specialize (HB x). lia.
        - destruct (Nat.le_gt_cases ul ub) as [H | H].
          + right. assert (below (N z) (Nb z)) as G by (apply (visits_grow ul ub z); [assumption .. | congruence | assumption]).
            specialize (G x). lia.
          + left. assert (below (Nb z) (N z)) as G by (apply (visits_grow ub ul z); [assumption .. | congruence | lia]).
            specialize (G b). lia.
        - left. destruct (admitted_by_others ul ul z (N z)) as [H0 | (t' & L' & N' & R' & Ht & D & nR & Hm & HB)]; [lia | assumption | lia |].
          assert (Lb b <= L' b).
          { eapply (IHB tb t' Lb Nb Rb (Some b) z L' N' R'); try eassumption; try lia; [now left | now right]. }
          specialize (HB b). lia. }
      assert (forall y z, In y R -> In z R -> L b < N y b -> L b < N z b -> y = z) as one_b
        by (intros y z yR zR P1 P2; apply (AL y z b); [assumption .. | lia | lia]).
      assert (forall y z, In y Rb -> In z Rb -> Lb x < Nb y x -> Lb x < Nb z x -> y = z) as one_x
        by (intros y z yR zR P1 P2; apply (AB y z x); [assumption .. | lia | lia]).
      destruct (quorums_share R Rb b x HR HRb Ebx vb vx bR bRb xR) as (y & z & Eyz & yR & yRb & zR & zRb & [xRb | (w & Ewy & Ewz & wR & wRb)]).
      + assert (forall v, In v R -> In v Rb -> L b < N v b) as left_only.
        { intros v vR vRb. destruct (sides v vR vRb) as [H | H]; [assumption |].
          rewrite (SB v x vRb) in H; [lia | now left]. }
        apply Eyz. eapply one_b; eauto.
      + destruct (sides y yR yRb) as [Hy | Hy], (sides z zR zRb) as [Hz | Hz], (sides w wR wRb) as [Hw | Hw];
          try (apply Eyz; eapply one_b; eassumption); try (apply Eyz; eapply one_x; eassumption);
          try (apply Ewy; eapply one_b; eassumption); try (apply Ewy; eapply one_x; eassumption);
          try (apply Ewz; eapply one_b; eassumption); try (apply Ewz; eapply one_x; eassumption).
  Qed.

  (* ---- What a grant leaves to members that are admitted later ---------------------------------------- *)

  (* Each member of a quorum answered demand d before t, with n or a higher number. *)
  Definition covered (d : demand) (n : nat) (Q : list member) (t : time) : Prop :=
    quorum Q /\ fair (under d) (named d) Q None /\ forall m, In m Q -> exists t' n' k, t' < t /\ n <= n' /\ act t' m d n' k.

  (* Each answered n; and each counted it. *)
  Definition stands (d : demand) (n : nat) (Q : list member) (t : time) : Prop :=
    quorum Q /\ fair (under d) (named d) Q None /\ forall m, In m Q -> exists t' k, t' < t /\ act t' m d n k.

  Definition counted (d : demand) (n : nat) (Q : list member) (t : time) : Prop :=
    quorum Q /\ fair (under d) (named d) Q None /\ forall m, In m Q -> exists t', t' < t /\ act t' m d n true.

  Lemma stands_covered : forall d n Q t, stands d n Q t -> covered d n Q t.
  Proof.
    intros d n Q t (HQ & HF & HA). split; [assumption | split; [assumption |]]. intros m Hm. destruct (HA m Hm) as (t' & k & Ht & A).
    exists t', n, k. auto.
  Qed.

  Lemma counted_stands : forall d n Q t, counted d n Q t -> stands d n Q t.
  Proof.
    intros d n Q t (HQ & HF & HA). split; [assumption | split; [assumption |]]. intros m Hm.
    destruct (HA m Hm) as (t' & Ht & A). now exists t', true.
  Qed.

  (* A member that acted for a grant was named its own incarnation. *)
  Lemma named_itself : forall d Q m, fair (under d) (named d) Q None -> In m Q -> named d m m = under d m.
  Proof. intros d Q m (_ & S & _) Hm. apply S; [assumption | now left]. Qed.

  (* If a grant names an older incarnation of m, of its quorum, the new incarnation has imported a counter that covers its
     token. And the grant had begun when the new incarnation was admitted. This is the heart of the matter. One member j of
     those that recorded the new incarnation acted for the grant. If the same incarnation of j did both, it acted first,
     since it refuses the older view after the record; so it handed over the token. If not, j itself had been admitted
     since, earlier than m, and had imported the token. *)
  Lemma handed_over : forall bound t m L c d n Q tg, t <= bound ->
    admission t m L c -> covered d n Q tg -> In m Q -> under d m < L m ->
    n <= c /\ exists j t' n' k, In j Q /\ t' < t /\ act t' j d n' k.
  Proof.
    induction bound as [| bound IH]; intros t m L c d n Q tg Hb HL HG mQ Hm.
    - destruct (import t m L c HL) as (R & N & HR & _ & HA). destruct HG as (HQ & _).
      destruct (quorums_meet R Q HR HQ) as (j & jR & _). destruct (HA j jR) as (tr & Htr & _). lia.
    - destruct (import t m L c HL) as (R & N & HR & HF & HA). pose proof HG as (HQ & HFd & HGA).
      destruct (quorums_meet R Q HR HQ) as (j & jR & jQ).
      destruct (HA j jR) as (tr & Htr & Hrec & Hacts & Hadms).
      destruct (HGA j jQ) as (ta & na & k & Hta & Hna & Hact).
      pose proof HF as (_ & SL & _). pose proof HFd as (_ & Sd & _).
      assert (N j j = L j) as OL by (apply SL; [assumption | now left]).
      assert (N j m = L m) as ML by (apply SL; [assumption | now right]).
      assert (named d j j = under d j) as Od by (apply Sd; [assumption | now left]).
      assert (named d j m = under d m) as Md by (apply Sd; [assumption | now left]).
      assert (under d j <= L j) as HVL.
      { assert (done_by tg (under d) (named d) Q None) as DG.
        { split; [assumption | split; [assumption |]]. intros i Hi. destruct (HGA i Hi) as (t' & n' & k' & Ht & _ & Ha).
          exists t'. split; [assumption | eapply act_is_visit; eassumption]. }
        assert (done_by t L N R (Some m)) as DL.
        { split; [assumption | split; [assumption |]]. intros i Hi. destruct (HA i Hi) as (t' & Ht & Hv & _). now exists t'. }
        destruct (proj1 (in_a_row (tg + t)) tg t _ _ _ _ _ _ _ _ (le_n _) DG DL) as [H | H].
        - apply H; [now exists Q | now left | now left].
        - specialize (H m (ex_intro _ Q (conj HQ mQ)) (or_introl mQ) (or_intror eq_refl)). lia. }
      destruct (Nat.eq_dec (under d j) (L j)) as [Heq | Hne].
      + assert (ta < tr) as Hbefore.
        { destruct (Nat.lt_ge_cases ta tr) as [H | H]; [assumption | exfalso].
          assert (below (N j) (named d j)) as G.
          { apply (visits_grow tr ta j); [assumption | eapply act_is_visit; eassumption | congruence | assumption]. }
          specialize (G m). lia. }
        split; [assert (na <= c) by (apply (Hacts ta d na k Hact); [congruence | assumption]); lia |].
        exists j, ta, na, k. repeat split; [assumption | lia | assumption].
      + destruct (admitted_before tr j (N j) Hrec) as [H0 | (t' & L' & c' & Ht' & HL' & Hj & HLL)]; [lia |].
        destruct (IH t' j L' c' d n Q tg) as (Hn & j' & t'' & n'' & k' & X & Y & Z);
          [lia | assumption | assumption | assumption | lia |].
        split; [assert (c' <= c) by (apply (Hadms t' L' c' HL'); [congruence | assumption]); lia |].
        exists j', t'', n'', k'. repeat split; [assumption | lia | assumption].
  Qed.
  (* ---- The promise --------------------------------------------------------------------------------- *)

  (* All acts for b come after those for a. *)
  Definition comes_after (ta : time) (b : demand) : Prop := forall m t n k, act t m b n k -> ta <= t.

  (* The shared member of two such demands, and what it says. *)
  Lemma later_at_a_member : forall a na QA ta b nb QB tb,
    covered a na QA ta -> stands b nb QB tb -> comes_after ta b ->
    exists m, In m QA /\ In m QB /\
      ((exists t' L c, admission t' m L c /\ L m = named b m m /\ na <= c) \/
       (exists ua na' ka, ua < ta /\ na <= na' /\ act ua m a na' ka /\ named a m m = named b m m)).
  Proof.
    intros a na QA ta b nb QB tb GA GB After.
    pose proof GA as (HQA & FA & HA). pose proof GB as (HQB & FB & HB).
    destruct (quorums_meet QA QB HQA HQB) as (m & mA & mB). exists m. split; [assumption | split; [assumption |]].
    destruct (HA m mA) as (ua & na' & ka & La & Lna & Aa). destruct (HB m mB) as (ub & kb & Lb & Ab).
    pose proof (After m ub nb kb Ab) as Hb.
    pose proof (named_itself a QA m FA mA) as EA. pose proof (named_itself b QB m FB mB) as EB.
    destruct (Nat.lt_total (under a m) (under b m)) as [Hlt | [Heq | Hgt]].
    - (* The second names a newer incarnation of m: it imported the first token. *)
      left. destruct (admitted_before ub m (named b m)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c a na QA ta) as (Hn & _); [lia | assumption .. | lia |].
      exists t', L, c. auto.
    - (* The same incarnation did both. *)
      right. exists ua, na', ka. repeat split; try assumption. congruence.
    - (* The second names an older one: then it had begun when the newer one was admitted. *)
      destruct (admitted_before ua m (named a m)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c b nb QB tb) as (_ & j & t'' & n'' & k & _ & Ht'' & Aj);
        [lia | assumption | now apply stands_covered | assumption | lia |].
      pose proof (After j t'' n'' k Aj). lia.
  Qed.

  (* Of two grants of one lock, where all acts for the second come after those for the first. *)
  Theorem later_is_not_lower : forall a na QA ta b nb QB tb,
    stands a na QA ta -> stands b nb QB tb -> comes_after ta b -> same a b -> na <= nb.
  Proof.
    intros a na QA ta b nb QB tb GA GB After Same.
    pose proof GA as (HQA & FA & HA). pose proof GB as (HQB & FB & HB).
    destruct (quorums_meet QA QB HQA HQB) as (m & mA & mB).
    destruct (HA m mA) as (ua & ka & La & Aa). destruct (HB m mB) as (ub & kb & Lb & Ab).
    pose proof (After m ub nb kb Ab) as Hb.
    pose proof (named_itself a QA m FA mA) as EA. pose proof (named_itself b QB m FB mB) as EB.
    destruct (Nat.lt_total (under a m) (under b m)) as [Hlt | [Heq | Hgt]].
    - destruct (admitted_before ub m (named b m)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c a na QA ta) as (Hn & _);
        [lia | assumption | now apply stands_covered | assumption | lia |].
      destruct (numbers_above _ _ _ _ _ _ _ _ Ab HL Hm). lia.
    - destruct (numbers_grow ua ub m a b na nb ka kb Aa Ab) as [X _]; [congruence | lia | auto].
    - destruct (admitted_before ua m (named a m)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c b nb QB tb) as (_ & j & t'' & n'' & k & _ & Ht'' & Aj);
        [lia | assumption | now apply stands_covered | assumption | lia |].
      pose proof (After j t'' n'' k Aj). lia.
  Qed.

  (* Of two demands on one counter. The second was nowhere while the first was answered. *)
  Theorem later_is_not_lower_at_the_counter : forall a na QA ta b nb QB tb,
    covered a na QA ta -> stands b nb QB tb -> comes_after ta b ->
    (forall m t n k, act t m a n k -> t < ta -> not_there t m b) -> na <= nb.
  Proof.
    intros a na QA ta b nb QB tb GA GB After Not.
    destruct (later_at_a_member a na QA ta b nb QB tb GA GB After)
      as (m & mA & mB & [(t' & L & c & HL & E & Hc) | (ua & na' & ka & Lu & Ln & Aa & E)]);
      destruct GB as (_ & _ & HB); destruct (HB m mB) as (ub & kb & Lb & Ab).
    - destruct (numbers_above _ _ _ _ _ _ _ _ Ab HL E). lia.
    - pose proof (After m ub nb kb Ab).
      destruct (numbers_grow ua ub m a b na' nb ka kb Aa Ab E) as [_ X]; [lia |].
      destruct X as [X _]; [eapply Not; eassumption | lia].
  Qed.

  Theorem later_is_higher_at_the_counter : forall a na QA ta b nb QB tb,
    covered a na QA ta -> counted b nb QB tb -> comes_after ta b ->
    (forall m t n k, act t m a n k -> t < ta -> not_there t m b) -> na + size b <= nb.
  Proof.
    intros a na QA ta b nb QB tb GA GB After Not.
    destruct (later_at_a_member a na QA ta b nb QB tb GA (counted_stands _ _ _ _ GB) After)
      as (m & mA & mB & [(t' & L & c & HL & E & Hc) | (ua & na' & ka & Lu & Ln & Aa & E)]);
      destruct GB as (_ & _ & HB); destruct (HB m mB) as (ub & Lb & Ab).
    - destruct (numbers_above _ _ _ _ _ _ _ _ Ab HL E) as [_ X]. specialize (X eq_refl). lia.
    - pose proof (After m ub nb true Ab).
      destruct (numbers_grow ua ub m a b na' nb ka true Aa Ab E) as [_ X]; [lia |].
      destruct X as [_ X]; [eapply Not; eassumption |]. specialize (X eq_refl). lia.
  Qed.

  (* ---- Demands in any order -------------------------------------------------------------------------- *)

  Lemma above_older_view : forall a na QA ta b nb QB tb m,
    stands a na QA ta -> counted b nb QB tb -> In m QA -> In m QB -> under a m < under b m -> na + size b <= nb.
  Proof.
    intros a na QA ta b nb QB tb m GA (HQB & FB & HB) mA mB Hlt.
    destruct (HB m mB) as (ub & Lb & Ab). pose proof (named_itself b QB m FB mB) as EB.
    destruct (admitted_before ub m (named b m)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
      [eapply act_is_visit; eassumption | lia |].
    destruct (handed_over t' t' m L c a na QA ta) as (Hn & _);
      [lia | assumption | now apply stands_covered | assumption | lia |].
    destruct (numbers_above _ _ _ _ _ _ _ _ Ab HL Hm) as [_ H]. specialize (H eq_refl). lia.
  Qed.

  (* Where each of two demands is not there while the other is answered, one lies wholly above the other. *)
  Theorem counted_lie_apart : forall a na QA ta b nb QB tb,
    counted a na QA ta -> counted b nb QB tb ->
    (forall m t n k, act t m a n k -> not_there t m b) -> (forall m t n k, act t m b n k -> not_there t m a) ->
    na + size b <= nb \/ nb + size a <= na.
  Proof.
    intros a na QA ta b nb QB tb GA GB Not_b Not_a.
    pose proof GA as (HQA & FA & HA). pose proof GB as (HQB & FB & HB).
    destruct (quorums_meet QA QB HQA HQB) as (m & mA & mB).
    destruct (HA m mA) as (ua & La & Aa). destruct (HB m mB) as (ub & Lb & Ab).
    pose proof (named_itself a QA m FA mA) as EA. pose proof (named_itself b QB m FB mB) as EB.
    destruct (Nat.lt_total (under a m) (under b m)) as [Hlt | [Heq | Hgt]].
    - left. eapply above_older_view; eauto using counted_stands.
    - assert (named a m m = named b m m) as E by congruence.
      destruct (Nat.le_gt_cases ua ub) as [H | H].
      + left. destruct (numbers_grow ua ub m a b na nb true true Aa Ab E H) as [_ X].
        destruct X as [_ X]; [eapply Not_b; eassumption | auto].
      + right. destruct (numbers_grow ub ua m b a nb na true true Ab Aa) as [_ X]; [auto | lia |].
        destruct X as [_ X]; [eapply Not_a; eassumption | auto].
    - right. eapply above_older_view; eauto using counted_stands.
  Qed.
End Views.
