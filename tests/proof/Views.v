(* The argument: why masters that lose their data do not break the order.

   This file knows no messages and no scripts. It assumes facts about single masters, which Promise.v proves of the
   protocol, and concludes the order of grants.

   A view names an incarnation of every member. An act "at m under V" is an act of the incarnation V m of member m. *)

From Pawl Require Import Base.

Definition incarnation := nat.
Definition view := member -> incarnation.

(* W knows at least what V knows. *)
Definition below (V W : view) : Prop := forall m, V m <= W m.

Lemma below_refl : forall V, below V V.
Proof. intros V m. lia. Qed.

Lemma below_trans : forall U V W, below U V -> below V W -> below U W.
Proof. intros U V W H1 H2 m. specialize (H1 m). specialize (H2 m). lia. Qed.

Section Views.
  Variable quorum : list member -> Prop.
  Hypothesis quorums_meet : meet quorum.

  (* At t, member m accepted a script that names V. *)
  Variable visit : time -> member -> view -> Prop.

  (* Demands on one counter: a lock of an attempt, the values of a round of a named counter, or a break. All scripts of
     a demand name one view. A demand that is counted raises the counter by at least its size. *)
  Variable demand : Type.
  Variable under : demand -> view.
  Variable size : demand -> nat.

  (* At t, member m answered demand d with the number n. The number was counted there (true), or it was not: then it
     repeats a token that the lock id was granted before (Model.v, Join), or it is the counter that a break left. *)
  Variable act : time -> member -> demand -> nat -> bool -> Prop.

  (* At t, the lock of demand d was not at m yet. *)
  Variable not_there : time -> member -> demand -> Prop.

  (* Two demands are of the same lock. *)
  Variable same : demand -> demand -> Prop.

  (* At t, the incarnation L m of member m became active. Its leader named the view L, and its counter was c. *)
  Variable admission : time -> member -> view -> nat -> Prop.

  (* What single masters do. *)
  Hypothesis act_is_visit : forall t m d n k, act t m d n k -> visit t m (under d).

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
    act t1 m d1 n1 k1 -> act t2 m d2 n2 k2 -> under d1 m = under d2 m -> t1 <= t2 ->
    (same d1 d2 -> n1 <= n2) /\
    (not_there t1 m d2 -> n1 <= n2 /\ (k2 = true -> n1 + size d2 <= n2)).

  (* Numbers are above what was imported. *)
  Hypothesis numbers_above : forall t t' m L c d n k,
    act t m d n k -> admission t' m L c -> L m = under d m -> c <= n /\ (k = true -> c + size d <= n).

  (* The rule of the import: a quorum recorded the new incarnation. The counter covers what each of them answered before
     that, and what each of them had imported. *)
  Hypothesis import : forall t m L c, admission t m L c ->
    exists R, quorum R /\ forall j, In j R -> exists tr, tr < t /\ visit tr j L /\
      (forall t' d n k, act t' j d n k -> under d j = L j -> t' < tr -> n <= c) /\
      (forall t' L' c', admission t' j L' c' -> L' j = L j -> t' < tr -> c' <= c).

  (* ---- Views that a quorum accepted stand in a row ------------------------------------------------- *)

  Definition established (V : view) (t : time) : Prop :=
    exists Q, quorum Q /\ forall m, In m Q -> exists t', t' < t /\ visit t' m V.

  Lemma admitted_view_established : forall t m L c, admission t m L c -> established L t.
  Proof.
    intros t m L c H. destruct (import t m L c H) as (R & HR & HA). exists R. split; [assumption |].
    intros j Hj. destruct (HA j Hj) as (tr & Hlt & Hv & _). now exists tr.
  Qed.

  (* Two quorums share a member m. If both views name the same incarnation of m, m has put them in order.
     Otherwise the higher incarnation was admitted under a view that lies between the two, earlier. *)
  Lemma in_a_row : forall bound t1 t2 V1 V2, t1 + t2 <= bound ->
    established V1 t1 -> established V2 t2 -> below V1 V2 \/ below V2 V1.
  Proof.
    induction bound as [| bound IH]; intros t1 t2 V1 V2 Hb (Q1 & HQ1 & E1) (Q2 & HQ2 & E2).
    - destruct (quorums_meet Q1 Q2 HQ1 HQ2) as (m & M1 & _).
      destruct (E1 m M1) as (t' & Ht' & _). lia.
    - destruct (quorums_meet Q1 Q2 HQ1 HQ2) as (m & M1 & M2).
      destruct (E1 m M1) as (u1 & L1 & A1). destruct (E2 m M2) as (u2 & L2 & A2).
      destruct (Nat.lt_total (V1 m) (V2 m)) as [Hlt | [Heq | Hlt]].
      + destruct (admitted_before u2 m V2 A2) as [H0 | (t' & L & c & Ht' & HL & Hm & HLV)]; [lia |].
        destruct (IH t1 t' V1 L) as [H | H]; [lia | now exists Q1; split | | |].
        * eapply admitted_view_established; eassumption.
        * left. eapply below_trans; eassumption.
        * specialize (H m). lia.
      + destruct (Nat.le_gt_cases u1 u2) as [H | H].
        * left. eapply visits_grow; eassumption.
        * right. eapply (visits_grow u2 u1 m); [eassumption .. | now symmetry | lia].
      + destruct (admitted_before u1 m V1 A1) as [H0 | (t' & L & c & Ht' & HL & Hm & HLV)]; [lia |].
        destruct (IH t' t2 L V2) as [H | H]; [lia | | now exists Q2; split | |].
        * eapply admitted_view_established; eassumption.
        * specialize (H m). lia.
        * right. eapply below_trans; eassumption.
  Qed.

  (* ---- What a grant leaves to members that are admitted later ---------------------------------------- *)

  (* Each member of a quorum answered demand d before t, with n or a higher number. *)
  Definition covered (d : demand) (n : nat) (Q : list member) (t : time) : Prop :=
    quorum Q /\ forall m, In m Q -> exists t' n' k, t' < t /\ n <= n' /\ act t' m d n' k.

  (* Each answered n; and each counted it. *)
  Definition stands (d : demand) (n : nat) (Q : list member) (t : time) : Prop :=
    quorum Q /\ forall m, In m Q -> exists t' k, t' < t /\ act t' m d n k.

  Definition counted (d : demand) (n : nat) (Q : list member) (t : time) : Prop :=
    quorum Q /\ forall m, In m Q -> exists t', t' < t /\ act t' m d n true.

  Lemma stands_covered : forall d n Q t, stands d n Q t -> covered d n Q t.
  Proof.
    intros d n Q t (HQ & HA). split; [assumption |]. intros m Hm. destruct (HA m Hm) as (t' & k & Ht & A).
    exists t', n, k. auto.
  Qed.

  Lemma counted_stands : forall d n Q t, counted d n Q t -> stands d n Q t.
  Proof.
    intros d n Q t (HQ & HA). split; [assumption |]. intros m Hm.
    destruct (HA m Hm) as (t' & Ht & A). now exists t', true.
  Qed.

  Lemma covered_established : forall d n Q t, covered d n Q t -> established (under d) t.
  Proof.
    intros d n Q t (HQ & HA). exists Q. split; [assumption |]. intros m Hm.
    destruct (HA m Hm) as (t' & n' & k & Ht & _ & A). exists t'. split; [assumption |].
    eapply act_is_visit; eassumption.
  Qed.

  (* If a grant names an older incarnation of m, the new incarnation has imported a counter that covers its token. And
     the grant had begun when the new incarnation was admitted. This is the heart of the matter. One member j of those
     that recorded the new incarnation acted for the grant. If the same incarnation of j did both, it acted first, since
     it refuses the older view after the record; so it handed over the token. If not, j itself had been admitted since,
     earlier than m, and had imported the token. *)
  Lemma handed_over : forall bound t m L c d n Q tg, t <= bound ->
    admission t m L c -> covered d n Q tg -> under d m < L m ->
    n <= c /\ exists j t' n' k, In j Q /\ t' < t /\ act t' j d n' k.
  Proof.
    induction bound as [| bound IH]; intros t m L c d n Q tg Hb HL HG Hm.
    - destruct (import t m L c HL) as (R & HR & HA). destruct HG as (HQ & _).
      destruct (quorums_meet R Q HR HQ) as (j & jR & _). destruct (HA j jR) as (tr & Htr & _). lia.
    - destruct (import t m L c HL) as (R & HR & HA). pose proof HG as (HQ & HGA).
      destruct (quorums_meet R Q HR HQ) as (j & jR & jQ).
      destruct (HA j jR) as (tr & Htr & Hrec & Hacts & Hadms).
      destruct (HGA j jQ) as (ta & na & k & Hta & Hna & Hact).
      assert (below (under d) L) as HVL.
      { destruct (in_a_row (tg + t) tg t (under d) L) as [H | H]; [lia | | | assumption |].
        - eapply covered_established; eassumption.
        - eapply admitted_view_established; eassumption.
        - specialize (H m). lia. }
      destruct (Nat.lt_total (under d j) (L j)) as [Hlt | [Heq | Hgt]].
      + destruct (admitted_before tr j L Hrec) as [H0 | (t' & L' & c' & Ht' & HL' & Hj & HLL)]; [lia |].
        destruct (IH t' j L' c' d n Q tg) as (Hn & j' & t'' & n'' & k' & X & Y & Z);
          [lia | assumption | assumption | lia |].
        split; [specialize (Hadms t' L' c' HL' Hj Ht'); lia |].
        exists j', t'', n'', k'. repeat split; [assumption | lia | assumption].
      + assert (ta < tr) as Hbefore.
        { destruct (Nat.lt_ge_cases ta tr) as [H | H]; [assumption | exfalso].
          assert (below L (under d)) as HLV.
          { eapply (visits_grow tr ta j); [assumption | | now symmetry | assumption].
            eapply act_is_visit; eassumption. }
          specialize (HLV m). lia. }
        split; [specialize (Hacts ta d na k Hact Heq Hbefore); lia |].
        exists j, ta, na, k. repeat split; [assumption | lia | assumption].
      + specialize (HVL j). lia.
  Qed.

  (* ---- The promise --------------------------------------------------------------------------------- *)

  (* All acts for b come after those for a. *)
  Definition comes_after (ta : time) (b : demand) : Prop := forall m t n k, act t m b n k -> ta <= t.

  (* The shared member of two such demands, and what it says. *)
  Lemma later_at_a_member : forall a na QA ta b nb QB tb,
    covered a na QA ta -> stands b nb QB tb -> comes_after ta b ->
    exists m, In m QA /\ In m QB /\
      ((exists t' L c, admission t' m L c /\ L m = under b m /\ na <= c) \/
       (exists ua na' ka, ua < ta /\ na <= na' /\ act ua m a na' ka /\ under a m = under b m)).
  Proof.
    intros a na QA ta b nb QB tb GA GB After.
    pose proof GA as (HQA & HA). pose proof GB as (HQB & HB).
    destruct (quorums_meet QA QB HQA HQB) as (m & mA & mB). exists m. split; [assumption | split; [assumption |]].
    destruct (HA m mA) as (ua & na' & ka & La & Lna & Aa). destruct (HB m mB) as (ub & kb & Lb & Ab).
    pose proof (After m ub nb kb Ab) as Hb.
    destruct (Nat.lt_total (under a m) (under b m)) as [Hlt | [Heq | Hgt]].
    - (* The second names a newer incarnation of m: it imported the first token. *)
      left. destruct (admitted_before ub m (under b)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c a na QA ta) as (Hn & _); [lia | assumption .. | lia |].
      exists t', L, c. auto.
    - (* The same incarnation did both. *)
      right. exists ua, na', ka. auto.
    - (* The second names an older one: then it had begun when the newer one was admitted. *)
      destruct (admitted_before ua m (under a)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c b nb QB tb) as (_ & j & t'' & n'' & k & _ & Ht'' & Aj);
        [lia | assumption | now apply stands_covered | lia |].
      pose proof (After j t'' n'' k Aj). lia.
  Qed.

  (* Of two grants of one lock, where all acts for the second come after those for the first. *)
  Theorem later_is_not_lower : forall a na QA ta b nb QB tb,
    stands a na QA ta -> stands b nb QB tb -> comes_after ta b -> same a b -> na <= nb.
  Proof.
    intros a na QA ta b nb QB tb GA GB After Same.
    destruct GA as (HQA & HA). destruct GB as (HQB & HB).
    assert (stands a na QA ta) as GA by now split. assert (stands b nb QB tb) as GB by now split.
    destruct (quorums_meet QA QB HQA HQB) as (m & mA & mB).
    destruct (HA m mA) as (ua & ka & La & Aa). destruct (HB m mB) as (ub & kb & Lb & Ab).
    pose proof (After m ub nb kb Ab) as Hb.
    destruct (Nat.lt_total (under a m) (under b m)) as [Hlt | [Heq | Hgt]].
    - destruct (admitted_before ub m (under b)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c a na QA ta) as (Hn & _); [lia | assumption | now apply stands_covered | lia |].
      destruct (numbers_above _ _ _ _ _ _ _ _ Ab HL Hm). lia.
    - destruct (numbers_grow ua ub m a b na nb ka kb Aa Ab Heq) as [X _]; [lia | auto].
    - destruct (admitted_before ua m (under a)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
        [eapply act_is_visit; eassumption | lia |].
      destruct (handed_over t' t' m L c b nb QB tb) as (_ & j & t'' & n'' & k & _ & Ht'' & Aj);
        [lia | assumption | now apply stands_covered | lia |].
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
      destruct GB as (_ & HB); destruct (HB m mB) as (ub & kb & Lb & Ab).
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
      destruct GB as (_ & HB); destruct (HB m mB) as (ub & Lb & Ab).
    - destruct (numbers_above _ _ _ _ _ _ _ _ Ab HL E) as [_ X]. specialize (X eq_refl). lia.
    - pose proof (After m ub nb true Ab).
      destruct (numbers_grow ua ub m a b na' nb ka true Aa Ab E) as [_ X]; [lia |].
      destruct X as [_ X]; [eapply Not; eassumption |]. specialize (X eq_refl). lia.
  Qed.

  (* ---- Demands in any order -------------------------------------------------------------------------- *)

  Lemma above_older_view : forall a na QA ta b nb QB tb m,
    stands a na QA ta -> counted b nb QB tb -> In m QB -> under a m < under b m -> na + size b <= nb.
  Proof.
    intros a na QA ta b nb QB tb m GA (HQB & HB) mB Hlt.
    destruct (HB m mB) as (ub & Lb & Ab).
    destruct (admitted_before ub m (under b)) as [H0 | (t' & L & c & Ht' & HL & Hm & _)];
      [eapply act_is_visit; eassumption | lia |].
    destruct (handed_over t' t' m L c a na QA ta) as (Hn & _);
      [lia | assumption | now apply stands_covered | lia |].
    destruct (numbers_above _ _ _ _ _ _ _ _ Ab HL Hm) as [_ H]. specialize (H eq_refl). lia.
  Qed.

  (* Where each of two demands is not there while the other is answered, one lies wholly above the other. *)
  Theorem counted_lie_apart : forall a na QA ta b nb QB tb,
    counted a na QA ta -> counted b nb QB tb ->
    (forall m t n k, act t m a n k -> not_there t m b) -> (forall m t n k, act t m b n k -> not_there t m a) ->
    na + size b <= nb \/ nb + size a <= na.
  Proof.
    intros a na QA ta b nb QB tb GA GB Not_b Not_a.
    pose proof GA as (HQA & HA). pose proof GB as (HQB & HB).
    destruct (quorums_meet QA QB HQA HQB) as (m & mA & mB).
    destruct (HA m mA) as (ua & La & Aa). destruct (HB m mB) as (ub & Lb & Ab).
    destruct (Nat.lt_total (under a m) (under b m)) as [Hlt | [Heq | Hgt]].
    - left. eapply above_older_view; eauto using counted_stands.
    - destruct (Nat.le_gt_cases ua ub) as [H | H].
      + left. destruct (numbers_grow ua ub m a b na nb true true Aa Ab Heq H) as [_ X].
        destruct X as [_ X]; [eapply Not_b; eassumption | auto].
      + right. destruct (numbers_grow ub ua m b a nb na true true Ab Aa) as [_ X]; [auto | lia |].
        destruct X as [_ X]; [eapply Not_a; eassumption | auto].
    - right. eapply above_older_view; eauto using counted_stands.
  Qed.
End Views.
