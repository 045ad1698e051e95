(* Every step keeps the invariant of Kept.v; so the order of tokens holds. *)

From Pawl Require Import Base Views Model Kept.

Section Order.
  Variable slot_of : resource -> slot.
  Variable slots : list slot.
  Variable quorum : list member -> Prop.
  Hypothesis slots_are_all : forall r, In (slot_of r) slots.

  Notation history_is_fine := (history_is_fine slot_of quorum).
  Notation machine_is_fine := (machine_is_fine slot_of).
  Notation active_is_fine := (active_is_fine slot_of).
  Notation lock_is_fine := (lock_is_fine slot_of).
  Notation own_lock_is_fine := (own_lock_is_fine slot_of).
  Notation slot_at := (slot_at slot_of).
  Notation grows := (grows).
  Notation fine := (fine slot_of quorum).
  Notation fits := (fits slot_of quorum).
  Notation step := (step slot_of slots quorum as_designed).
  Notation steps := (steps slot_of slots quorum as_designed).
  Notation accepts := (accepts as_designed).

  (* ---- A script that a master accepts ------------------------------------------------------------------ *)

  Lemma accepted : forall m x V, accepts m x V ->
    state_of x = active /\ lineage_of x = kept /\ knows x m = V m /\ below (knows x) V.
  Proof.
    intros m x V (S & L & E). destruct E as [E B]; [discriminate |]. repeat split; auto. apply L. discriminate.
  Qed.

  Lemma acceptor : forall M h m k V, fine (State M h) -> accepts m (M m k) V ->
    given h m k (V m) /\ active_is_fine h m (M m k).
  Proof.
    intros M h m k V [_ FM] A. apply accepted in A. destruct A as (S & L & E & _).
    specialize (FM m k). simpl in FM. unfold Kept.machine_is_fine in FM.
    rewrite S, L, E in FM. apply FM. discriminate.
  Qed.

  Lemma accepted_visit : forall M h m k V, fine (State M h) -> accepts m (M m k) V ->
    (exists k', given h m k' (V m)) /\
    (forall t W, visit h t m W -> W m = V m -> below W V) /\
    (V m = 0 \/ exists t L c, admission h t m L c /\ L m = V m /\ below L V).
  Proof.
    intros M h m k V F A. destruct (acceptor M h m k V F A) as [G [AV AB AA _ _]].
    apply accepted in A. destruct A as (_ & _ & E & B). split; [now exists k | split].
    - intros t W H HW. eapply below_trans; [| exact B]. eapply AV; [eassumption | congruence].
    - rewrite <- E. destruct AB as [H | (t & L & c & H & HL)]; [now left | right].
      exists t, L, c. split; [assumption | split; [assumption |]].
      eapply below_trans; [| exact B]. now destruct (AA t L c H HL).
  Qed.

  (* A number that a master may give to lock id i for r, as the incarnation I: it fits all that the master answered. *)
  Definition new_number (h : list event) (m : member) (I : incarnation) (r : resource) (i : lockid) (n : nat)
      (o : origin) : Prop :=
    o <> imported /\
    (forall t d n' o', act h t m d n' o' -> slot_at d = slot_of r -> view_of d m = I ->
       (is_lock_of d r -> n' <= n) /\
       (lock_not_there h t m r i -> n' <= n /\ (o = taken -> n' < n))) /\
    (forall t L c, admission h t m L c -> L m = I ->
       c (slot_of r) <= n /\ (o = taken -> c (slot_of r) < n)) /\
    (o = joined -> granted_before h r i n (length h)).

  (* It is one if it is above the counter, *)
  Lemma counted_is_new : forall h m x r i n,
    active_is_fine h m x -> counter x (slot_of r) < n ->
    new_number h m (knows x m) r i n taken.
  Proof.
    intros h m x r i n [_ _ AA AN _] Hb. split; [discriminate | split; [| split; [| discriminate]]].
    - intros t d n' o' A Hs Hu. specialize (AN t d n' o' A Hu). rewrite Hs in AN. lia.
    - intros t L c A HL. destruct (AA t L c A HL) as [_ X]. specialize (X (slot_of r)). lia.
  Qed.

  (* if it is the number of a lock that was not imported, *)
  Lemma stored_is_new : forall h m x r l,
    active_is_fine h m x -> locks x r = Some l -> from l <> imported ->
    new_number h m (knows x m) r (by_id l) (number l) (from l).
  Proof.
    intros h m x r l [_ _ _ _ AL] Hl Ho. destruct (AL r l Hl) as [_ X]. destruct (X Ho) as (_ & L2 & L3 & L4 & _).
    split; [assumption |]. auto.
  Qed.

  (* or a higher one, *)
  Lemma raised_is_new : forall h m I r i n o t,
    new_number h m I r i n o -> n < t -> new_number h m I r i t taken.
  Proof.
    intros h m I r i n o t (_ & N2 & N3 & _) Hlt. split; [discriminate | split; [| split; [| discriminate]]].
    - intros t' d n' o' A Hw Hu. destruct (N2 t' d n' o' A Hw Hu) as [X Y].
      split; intro H; [specialize (X H); lia | destruct (Y H); lia].
    - intros t' L c A HL. destruct (N3 t' L c A HL). lia.
  Qed.

  (* or a token granted before that is not below the counter. *)
  Lemma joined_is_new : forall h m x r i n,
    active_is_fine h m x -> counter x (slot_of r) <= n -> granted_before h r i n (length h) ->
    new_number h m (knows x m) r i n joined.
  Proof.
    intros h m x r i n [_ _ AA AN _] Hb Hg. split; [discriminate | split; [| split; [| auto]]].
    - intros t d n' o' A Hw Hu. specialize (AN t d n' o' A Hu). rewrite Hw in AN.
      split; [lia | intros _; split; [lia | discriminate]].
    - intros t L c A HL. destruct (AA t L c A HL) as [_ X]. specialize (X (slot_of r)).
      split; [lia | discriminate].
  Qed.

  Lemma is_lock_of_eq : forall a r V r', is_lock_of (Lock_of a r V) r' -> r = r'.
  Proof. intros a r V r' (b & W & E). now injection E. Qed.

  Lemma acts_on_a_lock : forall e m d n o r, acts e m d n o -> is_lock_of d r ->
    exists a V, d = Lock_of a r V /\ acts e m (Lock_of a r V) n o.
  Proof. intros e m d n o r A (a & V & ->). now exists a, V. Qed.

  (* A lock with such a number is fine, where the event gives r to no other lock id and with no other number, *)
  Lemma new_lock : forall e h m x r i n o,
    new_number h m (knows x m) r i n o -> known h i ->
    n <= counter x (slot_of r) ->
    (forall L c, e <> Activated m L c) ->
    (forall a V n' o', acts e m (Lock_of a r V) n' o' -> holder a = i /\ n' = n) ->
    lock_is_fine (e :: h) m x r (Lock i n o).
  Proof.
    intros e h m x r i n o (N1 & N2 & N3 & N4) Hi Hc Hd Ha. split; simpl; [contradiction | intros _].
    split; [assumption | split; [| split; [| split]]]; simpl.
    - intros t d n' o' A Hs Hu. apply act_now in A. destruct A as [A | [A ->]].
      + destruct (N2 t d n' o' A Hs Hu) as [X Y]. split; [assumption |]. intro NT. apply Y.
        eapply lock_not_there_before; [eapply act_past; eassumption | eassumption].
      + split.
        * intros (a & V & ->). destruct (Ha a V n' o' A) as [_ ->]. lia.
        * intro NT. exfalso. revert NT. apply there_now; [assumption |]. intros a V n'' o'' A'. now destruct (Ha a V n'' o'' A').
    - intros t L c A HL. apply admission_now in A. destruct A as [A | [A _]]; [eauto |]. destruct (Hd L c A).
    - intro E. apply granted_before_stays. now apply N4.
    - now apply known_stays.
  Qed.

  (* and other locks stay fine. *)
  Lemma old_lock : forall e h m x x' r l,
    lock_is_fine h m x r l -> knows x' m = knows x m -> (forall sl, counter x sl <= counter x' sl) ->
    (forall L c, e <> Activated m L c) ->
    (forall a V n o, acts e m (Lock_of a r V) n o -> from l <> imported /\ holder a = by_id l /\ n <= number l) ->
    lock_is_fine (e :: h) m x' r l.
  Proof.
    intros e h m x x' r l [FI FO] K C Hd Ha. split; intro D.
    - intros t a V n o A. apply act_now in A. rewrite K. destruct A as [A | [A _]]; [eapply FI; eassumption |].
      destruct (Ha a V n o A) as [X _]. contradiction.
    - destruct (FO D) as (L1 & L2 & L3 & L4 & L5).
      split; [specialize (C (slot_of r)); lia | split; [| split; [| split]]].
      + intros t d n o A Hs Hu. rewrite K in Hu. apply act_now in A. destruct A as [A | [A ->]].
        * destruct (L2 t d n o A Hs Hu) as [X Y]. split; [assumption |]. intro NT. apply Y.
          eapply lock_not_there_before; [eapply act_past; eassumption | eassumption].
        * split.
          -- intros (a & V & ->). now destruct (Ha a V n o A) as (_ & _ & X).
          -- intro NT. exfalso. revert NT. apply there_now; [assumption |].
             intros a V n' o' A'. now destruct (Ha a V n' o' A') as (_ & X & _).
      + intros t L c A HL. rewrite K in HL. apply admission_now in A.
        destruct A as [A | [A _]]; [eauto | destruct (Hd L c A)].
      + intros E. apply granted_before_stays. now apply L4.
      + now apply known_stays.
  Qed.

  (* A script: what it does to the machine, and what it answers. *)
  Lemma kept_by_script : forall M h m k V c L' e,
    fine (State M h) -> accepts m (M m k) V -> visit_of e = Some (m, V) ->
    (forall m' L c', e <> Activated m' L c') -> (forall m' I j L p, e <> Installed m' I j L p) ->
    rise (counter (M m k)) c ->
    (forall d n o, acts e m d n o ->
       n <= c (slot_at d) /\ o <> imported /\ In (start_of d) h /\
       (forall t d' n' o', act h t m d' n' o' -> slot_at d' = slot_at d -> view_of d' m = knows (M m k) m ->
          grows h t m d' d n' n o) /\
       (forall t L c', admission h t m L c' -> L m = knows (M m k) m ->
          c' (slot_at d) <= n /\ (o = taken -> c' (slot_at d) + size_of d <= n)) /\
       (o = joined -> forall a r W, d = Lock_of a r W -> granted_before h r (holder a) n (length h))) ->
    let x' := Machine (state_of (M m k)) (lineage_of (M m k)) V c L' in
    (forall r l, L' r = Some l -> lock_is_fine (e :: h) m x' r l) ->
    fine (State (put M m k x') (e :: h)).
  Proof.
    intros M h m k V c L' e F A Hv Hd Hi C Ha x' Hl.
    destruct (acceptor M h m k V F A) as [G [AV AB AA AN AL]]. pose proof (proj1 F) as FH. simpl in FH.
    destruct (accepted_visit M h m k V F A) as (V1 & V2 & V3).
    apply accepted in A. destruct A as (S & Li & E & B).
    apply fine_by_move; [assumption | | |].
    - apply fine_by_event; [assumption |]. split; try (intros; subst e; discriminate).
      + intros m' V' H. rewrite Hv in H. injection H as <- <-. auto.
      + intros m' d n o H. pose proof (act_visits _ _ _ _ _ H) as X. rewrite Hv in X. injection X as <- HV.
        destruct (Ha d n o H) as (_ & N1 & N2 & N3 & N4 & N5).
        rewrite E, HV in *. auto.
      + destruct e; simpl in *; try discriminate; contradiction.
    - intros m' I [(W & H & HW) | [(L & c' & H & _) | (j & L & p & H)]].
      + rewrite Hv in H. injection H as <- <-. subst I. now split.
      + destruct (Hd _ _ _ H).
      + destruct (Hi _ _ _ _ _ H).
    - intros _. subst x'. simpl. rewrite S. split; [now apply given_stays |]. split; simpl; try assumption.
      + intros t W H HW. apply visit_now in H. destruct H as [H | [H _]].
        * eapply below_trans; [| exact B]. eapply AV; [eassumption | congruence].
        * rewrite Hv in H. injection H as <-. apply below_refl.
      + rewrite <- E. destruct AB as [H | (t & L & c' & H & HL)]; [now left | right].
        exists t, L, c'. split; [now right | assumption].
      + intros t L c' H HL. apply admission_now in H. destruct H as [H | [H _]]; [| destruct (Hd _ _ _ H)].
        rewrite <- E in HL. destruct (AA t L c' H HL) as [X Y]. split; [eapply below_trans; eassumption |].
        intro sl. specialize (Y sl). specialize (C sl). lia.
      + intros t d n o H Hu. apply act_now in H. destruct H as [H | [H _]].
        * rewrite <- E in Hu. specialize (AN t d n o H Hu). specialize (C (slot_at d)). lia.
        * now destruct (Ha d n o H).
  Qed.

  Lemma set_grows : forall c sl (n : nat), c sl <= n -> rise c (set c sl n).
  Proof.
    intros c sl n H sl'. destruct (Nat.eq_dec sl' sl) as [-> | D];
      [now rewrite set_same | now rewrite set_other].
  Qed.

  (* A script that gives locks: step 1, step 4, and a join. *)
  Lemma kept_by_locking : forall M h m k V c rs i n o e,
    fine (State M h) -> accepts m (M m k) V -> visit_of e = Some (m, V) ->
    (forall m' L c', e <> Activated m' L c') -> (forall m' I j L p, e <> Installed m' I j L p) ->
    known h i -> rise (counter (M m k)) c ->
    (forall d n' o', acts e m d n' o' -> exists a r W, d = Lock_of a r W /\ In (Started a) h /\ holder a = i /\
       In r rs /\ n' = n r /\ o' = o r) ->
    (forall r, In r rs -> n r <= c (slot_of r) /\ new_number h m (knows (M m k) m) r i (n r) (o r)) ->
    fine (State (put M m k (locked (M m k) V c rs i n o)) (e :: h)).
  Proof.
    intros M h m k V c rs i n o e F A Hv Hd Hi Hk C Ha Hn.
    destruct (acceptor M h m k V F A) as [_ AF]. unfold locked.
    apply kept_by_script; try assumption.
    - intros d n' o' H. destruct (Ha d n' o' H) as (a & r & W & -> & Hs & <- & Hr & -> & ->).
      destruct (Hn r Hr) as (Hc & N1 & N2 & N3 & N4). unfold Kept.slot_at. simpl.
      split; [assumption | split; [assumption | split; [assumption | split; [| split]]]].
      + intros t d' n' o' A' Hsl Hu. destruct (N2 t d' n' o' A' Hsl Hu) as [X Y]. split.
        * intros (r' & Hd' & (b & W' & Eb)). injection Eb as -> -> ->. now apply X.
        * simpl. intro NT. destruct (Y NT) as [Y1 Y2]. split; [assumption |]. intro T. specialize (Y2 T). lia.
      + intros t L c' A' HL. destruct (N3 t L c' A' HL) as [X Y]. split; [assumption |]. intro T. specialize (Y T). lia.
      + intros T b r' W' Eb. injection Eb as <- <- <-. now apply N4.
    - simpl. intros r l Hl. destruct (mem r rs) eqn:Hm.
      + injection Hl as <-. apply mem_in in Hm. destruct (Hn r Hm) as (Hc & N). apply new_lock; simpl; try assumption.
        * apply accepted in A. destruct A as (_ & _ & E & _). now rewrite <- E.
        * intros L c'. apply Hd.
        * intros a W n' o' H. destruct (Ha _ n' o' H) as (b & r' & W' & Eb & _ & Hid & _ & Hn' & _).
          injection Eb as -> -> ->. now split.
      + eapply old_lock; simpl.
        * eapply (a_locks _ _ _ _ AF). eassumption.
        * apply accepted in A. destruct A as (_ & _ & E & _). now symmetry.
        * exact C.
        * intros L c'. apply Hd.
        * intros a W n' o' H. destruct (Ha _ n' o' H) as (b & r' & W' & Eb & _ & _ & Hr & _). injection Eb as -> -> ->.
          apply mem_in in Hr. congruence.
  Qed.

  (* A script that changes no lock: a round, a break, a record. *)
  Lemma kept_by_counting : forall M h m k V c e,
    fine (State M h) -> accepts m (M m k) V -> visit_of e = Some (m, V) ->
    (forall m' L c', e <> Activated m' L c') -> (forall m' I j L p, e <> Installed m' I j L p) ->
    rise (counter (M m k)) c ->
    (forall d n o, acts e m d n o -> (forall a r W, d <> Lock_of a r W) /\ n <= c (slot_at d) /\ o <> imported /\
       In (start_of d) h /\ counter (M m k) (slot_at d) <= n /\
       (o = taken -> counter (M m k) (slot_at d) + size_of d <= n)) ->
    fine (State (put M m k (counted_to (M m k) V c)) (e :: h)).
  Proof.
    intros M h m k V c e F A Hv Hd Hi C Ha.
    destruct (acceptor M h m k V F A) as [_ AF]. pose proof AF as [_ _ AA AN _]. unfold counted_to.
    apply kept_by_script; try assumption.
    - intros d n o H. destruct (Ha d n o H) as (NL & Hc & Ho & Hs & Hn & Ht).
      split; [assumption | split; [assumption | split; [assumption | split; [| split]]]].
      + intros t d' n' o' A' Hsl Hu. specialize (AN t d' n' o' A' Hu). rewrite Hsl in AN. split.
        * intros (r & _ & (a & W & ->)). now destruct (NL a r W).
        * intros _. split; [lia |]. intro T. specialize (Ht T). lia.
      + intros t L c' A' HL. destruct (AA t L c' A' HL) as [_ X]. specialize (X (slot_at d)).
        split; [lia |]. intro T. specialize (Ht T). lia.
      + intros _ a r W E. now destruct (NL a r W).
    - simpl. intros r l Hl. eapply old_lock; simpl.
      + eapply (a_locks _ _ _ _ AF). eassumption.
      + apply accepted in A. destruct A as (_ & _ & E & _). now symmetry.
      + exact C.
      + intros L c'. apply Hd.
      + intros a W n o H. destruct (Ha _ n o H) as (NL & _). now destruct (NL a r W).
  Qed.

  (* ---- Each step ---------------------------------------------------------------------------------------- *)

  Lemma concerns_nobody : forall e, visit_of e = None ->
    (forall m L c, e <> Activated m L c) -> (forall m I j L p, e <> Installed m I j L p) ->
    forall m I, ~ concerns e m I.
  Proof.
    intros e Hv Hd Hi m I [(V & H & _) | [(L & c & H & _) | (j & L & p & H)]].
    - rewrite Hv in H. discriminate.
    - destruct (Hd _ _ _ H).
    - destruct (Hi _ _ _ _ _ H).
  Qed.

  (* What attempts and leaders note for themselves. *)
  Lemma kept_by_word : forall M h e,
    fine (State M h) -> fits e h -> visit_of e = None ->
    (forall m L c, e <> Activated m L c) -> (forall m I j L p, e <> Installed m I j L p) ->
    fine (State M (e :: h)).
  Proof.
    intros M h e F E Hv Hd Hi. apply fine_by_word; [assumption | | now apply concerns_nobody].
    apply fine_by_event; [apply F | assumption].
  Qed.

  Lemma no_acts : forall e, visit_of e = None -> forall m d n o, ~ acts e m d n o.
  Proof. intros e Hv m d n o A. apply act_visits in A. rewrite Hv in A. discriminate. Qed.

  Ltac word := apply kept_by_word; try assumption; try (intros; discriminate); try reflexivity;
    split; try (intros; discriminate); try (simpl; contradiction);
    try (let A := fresh in intros ? ? ? ? A; exfalso; revert A; apply no_acts; reflexivity).

  Lemma frozen_gives_answers : forall M h a F t, fine (State M h) -> In (Frozen a F t) h ->
    forall m x, In (m, x) F -> exists V o, In (Answered a m V x o) h.
  Proof. intros M h a F t [FH _] H m x Hx. destruct (f_frozen _ _ _ FH a F t H) as [_ X]. now apply X. Qed.

  Lemma answer_gives_act : forall h a m V x o r, In (Answered a m V x o) h -> In r (what a) ->
    exists t, act h t m (Lock_of a r V) (x r) (o r).
  Proof.
    intros h a m V x o r Ho Hr. destruct (in_happened _ _ _ Ho) as (t & _ & Hh).
    exists t, (Answered a m V x o). split; [assumption | now constructor].
  Qed.

  Lemma kept_by_taking : forall M h a m k V c n o,
    fine (State M h) -> In (Started a) h -> accepts m (M m k) V ->
    (forall r, In r (what a) -> may_take slot_of as_designed (M m k) (holder a) r (n r) (o r)) ->
    rise (counter (M m k)) c ->
    (forall r, In r (what a) -> o r = taken -> n r <= c (slot_of r)) ->
    fine (State (put M m k (locked (M m k) V c (what a) (holder a) n o)) (Answered a m V n o :: h)).
  Proof.
    intros M h a m k V c n o F Hs A Hn C Hc. destruct (acceptor M h m k _ F A) as [_ AF].
    apply kept_by_locking; try assumption; try (intros; discriminate); try reflexivity.
    - now exists a.
    - intros d n' o' H. inversion H; subst. exists a, r, V. auto 10.
    - intros r Hr. destruct (Hn r Hr) as [(E & Hlt & _) | (l & Hl & Hid & Hf & En & Eo)].
      + split; [now apply Hc |]. rewrite E. now apply counted_is_new.
      + assert (from l <> imported) as Hi by (apply Hf; discriminate). split.
        * destruct (a_locks _ _ _ _ AF r l Hl) as [_ X]. destruct (X Hi) as (X1 & _).
          specialize (C (slot_of r)). lia.
        * rewrite En, Eo, <- Hid. now apply stored_is_new.
  Qed.

  (* The same incarnation of the member answered this attempt before, so the lock was not imported. *)
  Lemma confirmed_was_not_imported : forall M h a F m k V r l,
    fine (State M h) -> accepts m (M m k) V -> In r (what a) -> locks (M m k) r = Some l ->
    (exists W x o, In (m, x) F /\ In (Answered a m W x o) h /\ W m = V m) -> from l <> imported.
  Proof.
    intros M h a F m k V r l Fi A Hr El (W & x & o & _ & Ho & EW) E. destruct (acceptor M h m k _ Fi A) as [_ AF].
    destruct (answer_gives_act h a m W x o r Ho Hr) as (t' & Ha).
    destruct (a_locks _ _ _ _ AF _ _ El) as [X _]. apply (X E t' a W (x r) (o r) Ha).
    apply accepted in A. destruct A as (_ & _ & E' & _). congruence.
  Qed.

  Lemma kept_by_confirm : forall M h a F t m k V c,
    fine (State M h) -> In (Frozen a F t) h -> accepts m (M m k) V ->
    (forall r, In r (what a) -> exists l, locks (M m k) r = Some l /\ by_id l = holder a /\
       may_confirm as_designed h a F t m V r (number l)) ->
    rise (counter (M m k)) c ->
    (forall r, In r (what a) -> t r <= c (slot_of r)) ->
    let o := fun r => raised (locks (M m k) r) (t r) in
    fine (State (put M m k (locked (M m k) V c (what a) (holder a) t o)) (Confirmed a m V t o :: h)).
  Proof.
    intros M h a F t m k V c Fi HF A Hl C Hc o. destruct (acceptor M h m k _ Fi A) as [_ AF].
    destruct (f_frozen _ _ _ (proj1 Fi) a F t HF) as [Hs _].
    apply kept_by_locking; try assumption; try (intros; discriminate); try reflexivity.
    - now exists a.
    - intros d n' o' H. inversion H; subst. exists a, r, V. auto 10.
    - intros r Hr. split; [now apply Hc |].
      destruct (Hl r Hr) as (l & El & Hid & Hm & Ht). subst o. cbv beta. rewrite El. unfold raised.
      assert (from l <> imported) as Ho by (eapply confirmed_was_not_imported; eassumption).
      pose proof (stored_is_new h m (M m k) r l AF El Ho) as N. rewrite Hid in N.
      destruct (Nat.ltb_spec (number l) (t r)) as [Hlt | Hge].
      + eapply raised_is_new; eassumption.
      + replace (t r) with (number l) by lia. assumption.
  Qed.

  (* A machine that only loses a lock, or raises a counter. *)
  Lemma machine_moves : forall h m k x x',
    machine_is_fine h m k x ->
    state_of x' = state_of x -> (lineage_of x = changed -> lineage_of x' = changed) -> knows x' = knows x ->
    (forall sl, counter x sl <= counter x' sl) ->
    (forall r l, locks x' r = Some l -> locks x r = Some l) ->
    machine_is_fine h m k x'.
  Proof.
    intros h m k x x' F S Li K C Hl L. rewrite S.
    assert (lineage_of x <> changed) as L0 by auto. specialize (F L0).
    destruct (state_of x) as [| J |]; [assumption | |]; destruct F as [G F].
    - split; [assumption |]. destruct F as [V A In_ Lk]. split; eauto.
      intros j L' p Hi sl n Hp. specialize (In_ j L' p Hi sl n Hp). specialize (C sl). lia.
    - rewrite K. split; [assumption |]. destruct F as [V B A Nu Lk]. split; try rewrite K; try assumption.
      + intros t L' c H HL. destruct (A t L' c H HL) as [X Y]. split; [assumption |].
        intro sl. specialize (Y sl). specialize (C sl). lia.
      + intros t d n o H Hu. specialize (Nu t d n o H Hu). specialize (C (slot_at d)). lia.
      + intros r l H. destruct (Lk r l (Hl r l H)) as [X Y]. split; intro D; [rewrite K; exact (X D) |].
        destruct (Y D) as (Z & Y2). specialize (C (slot_of r)). split; [lia |]. rewrite K. exact Y2.
  Qed.

  Lemma kept_by_hearing : forall M h m k V,
    fine (State M h) -> accepts m (M m k) V -> fine (State (put M m k (told (M m k) V)) h).
  Proof.
    intros M h m k V F A. destruct (acceptor M h m k V F A) as [G [AV AB AA AN AL]].
    apply fine_by_quiet_move; [assumption |]. intros _. apply accepted in A. destruct A as (S & Li & E & B).
    simpl. rewrite S.
    split; [assumption |]. split; simpl; try rewrite <- E; try assumption.
    - intros t W H HW. eapply below_trans; [eapply AV; eassumption | assumption].
    - intros t L c H HL. destruct (AA t L c H HL). split; [eapply below_trans; eassumption | assumption].
    - intros r l Hl. destruct (AL r l Hl) as [X Y]. split; intro D; simpl.
      + rewrite <- E. exact (X D).
      + destruct (Y D) as (Y1 & Y2). split; [assumption |]. simpl. rewrite <- E. exact Y2.
  Qed.

  Lemma kept_by_mark : forall M h m k I,
    fine (State M h) -> I <> 0 -> first_or_copy h m k I ->
    fine (State (put M m k (Machine (joining I) kept (knows (M m k)) (counter (M m k)) (fun _ => None)))
                (Marked m k I :: h)).
  Proof.
    intros M h m k I F H0 Hn. pose proof (proj1 F) as FH. simpl in FH.
    assert (forall k', given h m k' I -> k' = k /\ (forall j L p, ~ In (Installed m I j L p) h) /\
              (forall L c, In (Activated m L c) h -> L m <> I)) as New.
    { intros k' [[E _] | H]; [contradiction | exact (Hn k' H)]. }
    destruct (f_given _ _ _ FH) as (G1 & G2 & G3).
    assert (forall t L c, admission h t m L c -> L m <> I) as NoAdmission.
    { intros t L c H E. destruct (G2 t m L c H) as (k' & G). rewrite E in G. destruct (New k' G) as (_ & _ & X).
      apply happened_in in H. exact (X L c H E). }
    apply fine_by_move; [assumption | | |].
    - apply fine_by_event; [assumption |]. split; try (intros; discriminate); try (simpl; contradiction);
        try (intros ? ? ? ? X; now inversion X).
      intros m' k' I' E. injection E as <- <- <-. split; [assumption |]. intros k' H. apply (Hn k' H).
    - intros m' I' H. destruct (concerns_nobody (Marked m k I)) with (m := m') (I := I'); auto; discriminate.
    - intros _. simpl. split; [right; now left |]. split; simpl; try discriminate.
      + intros t V H E. apply visit_now in H. destruct H as [H | [H _]]; [| discriminate].
        destruct (f_before _ _ _ FH t m V H) as [X | (t' & L & c & _ & HL & EL & _)]; [congruence |].
        apply (NoAdmission t' L c HL). congruence.
      + intros t L c H E. apply admission_now in H. destruct H as [H | [H _]]; [| discriminate].
        exact (NoAdmission t L c H E).
      + intros j L p [H | H]; [discriminate |]. destruct (G3 m I j L p H) as (k' & G).
        destruct (New k' G) as (_ & X & _). destruct (X j L p H).
  Qed.

  Lemma kept_by_reading : forall M h j k L p,
    fine (State M h) -> In (Recorded j L) h ->
    state_of (M j k) = active -> lineage_of (M j k) = kept -> knows (M j k) j = L j ->
    (forall sl n, In (sl, n) p -> counter (M j k) sl = n) ->
    fine (State M (Read j L p :: h)).
  Proof.
    intros M h j k L p F Hr S Li E Hp. word.
    intros j' L' p' X sl n Hin. injection X as <- <- <-.
    destruct (in_happened _ _ _ Hr) as (tr & _ & Hh). exists tr. split; [now exists (Recorded j L) |].
    destruct F as [_ FM]. specialize (FM j k). simpl in FM. unfold Kept.machine_is_fine in FM.
    rewrite S, Li, E in FM. destruct FM as [_ [_ _ AA AN _]]; [discriminate |].
    rewrite <- (Hp sl n Hin). split.
    - intros t' d x o A Hu Hsl _. rewrite <- Hsl. eapply AN; [eassumption | congruence].
    - intros t' L' c A HL _. rewrite <- E in HL. now destruct (AA t' L' c A HL).
  Qed.

  Lemma merged_rises : forall p c sl, c sl <= merged p c sl.
  Proof.
    induction p as [| (sl' & n) p IH]; intros c sl; simpl; [lia |].
    specialize (IH c sl). destruct (sl =? sl'); lia.
  Qed.

  Lemma merged_covers : forall p c sl n, In (sl, n) p -> n <= merged p c sl.
  Proof.
    induction p as [| (sl' & n') p IH]; intros c sl n H; simpl in *; [contradiction |].
    destruct H as [H | H].
    - injection H as -> ->. rewrite Nat.eqb_refl. lia.
    - specialize (IH c sl n H). destruct (sl =? sl'); lia.
  Qed.

  Lemma joiner : forall M h m k I, fine (State M h) ->
    state_of (M m k) = joining I -> lineage_of (M m k) = kept ->
    given h m k I /\ joining_is_fine h m I (M m k).
  Proof.
    intros M h m k I [_ FM] S Li. specialize (FM m k). simpl in FM. unfold Kept.machine_is_fine in FM.
    rewrite S, Li in FM. apply FM. discriminate.
  Qed.

  Lemma kept_by_install : forall M h m k I j L p,
    fine (State M h) -> In (Read j L p) h ->
    state_of (M m k) = joining I -> lineage_of (M m k) = kept -> L m = I ->
    fine (State (put M m k (Machine (joining I) kept (knows (M m k)) (merged p (counter (M m k))) (locks (M m k))))
                (Installed m I j L p :: h)).
  Proof.
    intros M h m k I j L p F Hr S Li HL. destruct (joiner M h m k I F S Li) as [G [JV JA JI JL]].
    apply fine_by_move; [assumption | | |].
    - apply fine_by_event; [apply F |]. split; try (intros; discriminate); try (simpl; contradiction);
        try (intros ? ? ? ? X; now inversion X).
      intros m' I' j' L' p' E. injection E as <- <- <- <- <-. split; [now exists k | now split].
    - intros m' I' [(V & H & _) | [(L' & c & H & _) | (j' & L' & p' & H)]]; try discriminate.
      injection H as <- <- <- <- <-. now split.
    - intros _. simpl. split; [now apply given_stays |]. split; simpl; try assumption.
      + intros t V H. apply visit_now in H. destruct H as [H | [H _]]; [eauto | discriminate].
      + intros t L' c H. apply admission_now in H. destruct H as [H | [H _]]; [eauto | discriminate].
      + intros j' L' p' [H | H] sl n Hp.
        * injection H as <- <- <-. now apply merged_covers.
        * pose proof (JI j' L' p' H sl n Hp). pose proof (merged_rises p (counter (M m k)) sl). lia.
  Qed.

  Lemma covers_less : forall h t j L sl n n', n <= n' -> covers slot_of h t j L sl n -> covers slot_of h t j L sl n'.
  Proof.
    intros h t j L sl n n' H [C1 C2]. split.
    - intros t' d x o A E1 E2 Ht. specialize (C1 t' d x o A E1 E2 Ht). lia.
    - intros t' L' c A E Ht. specialize (C2 t' L' c A E Ht). lia.
  Qed.

  Lemma kept_by_admission : forall M h m k I L N R W,
    fine (State M h) ->
    state_of (M m k) = joining I -> lineage_of (M m k) = kept -> L m = I ->
    quorum R -> fair L N R (Some m) ->
    (forall j, In j R -> In (Recorded j (N j)) h /\
       forall sl, In sl slots -> exists p n, In (Installed m I j (N j) p) h /\ In (sl, n) p) ->
    W m = I -> below L W ->
    fine (State (put M m k (Machine active kept W (counter (M m k)) (locks (M m k))))
                (Activated m L (counter (M m k)) :: h)).
  Proof.
    intros M h m k I L N R W F S Li HL HR Hf Hall HW HB. destruct (joiner M h m k I F S Li) as [G [JV JA JI JL]].
    pose proof (proj1 F) as FH. simpl in FH.
    apply fine_by_move; [assumption | | |].
    - apply fine_by_event; [assumption |]. split; try (intros; discriminate); try (simpl; contradiction);
        try (intros ? ? ? ? X; now inversion X).
      intros m' L' c E. injection E as <- <- <-. rewrite HL. split; [now exists k | split; [assumption |]].
      intro r. exists R, N. split; [assumption | split; [assumption |]]. intros j Hj. destruct (Hall j Hj) as [_ Hpages].
      destruct (Hpages (slot_of r) (slots_are_all r)) as (p & n & Hi & Hp).
      destruct (f_read _ _ _ FH m I j (N j) p Hi) as [_ Hrd].
      destruct (f_pages _ _ _ FH j (N j) p Hrd (slot_of r) n Hp) as (tr & _ & Hv & Hc).
      exists tr. split; [assumption |]. eapply covers_less; [| exact Hc]. eapply JI; eassumption.
    - intros m' I' [(V & H & _) | [(L' & c & H & E) | (j' & L' & p' & H)]]; try discriminate.
      injection H as <- <- <-. rewrite <- E, HL. now split.
    - intros _. simpl. rewrite HW. split; [now apply given_stays |].
      assert (forall t d n o, act (Activated m L (counter (M m k)) :: h) t m d n o -> view_of d m <> I) as NoAct.
      { intros t d n o H. apply act_now in H. destruct H as [H | [H _]]; [| inversion H].
        apply act_is_a_visit in H. eauto. }
      split; simpl; rewrite ?HW.
      + intros t V H E. apply visit_now in H. destruct H as [H | [H _]]; [| discriminate].
        destruct (JV t V H E).
      + right. exists (length h), L, (counter (M m k)). split; [now left | assumption].
      + intros t L' c H E. apply admission_now in H. destruct H as [H | [H _]].
        * destruct (JA t L' c H E).
        * injection H as -> ->. split; [assumption | intro sl; lia].
      + intros t d n o H E. destruct (NoAct t d n o H E).
      + intros r l Hl. split; intro D; [| now destruct D; apply JL with r]. simpl. rewrite HW.
        intros t a V n o H. exact (NoAct t (Lock_of a r V) n o H).
  Qed.

  Lemma told_is_counted : forall x V, told x V = counted_to x V (counter x).
Proof. reflexivity. Qed.

  Theorem kept_by_step : forall s s', step s s' -> fine s -> fine s'.
  Proof.
    intros s s' Hstep F. destruct Hstep; cbv zeta in *.
    - (* Start *) word. intros _. assumption.
    - (* Take *) now apply kept_by_taking.
    - (* Freeze *) word. intros a' F' t' E. injection E as <- <- <-. now split.
    - (* Confirm *) now apply (kept_by_confirm M h a F0 t m k V c).
    - (* Grant_at_once *)
      word. intros a' x' E. injection E as <- <-. exists Q, V, N. split; [assumption | split; [apply H1; discriminate |]].
      intros m Hm r Hr. destruct (H2 m Hm) as (x & o & _ & Ho & Ex).
      destruct (answer_gives_act h a m (N m) x o r Ho Hr) as (t' & A). rewrite (Ex r Hr) in A. eauto.
    - (* Grant_confirmed *)
      word. intros a' x' E. injection E as <- <-. exists Q, V, N. split; [assumption | split; [apply H1; discriminate |]].
      intros m Hm r Hr. destruct (H2 m Hm) as (o & Ho). destruct (in_happened _ _ _ Ho) as (t' & _ & Hh).
      exists t', (o r), (Confirmed a m (N m) t o). split; [assumption | now constructor].
    - (* Start_counting *) word. intros _. assumption.
    - (* Count *)
      apply kept_by_counting; try assumption; try (intros; discriminate); try reflexivity.
      + apply set_grows. lia.
      + intros d n o A. inversion A; subst. unfold Kept.slot_at. simpl. rewrite set_same.
        split; [discriminate |]. repeat split; try assumption; try lia; discriminate.
    - (* Agree *)
      word. intros c' n' E. injection E as <- <-. split; [assumption |].
      exists Q, V, N. split; [assumption | split; [apply H1; discriminate |]]. intros m Hm. simpl in H2.
      destruct (in_happened _ _ _ (H2 m Hm)) as (t & _ & Hh). exists t, (Counted c m (N m) n). split; [assumption | constructor].
    - (* Start_breaking *) word. intros _. assumption.
    - (* Break_at *)
      apply kept_by_counting; try assumption; try (intros; discriminate); try reflexivity.
      + apply set_grows. lia.
      + intros d n' o A. inversion A; subst. unfold Kept.slot_at. simpl. rewrite set_same.
        split; [discriminate |]. repeat split; try assumption; try lia; discriminate.
    - (* Break_done *)
      word. intros b' E. injection E as <-. exists Q, V, N. split; [now apply H | split; [apply H0; discriminate |]].
      intros m Hm. destruct (H1 m Hm) as (n & Hn & Ht). destruct (in_happened _ _ _ Hn) as (t & _ & Hh).
      exists t, n, joined. split; [assumption |]. exists (Broke b m (N m) n). split; [assumption | constructor].
    - (* Vanish *)
      apply fine_by_quiet_move; [assumption |]. eapply machine_moves; [apply (proj2 F) | simpl; auto ..].
      intros r' l Hl. destruct (Nat.eq_dec r' r) as [-> | D];
        [rewrite set_same in Hl; discriminate | now rewrite set_other in Hl].
    - (* Rise *)
      apply fine_by_quiet_move; [assumption |]. eapply machine_moves; [apply (proj2 F) | simpl; auto ..].
    - (* Hear *)
      now apply kept_by_hearing.
    - (* Join *)
      destruct (H ltac:(discriminate)) as [Hg En]. specialize (H4 ltac:(discriminate)).
      destruct (acceptor M h m k _ F H2) as [_ AF]. destruct (in_happened _ _ _ Hg) as (tg & Hlt & Hgh).
      apply kept_by_locking; try assumption; try (intros; discriminate); try reflexivity.
      + now exists a.
      + now apply set_grows.
      + intros d n' o' A. inversion A.
      + intros r' [<- | []]. split; [now rewrite set_same |]. apply joined_is_new; [assumption .. |].
        exists tg, a, x. subst n. auto.
    - (* Fall *)
      apply fine_by_quiet_move; [assumption |]. intros L. destruct H as [-> | X]; [exact Logic.I | contradiction].
    - (* Restart *)
      apply fine_by_quiet_move; [assumption |]. eapply machine_moves; [apply (proj2 F) | simpl; auto ..].
      intro X. rewrite H in X. discriminate.
    - (* Trust *)
      specialize (H ltac:(discriminate)).
      apply fine_by_quiet_move; [assumption |]. eapply machine_moves; [apply (proj2 F) | simpl; auto ..].
      intro X. rewrite H in X. discriminate.
    - (* Mark *)
      apply kept_by_mark; try assumption. apply H0. discriminate.
    - (* Record_view *)
      rewrite told_is_counted. apply kept_by_counting; try assumption; try (intros; discriminate); try reflexivity.
      + intro sl. lia.
      + intros d n o A. inversion A.
    - (* Read_page *)
      apply (kept_by_reading M h j k L p); try assumption. apply H. discriminate.
    - (* Install *)
      apply kept_by_install; try assumption. apply H2. discriminate.
    - (* Install_lock *)
      destruct (joiner M h m k I F H H0) as [G [JV JA JI JL]].
      apply fine_by_quiet_move; [assumption |]. intros _. simpl. split; [assumption |]. split; try assumption.
      intros r' l' Hl. simpl in Hl. destruct (Nat.eq_dec r' r) as [-> | D].
      + rewrite set_same in Hl. injection Hl as <-. assumption.
      + rewrite set_other in Hl by assumption. eauto.
    - (* Admit *)
      apply (kept_by_admission M h m k I L N R W); try assumption; [apply H1 | apply H2 | apply H3]; discriminate.
    - (* Trust_half_way *) discriminate.
  Qed.

  Lemma fine_at_first : forall floor s, initial_above floor s -> fine s.
  Proof.
    intros floor [M h] [Hh HM]. simpl in *. subst h. split; simpl.
    - split.
      + intros m k k' I [].
      + split; [intros t m V (e & [] & _) | split; [intros t m L c [] | intros m I j L p []]].
      + intros t1 t2 m V1 V2 (e & [] & _).
      + intros t m V (e & [] & _).
      + intros t1 t2 m d1 d2 n1 n2 o1 o2 (e & [] & _).
      + intros t t' m L c d n o (e & [] & _).
      + intros j L p [].
      + intros m I j L p [].
      + intros t m L c [].
      + split; [intros t m d n o (e & [] & _) | intros t t' e _ []].
      + intros a F t [].
      + intros t a x [].
      + intros t c n [].
      + intros t b [].
      + intros t m a r V n (e & [] & _).
      + intros t m d n o (e & [] & _).
    - intros m k _. destruct (HM m k) as [Hl Hk]. destruct k as [| k].
      + destruct Hk as (-> & Hk & _). split; [left; auto |]. split.
        * intros t V (e & [] & _).
        * now left.
        * intros t L c [].
        * intros t d n o (e & [] & _).
        * intros r l H. rewrite Hl in H. discriminate.
      + rewrite Hk. exact Logic.I.
  Qed.

  Lemma kept_by_steps : forall s s', steps s s' -> fine s -> fine s'.
  Proof. intros s s' H. induction H; eauto using kept_by_step. Qed.
End Order.
