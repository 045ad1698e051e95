(* The token floor, and the move of a fleet: nothing is granted at or below the floor; no token of a fleet whose masters
   were claimed is above what a majority of them knew. *)

From Pawl Require Import Base Views Model Kept Order Promises.

Section Floor.
  Variable slot_of : resource -> slot.
  Variable slots : list slot.
  Variable quorum : list member -> Prop.
  Hypothesis slots_are_all : forall r, In (slot_of r) slots.
  Hypothesis quorums_meet : meet quorum.
  Hypothesis quorums_share : share quorum.

  Notation fine := (fine slot_of quorum).
  Notation step := (step slot_of slots quorum as_designed).
  Notation steps := (steps slot_of slots quorum as_designed).
  Notation accepts := (accepts as_designed).

  (* ---- Nothing is granted at or below the floor ------------------------------------------------------------ *)

  Variable floor : nat.

  Definition machine_is_above (x : machine) : Prop :=
    lineage_of x <> changed -> state_of x = active ->
    forall r, floor <= counter x (slot_of r) /\
      forall l, locks x r = Some l -> from l <> imported -> floor < number l.

  Definition acts_are_above (h : list event) : Prop :=
    forall t m d n o, act h t m d n o -> (o = taken -> floor + size_of d <= n) /\ (forall a r V, d = Lock_of a r V -> floor < n).

  Definition pages_are_above (h : list event) : Prop :=
    forall j L p r n, In (Read j L p) h -> In (slot_of r, n) p -> floor <= n.

  Definition above (s : state) : Prop :=
    (forall m k, machine_is_above (machines s m k)) /\ acts_are_above (history s) /\ pages_are_above (history s).

  Lemma somebody : forall Q, quorum Q -> exists m, In m Q.
  Proof. intros Q HQ. destruct (quorums_meet Q Q HQ HQ) as (m & Hm & _). now exists m. Qed.

  Lemma granted_above : forall M h a x r, fine (State M h) -> acts_are_above h ->
    In (Granted a x) h -> In r (what a) -> floor < x r.
  Proof.
    intros M h a x r [F _] A Hg Hr. destruct (in_happened _ _ _ Hg) as (t & _ & Hh).
    destruct (f_grants _ _ _ F t a x Hh) as (Q & V & N & HQ & _ & X). destruct (somebody Q HQ) as (m & Hm).
    destruct (X m Hm r Hr) as (t' & o & _ & Ha). destruct (A _ _ _ _ _ Ha) as [_ Y]. now apply (Y a r (N m)).
  Qed.

  (* One machine moves, and one event happens. *)
  Lemma above_by_move : forall M h m k x e,
    above (State M h) -> machine_is_above x ->
    (forall m' d n o, acts e m' d n o -> (o = taken -> floor + size_of d <= n) /\ (forall a r V, d = Lock_of a r V -> floor < n)) ->
    (forall j L p, e <> Read j L p) ->
    above (State (put M m k x) (e :: h)).
  Proof.
    intros M h m k x e (AM & AA & AP) Hx He Hp. split; [| split]; simpl in *.
    - intros m' k'. unfold put. destruct (Nat.eq_dec m' m) as [-> | D];
        [rewrite set_same; destruct (Nat.eq_dec k' k) as [-> | D'] |];
        [rewrite set_same; assumption | rewrite set_other by assumption; apply AM | rewrite set_other by assumption; apply AM].
    - intros t m' d n o A. apply act_now in A. destruct A as [A | [A _]]; eauto.
    - intros j L p r n [E | H] Hin; [destruct (Hp j L p E) | eauto].
  Qed.

  Lemma above_by_quiet_move : forall M h m k x,
    above (State M h) -> machine_is_above x -> above (State (put M m k x) h).
  Proof.
    intros M h m k x (AM & AA & AP) Hx. split; [| now split]. simpl in *. intros m' k'. unfold put.
    destruct (Nat.eq_dec m' m) as [-> | D];
      [rewrite set_same; destruct (Nat.eq_dec k' k) as [-> | D'] |];
      [rewrite set_same; assumption | rewrite set_other by assumption; apply AM | rewrite set_other by assumption; apply AM].
  Qed.

  Lemma above_by_word : forall M h e, above (State M h) -> visit_of e = None -> (forall j L p, e <> Read j L p) ->
    above (State M (e :: h)).
  Proof.
    intros M h e (AM & AA & AP) Hv Hp. split; [assumption | split]; simpl in *.
    - intros t m d n o A. apply act_now in A. destruct A as [A | [A _]]; [eauto |].
      apply act_visits in A. rewrite Hv in A. discriminate.
    - intros j L p r n [E | H] Hin; [destruct (Hp j L p E) | eauto].
  Qed.

  Lemma above_acceptor : forall M h m k V, above (State M h) -> accepts m (M m k) V -> forall r,
    floor <= counter (M m k) (slot_of r) /\
    forall l, locks (M m k) r = Some l -> from l <> imported -> floor < number l.
  Proof.
    intros M h m k V (AM & _) A. apply accepted in A. destruct A as (S & L & _).
    apply (AM m k); [simpl; rewrite L; discriminate | assumption].
  Qed.

  Lemma above_moves : forall x x', machine_is_above x ->
    (lineage_of x = changed -> lineage_of x' = changed) -> state_of x' = state_of x ->
    (forall sl, counter x sl <= counter x' sl) -> (forall r l, locks x' r = Some l -> locks x r = Some l) ->
    machine_is_above x'.
  Proof.
    intros x x' A Li S C Lk L Ac r. rewrite S in Ac. assert (lineage_of x <> changed) as L0 by auto.
    destruct (A L0 Ac r) as [X Y]. split; [specialize (C (slot_of r)); lia | eauto].
  Qed.

  Lemma above_by_step : forall s s', step s s' -> fine s -> above s -> above s'.
  Proof.
    intros s s' Hstep F A. destruct Hstep; cbv zeta in *;
      try (apply above_by_word; [assumption | reflexivity | discriminate]).
    - (* Take *)
      pose proof (above_acceptor M h m k _ A H0) as AM. apply above_by_move; try assumption; try discriminate.
      + intros L Ac r. simpl in *. split; [specialize (H2 (slot_of r)); specialize (AM r); lia |].
        intros l Hl Hf. destruct (mem r (what a)) eqn:E; [| now apply (AM r)].
        apply mem_in in E. injection Hl as <-. simpl in *.
        destruct (H1 r E) as [(_ & X & _) | (l & Hl & _ & X & -> & _)];
          [specialize (AM r); lia | apply (AM r); [assumption | apply X; discriminate]].
      + intros m' d x o' Ha. inversion Ha; subst. assert (In r (what a)) as Hr by assumption. assert (floor < n r) as X.
        { destruct (H1 r Hr) as [(_ & X & _) | (l & Hl & _ & X & -> & _)];
            [specialize (AM r); lia | apply (AM r); [assumption | apply X; discriminate]]. }
        split; [intros _; simpl; lia | intros; assumption].
    - (* Confirm *)
      pose proof (above_acceptor M h m k _ A H0) as AM.
      assert (forall r, In r (what a) -> floor < t r) as T.
      { intros r Hr. destruct (H1 r Hr) as (l & El & _ & Hm & Ht). simpl in Hm.
        assert (from l <> imported) as Hf by (eapply confirmed_was_not_imported; eassumption).
        destruct (AM r) as [_ X]. specialize (X l El Hf). lia. }
      apply above_by_move; try assumption; try discriminate.
      + intros L Ac r. simpl in *. split; [specialize (H2 (slot_of r)); specialize (AM r); lia |].
        intros l Hl Hf. destruct (mem r (what a)) eqn:E; [| now apply (AM r)].
        apply mem_in in E. injection Hl as <-. simpl. auto.
      + intros m' d x o' Ha. inversion Ha; subst. assert (In r (what a)) as Hr by assumption. specialize (T r Hr).
        split; [intros _; simpl; lia | intros; assumption].
    - (* Count *)
      pose proof (above_acceptor M h m k _ A H0) as AM. apply above_by_move; try assumption; try discriminate.
      + intros L Ac r. simpl in *. split; [| apply (AM r)].
        pose proof (set_grows (counter (M m k)) (slot_of (counts c)) (base + values c)) as X.
        assert (counter (M m k) (slot_of (counts c)) <= base + values c) as Y by lia.
        specialize (X Y (slot_of r)). specialize (AM r). lia.
      + intros m' d x o' Ha. inversion Ha; subst. split; [| discriminate]. intros _. simpl.
        destruct (AM (counts c)). lia.
    - (* Break_at *)
      pose proof (above_acceptor M h m k _ A H0) as AM. apply above_by_move; try assumption; try discriminate.
      + intros L Ac r. simpl in *. split; [| apply (AM r)].
        pose proof (set_grows (counter (M m k)) (slot_of (broken b)) n H1 (slot_of r)). specialize (AM r). lia.
      + intros m' d x o' Ha. inversion Ha; subst. split; discriminate.
    - (* Vanish *)
      apply above_by_quiet_move; [assumption |]. eapply above_moves; [apply (proj1 A m k) | simpl; auto ..].
      intros r' l Hl. destruct (Nat.eq_dec r' r) as [-> | D];
        [rewrite set_same in Hl; discriminate | now rewrite set_other in Hl].
    - (* Rise *)
      apply above_by_quiet_move; [assumption |]. eapply above_moves; [apply (proj1 A m k) | simpl; auto ..].
    - (* Hear *)
      apply above_by_quiet_move; [assumption |]. eapply above_moves; [apply (proj1 A m k) | simpl; auto ..].
    - (* Join *)
      destruct (H ltac:(discriminate)) as [Hg En]. pose proof (granted_above M h a x r F (proj1 (proj2 A)) Hg H1) as X.
      rewrite <- En in X. pose proof (above_acceptor M h m k _ A H2) as AM. specialize (H4 ltac:(discriminate)).
      apply above_by_move; try assumption; try discriminate; [| intros m' d y o' Ha; inversion Ha].
      intros L Ac r'. simpl in *. split.
      + pose proof (set_grows (counter (M m k)) (slot_of r) n H4 (slot_of r')). specialize (AM r'). lia.
      + intros l Hl Hf. destruct (r' =? r); [now injection Hl as <- | now apply (AM r')].
    - (* Fall *)
      apply above_by_quiet_move; [assumption |]. intros L Ac. destruct H as [H | H]; congruence.
    - (* Restart *)
      apply above_by_quiet_move; [assumption |]. eapply above_moves; [apply (proj1 A m k) | simpl; auto ..].
      intro X. rewrite H in X. discriminate.
    - (* Trust *)
      specialize (H ltac:(discriminate)).
      apply above_by_quiet_move; [assumption |]. eapply above_moves; [apply (proj1 A m k) | simpl; auto ..].
      intro X. rewrite H in X. discriminate.
    - (* Mark *)
      apply above_by_move; try assumption; try discriminate. intros m' d x o Ha. inversion Ha.
    - (* Record_view *)
      apply above_by_move; try assumption; try discriminate; [| intros m' d x o Ha; inversion Ha].
      eapply above_moves; [apply (proj1 A j k) | simpl; auto ..].
    - (* Read_page *)
      destruct A as (AM & AA & AP). split; [assumption | split]; simpl in *.
      + intros t m d n o X. apply act_now in X. destruct X as [X | [X _]]; [eauto | inversion X].
      + intros j' L' p' r n [E | X] Hin; [injection E as <- <- <- | eauto]. rewrite <- (H3 _ _ Hin).
        apply (AM j k); [simpl; rewrite H1; discriminate | assumption].
    - (* Install *)
      apply above_by_move; try assumption; try discriminate. intros m' d x o Ha. inversion Ha.
    - (* Install_lock *)
      apply above_by_quiet_move; [assumption |]. intros _ Ac. discriminate.
    - (* Admit *)
      destruct (joiner slot_of quorum M h m k I F H H0) as [G [JV JA JI JL]].
      specialize (H2 ltac:(discriminate)). specialize (H3 ltac:(discriminate)). destruct (somebody R H2) as (j & Hj).
      apply above_by_move; try assumption; try discriminate; [| intros m' d x o Ha; inversion Ha].
      intros _ _ r. simpl. split.
      + destruct (H4 j Hj) as [_ X]. destruct (X (slot_of r) (slots_are_all r)) as (p & n & Hp & Hin).
        destruct (f_read _ _ _ (proj1 F) m I j (N j) p Hp) as [_ Hrd].
        pose proof (proj2 (proj2 A) j (N j) p r n Hrd Hin). pose proof (JI j (N j) p Hp _ _ Hin). lia.
      + intros l Hl Hf. destruct Hf. eapply JL. eassumption.
    - (* Trust_half_way *) discriminate.
  Qed.

  Lemma above_at_first : forall s, initial_above floor s -> above s.
  Proof.
    intros [M h] [Hh HM]. simpl in *. subst h. split; [| split].
    - intros m k _ Ac r. simpl in *. destruct (HM m k) as [Hl Hk]. destruct k as [| k].
      + destruct Hk as (_ & _ & Hc). split; [apply Hc |]. intros l X. rewrite Hl in X. discriminate.
      + rewrite Hk in Ac. discriminate.
    - intros t m d n o (e & [] & _).
    - intros j L p r n [].
  Qed.

  Lemma fine_and_above : forall s s', steps s s' -> fine s -> above s -> fine s' /\ above s'.
  Proof.
    intros s s' H. induction H as [| s s' s'' Hs H IH]; intros F A; [now split |].
    apply IH; [eapply kept_by_step; eassumption | eapply above_by_step; eassumption].
  Qed.

  Theorem reachable_is_above_floor : forall s, reachable_above slot_of slots quorum as_designed floor s ->
    above_floor floor (history s).
  Proof.
    intros [M h] (s0 & H0 & Hs).
    destruct (fine_and_above _ _ Hs (fine_at_first slot_of quorum floor s0 H0) (above_at_first s0 H0)) as [F A].
    split.
    - intros t a x r Hg Hr. apply happened_in in Hg. eapply granted_above; try eassumption. apply A.
    - intros t c n Hc. destruct (f_agreed _ _ _ (proj1 F) t c n Hc) as (_ & Q & V & N & HQ & _ & X).
      destruct (somebody Q HQ) as (m & Hm). destruct (X m Hm) as (t' & _ & Ha).
      destruct (proj1 (proj2 A) _ _ _ _ _ Ha) as [Y _]. now apply Y.
  Qed.

  (* ---- A fleet whose masters were claimed -------------------------------------------------------------------- *)

  (* Each member of a quorum R was surveyed on a machine that had lost nothing: its counters are at most T. No admission
     of the member is newer than that machine. Since the survey the member has answered nothing: it was claimed. *)
  Definition surveyed (s : state) (h : list event) (R : list member) (T : nat) : Prop :=
    quorum R /\ forall j, In j R ->
      (exists k, state_of (machines s j k) = active /\ lineage_of (machines s j k) = kept /\
         (forall sl, counter (machines s j k) sl <= T) /\
         forall t L c, admission h t j L c -> L j <= knows (machines s j k) j) /\
      (forall t d n o, act h t j d n o -> t < length (history s)).

  Lemma steps_extend : forall s s', steps s s' -> exists l, history s' = l ++ history s.
  Proof.
    intros s s' H. induction H as [| s s' s'' Hs H (l & IH)]; [now exists [] |].
    assert (exists l', history s' = l' ++ history s) as (l' & E).
    { destruct Hs; simpl; solve [now exists [] | now eexists [_]]. }
    exists (l ++ l'). now rewrite IH, E, app_assoc.
  Qed.

  Lemma happened_earlier : forall (l h : list event) t e, t < length h -> happened (l ++ h) t e -> happened h t e.
  Proof.
    induction l as [| x l IH]; simpl; intros h t e Ht H; [assumption |].
    destruct H as [[_ ->] | H]; [rewrite app_length in Ht; lia | now apply IH].
  Qed.

  Lemma happened_later : forall (l h : list event) t e, happened h t e -> happened (l ++ h) t e.
  Proof. induction l as [| x l IH]; simpl; intros h t e H; [assumption | right; now apply IH]. Qed.

  Theorem claimed_fleet_grants_nothing_above : forall s s' R T,
    reachable slot_of slots quorum as_designed s -> steps s s' -> surveyed s (history s') R T ->
    forall t a x r, happened (history s') t (Granted a x) -> In r (what a) -> x r <= T.
  Proof.
    intros s s' R T (s0 & H0 & Hs) Hs' (HR & HS) t a x r Hg Hr.
    pose proof (kept_by_steps slot_of slots quorum slots_are_all _ _ Hs (fine_at_first slot_of quorum 0 s0 H0)) as F.
    pose proof (kept_by_steps slot_of slots quorum slots_are_all _ _ Hs' F) as F'.
    destruct (steps_extend s s' Hs') as (l & El).
    destruct (grant_stands slot_of quorum _ r (proj1 F') t a x r Hg Hr eq_refl) as (V & N & Q & SQ).
    destruct (quorums_meet Q R (proj1 SQ) HR) as (j & jQ & jR).
    destruct (HS j jR) as ((k & Ac & Li & Hc & New) & Claimed).
    destruct (proj2 (proj2 SQ) j jQ) as (ta & b & Hta & (o & A & _ & _)).
    pose proof (Claimed _ _ _ _ A) as Hlt.
    cbn in A. assert (act (history s) ta j (Lock_of a r (N j)) (x r) o) as A0.
    { destruct A as (e & He & Ae). exists e. split; [| assumption]. rewrite El in He. now apply happened_earlier in He. }
    pose proof (proj2 F j k) as FM. unfold machine_is_fine in FM. rewrite Li, Ac in FM.
    destruct FM as [_ [_ AB AA AN _]]; [discriminate |].
    destruct (Nat.lt_total (N j j) (knows (machines s j k) j)) as [Hl | [He | Hgt]].
    - destruct AB as [Z | (t' & L & c & HL & E)]; [lia |].
      assert (admission_at slot_of (history s') r t' j L (c (slot_of r))) as HL'.
      { exists c. split; [unfold admission in *; rewrite El; now apply happened_later | reflexivity]. }
      destruct (handed_over quorum quorums_meet quorums_share (visit (history s')) plan base named (act_at slot_of (history s') r)
                  (admission_at slot_of (history s') r) (fact_visit slot_of (history s') r)
                  (f_visits _ _ _ (proj1 F')) (fact_before slot_of quorum (history s') r (proj1 F'))
                  (fact_import slot_of quorum (history s') r (proj1 F'))
                  t' t' j L (c (slot_of r)) (Plan (For_lock a r) V N) (x r) Q t (le_n _) HL') as [X _].
      + apply stands_covered. exact SQ.
      + exact jQ.
      + assert (N j j = V j) as Ej by exact (proj1 (proj2 (proj1 (proj2 SQ))) j j jQ (or_introl jQ)).
        simpl. rewrite E, <- Ej. exact Hl.
      + destruct (AA t' L c HL E) as [_ Y]. specialize (Y (slot_of r)). specialize (Hc (slot_of r)). lia.
    - specialize (AN ta _ _ _ A0 He). specialize (Hc (slot_of r)). unfold slot_at in AN. simpl in AN. lia.
    - pose proof (act_is_a_visit _ _ _ _ _ _ A) as Vi. simpl in Vi.
      destruct (f_before _ _ _ (proj1 F') ta j _ Vi) as [Z | (t' & L & c & _ & HL & E & _)]; [lia |].
      specialize (New t' L c HL). lia.
  Qed.
End Floor.
